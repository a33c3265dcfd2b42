"""What children see of a git repository: enough for status, diff, log and describe, read-only;
neither its settings, which may hold tokens and commands, nor its hooks, logs or other work trees.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.look import (
    is_file,
    is_folder,
    is_link,
    path_exists,
    read_text,
    resolve_path,
)
from punchlist.adapters.folders.walk import skip_folder, walk_folder
from punchlist.adapters.sandbox.home_view import is_private
from punchlist.model.finding.late_pattern import late_pattern

Bind = tuple[Path, Path, bool]
MadeFile = tuple[Path, bytes]

_POINTER = late_pattern(r"gitdir: ?([^\n]+)\n?")
_SHOWN = "HEAD index objects refs packed-refs info shallow commondir gitdir ORIG_HEAD MERGE_HEAD"
_KEPT = late_pattern(
    r"core\.(repositoryformatversion|bare|filemode|symlinks|ignorecase|precomposeunicode|autocrlf"
    r"|eol|safecrlf|sparsecheckout|sparsecheckoutcone)"
    r"|extensions\.\w+|index\.version|feature\.manyfiles"
)
"""Settings without which git would misread the repository."""
_OWN = late_pattern(
    r"core\.(hookspath|attributesfile|excludesfile|logallrefupdates|compression)|gc\.auto"
)
"""Others that punchlist's own repositories have."""
_PLAIN = late_pattern(r"[\w./+-]*")
_SECTION = late_pattern(r"\[\s*([\w.-]+)\s*(?:\"((?:[^\"\\]|\\.)*)\")?\s*\](.*)")
_ALTERNATES = 16
"""Where clones of workers are: their objects are shown, too."""
_FAN_OUT = late_pattern(r"[0-9a-f]{2}")
_LOOSE = late_pattern(r"[0-9a-f]{38}|[0-9a-f]{62}|tmp_obj_\w+")
_STORED = {
    "pack": late_pattern(
        r"(pack|loose)-[0-9a-f]+\.\w+|multi-pack-index\S*|(\.tmp-|tmp_)[\w.-]+|\.lock"
    ),
    "info": late_pattern(r"alternates|packs|commit-graphs?\S*|http-alternates|sparse|\w+\.lock"),
}
"""The folders of an object store, and the names of what is in them."""
_TEMPORARY = late_pattern(r"tmp_\w+|\w+\.lock")
OBJECTS = Path("/", "tmp", "objects")


class RepositoryView(Struct, frozen=True):
    """What is shown of a repository, and made up for it."""

    binds: tuple[Bind, ...] = ()
    files: tuple[MadeFile, ...] = ()

    def __add__(self, other: "RepositoryView") -> "RepositoryView":
        return RepositoryView((*self.binds, *other.binds), (*self.files, *other.files))


def show_git_dir(source: Path, target: Path) -> RepositoryView:
    """Show a git folder at `target`, with its submodules', but no other work trees'."""
    found = ((source / name, target / name, False) for name in _SHOWN.split())
    binds = tuple(bind for bind in found if path_exists(bind[0]) and not is_link(bind[0]))
    settings = source / "config"
    text = read_text(settings)
    view = RepositoryView(binds, ((target / "config", clean_config(text)),) if text else ())
    for module in _find_modules(source):
        view += show_git_dir(module, target / module.relative_to(source))
    return view


def show_repository(root: Path, *, covered: Path | None = None) -> RepositoryView:
    """Show the repository of a linked work tree, and the objects that it borrows from others.

    Those that lie below `covered`, where something else is mounted, are mounted elsewhere; the file
    that names them says so.
    """
    folders = find_git_dirs(root)
    if folders is None:
        return RepositoryView()
    own, common = folders
    objects = common / "objects"
    borrowed = find_borrowed_stores(objects)
    moved = {
        store: OBJECTS / str(number)
        for number, store in enumerate(borrowed)
        if covered is not None and store.is_relative_to(covered)
    }
    binds = tuple(
        (part, moved.get(store, store) / part.relative_to(store), False)
        for store, parts in borrowed.items()
        for part in parts
    )
    listed = "".join(f"{moved.get(store, store)}\n" for store in borrowed).encode()
    files = ((objects / "info/alternates", listed),) if moved else ()
    return show_git_dir(common, common) + show_git_dir(own, own) + RepositoryView(binds, files)


def find_git_dirs(root: Path) -> tuple[Path, Path] | None:
    """Return the git folder of a linked work tree and the repository's common one, or None."""
    found = _POINTER.fullmatch(read_text(root / ".git"))
    if found is None:
        return None
    folder = root / found[1].strip()
    common = folder / (read_text(folder / "commondir").strip() or ".")
    if not is_folder(common / "objects") or not is_file(folder / "HEAD"):
        return None
    return resolve_path(folder), resolve_path(common)


def find_borrowed_stores(objects: Path) -> dict[Path, list[Path]]:
    """Return the object stores that a repository borrows from others, also from theirs, and what is
    shown of each: all of it, or only those of its folders that hold nothing but objects. The
    user's repository names them, so none has to be what it claims.
    """
    found: dict[Path, list[Path]] = {}
    waiting = [objects]
    while waiting and len(found) < _ALTERNATES:
        folder = waiting.pop()
        for line in read_text(folder / "info/alternates").splitlines()[:_ALTERNATES]:
            path = Path(os.path.normpath(folder / line))
            if line and not line.startswith("#") and path not in found:
                found[path] = _list_stored(path)
                waiting += [path] if found[path] else []
    return {store: parts for store, parts in found.items() if parts}


def _list_stored(store: Path) -> list[Path]:
    """Return the folder if it holds objects and nothing else, else its parts that do; none of a
    folder that is not a repository's, or that is the home, around it, or where keys are.
    """
    real = resolve_path(store)
    if is_private(real, Path.home()) or not _is_repository(real.parent):
        return []
    parts = _list_names(real)
    clean = [name for name in parts if _holds_objects(real / name)]
    return [store] if clean == parts else [store / name for name in clean]


def _is_repository(folder: Path) -> bool:
    return os.path.isfile(folder / "HEAD") and os.path.isdir(folder / "refs")  # noqa: PTH112, PTH113


def _holds_objects(part: Path) -> bool:
    """Return whether a part of an object store has the names of such, and only them, below it."""
    kind = _STORED.get(part.name, _LOOSE if _FAN_OUT.fullmatch(part.name) else None)
    if kind is None or is_link(part):
        return bool(_TEMPORARY.fullmatch(part.name)) and is_file(part)
    return all(kind.fullmatch(name) for name in _list_names(part))


def _list_names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  # names alone, and many of them
    except OSError:
        return []


def clean_config(text: str) -> bytes:
    """Return a repository's settings with only those that say how to read it."""
    kept = {"core": ["\thooksPath = /dev/null\n"]}
    for section, key, value in _parse_config(text):
        if _KEPT.fullmatch(f"{section}.{key}") and _PLAIN.fullmatch(value):
            kept.setdefault(section, []).append(f"\t{key} = {value}\n")
    return "".join(f"[{section}]\n{''.join(lines)}" for section, lines in kept.items()).encode()


def is_clean_config(file: Path) -> bool:
    """Return whether a repository's settings are only such as are shown to children."""
    text = read_text(file)
    headers = (_SECTION.fullmatch(line.strip()) for line in text.splitlines())
    named = any(header is not None and header[2] is not None for header in headers)
    return not named and all(
        (_KEPT.fullmatch(f"{section}.{key}") or _OWN.fullmatch(f"{section}.{key}"))
        and _PLAIN.fullmatch(value)
        for section, key, value in _parse_config(text)
    )


def _parse_config(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value of sections without a name of their own."""
    section = ""
    for line in text.splitlines():
        rest = line.strip()
        if header := _SECTION.fullmatch(rest):
            section = header[1].lower() if header[2] is None else ""
            rest = header[3].strip()
        if section and rest and rest[0] not in "#;":
            key, sign, value = rest.partition("=")
            yield section, key.strip().lower(), value.strip() if sign else "true"


def _find_modules(source: Path) -> Iterator[Path]:
    """Yield the git folders of submodules."""
    for folder, folders, names in walk_folder(source / "modules", beyond=skip_folder):
        if "HEAD" in names and "objects" in folders:
            folders.clear()
            yield Path(folder)
