"""Find the folders that programs are installed in, which a sandbox has to show them."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from punchlist.adapters.folders.look import (
    is_file,
    is_folder,
    is_link,
    path_exists,
    read_text,
    resolve_path,
)

Private = tuple[Path, ...]
"""Folders that are never shown as a whole: the user's home, punchlist's state."""
SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")))
_SYSTEM = tuple(f"{folder}/" for folder in SYSTEM)
_PROGRAM_FOLDERS = frozenset({"bin", "sbin", "shims", "condabin"})
_LINKED = frozenset({"node_modules", ".pnpm", "Cellar"})
"""Folders in which packages lead to each other: the outermost one is shown."""
_STORES = (Path("/nix/store"), Path("/gnu/store"), Path("/snap"))
_TOPS = frozenset(
    map(
        Path,
        "/ /boot /dev /dev/shm /etc /home /media /mnt /opt /proc /root /run /srv /sys /tmp /Users"
        " /var /var/lib /var/tmp".split(),
    )
)
"""Folders that hold much else than one installation."""
_SHARED = ".local/share .local/state .config .cache"
"""The same below a home: only what lies in them is shown."""
_SCRIPTS = (".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".rb", ".pl", ".jar")
_LINKS = 8
_ENTRIES = 2000
_SHEBANG = 512


def find_installations(words: Iterable[str], path: str, private: Private) -> tuple[Path, ...]:
    """Return what the programs and scripts among the words of a command line need outside the
    system's folders: their installations, their interpreters', and those behind their links.
    """
    found: dict[Path, None] = {}
    for number, word in enumerate(words):
        if word.startswith("/") and "\0" not in word and (number == 0 or _is_program(word)):
            found |= dict.fromkeys(_list_needed(word, path, private))
    return drop_inner(found)


def find_named_files(words: Iterable[str], private: Private) -> tuple[Path, ...]:
    """Return other files and folders that a command line names, such as settings."""
    names = (word.partition("=")[2] if word.startswith("-") else word for word in words)
    paths = (Path(name) for name in names if name.startswith("/") and "\0" not in name)
    return tuple(
        path
        for path in paths
        if path_exists(path)
        and (is_file(path) or is_folder(path))
        and not is_system(path)
        and not is_shared(path, private)
    )


def find_path_installations(path: str, private: Private) -> tuple[Path, ...]:
    """Return what all programs on PATH need outside the system's folders."""
    found: dict[Path, None] = {}
    for name in dict.fromkeys(path.split(":")):
        folder = Path(name)
        if folder.is_absolute() and not is_system(folder) and is_folder(folder):
            stamp = folder.stat().st_mtime_ns
            found |= dict.fromkeys(_list_folder_needs(name, stamp, path, private))
    return drop_inner(found)


def find_own_installation(path: str, private: Private) -> tuple[Path, ...]:
    """Return the folders of our own interpreter and environment."""
    prefixes = map(Path, (sys.prefix, sys.base_prefix))
    own = [each for each in prefixes if not (is_system(each) or is_shared(each, private))]
    return drop_inner([*own, *find_installations((sys.executable,), path, private)])


def launcher_python() -> str:
    """Return the path of this Python, behind a virtual environment and links."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def is_shared(folder: Path, private: Private) -> bool:
    """Return whether the folder holds much else than one installation: it is private, a checkout,
    or a folder that programs share, or it contains one.
    """
    inside = (f"{home}/{name}/" for home in private for name in ("", *_SHARED.split()))
    checkout = not folder.name.startswith(".") and os.path.lexists(folder / ".git")
    real = resolve_path(folder)
    return (
        folder in _TOPS
        or folder.parent in (Path("/home"), Path("/Users"))
        or any(each.startswith((f"{folder}/", f"{real}/")) for each in inside)
        or checkout
    )


def drop_inner(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders without those that lie in another one."""
    known = set(folders)
    return tuple(sorted(path for path in known if known.isdisjoint(path.parents)))


@lru_cache(maxsize=256)
def _list_folder_needs(name: str, stamp: int, path: str, private: Private) -> tuple[Path, ...]:
    """Return the needs of a folder on PATH; `stamp`, its time, is only part of the cache's key."""
    folder = Path(name)
    needed = dict.fromkeys(_find_installation(folder / "-", private))
    if all(each.is_relative_to(folder) or each.name.startswith("lib") for each in needed):
        # A folder of its own, such as ~/.local/bin, into which tools link from anywhere.
        for program in _list_programs(folder)[:_ENTRIES]:
            needed |= dict.fromkeys(_list_needed(program, path, private))
    return tuple(needed)


def _list_programs(folder: Path) -> list[str]:
    """Return the paths of the folder's files, but for links to where this user cannot reach."""
    if not os.access(folder, os.R_OK):
        return []
    with os.scandir(folder) as entries:
        return [
            each.path for each in entries if path_exists(each.path) and not is_folder(each.path)
        ]


@lru_cache(maxsize=4096)
def _list_needed(program: str, path: str, private: Private, depth: int = 0) -> tuple[Path, ...]:
    needed: dict[Path, None] = {}
    for form in _follow_links(Path(program)):
        needed |= dict.fromkeys(_find_installation(form, private))
        for base in _read_base(form) if depth < _LINKS else ():
            needed |= dict.fromkeys(_list_needed(base, path, private, depth + 1))
    if depth < _LINKS and (interpreter := _read_shebang(program, path)):
        needed |= dict.fromkeys(_list_needed(interpreter, path, private, depth + 1))
    return tuple(each for each in needed if path_exists(each))


def _follow_links(path: Path) -> Iterator[Path]:
    """Yield the path, each link on its way, and where it leads in the end; as far as this user can
    reach.
    """
    seen = path
    with suppress(PermissionError):
        for _ in range(_LINKS):
            yield seen
            if not is_link(seen):
                break
            seen = Path(os.path.normpath(seen.parent / seen.readlink()))
    if path_exists(path):
        yield resolve_path(path)


def _find_installation(path: Path, private: Private) -> Iterator[Path]:
    """Yield what has to be shown for a program: its installation, or only its folder or itself
    where the folder above holds much else.
    """
    if is_system(path):
        return
    if store := next((each for each in _STORES if path.is_relative_to(each)), None):
        yield store
        return
    linked = [folder for folder in path.parents if folder.name in _LINKED]
    if linked:
        outer = linked[-1]
        yield outer if outer.name == "node_modules" else outer.parent
        return
    folder = path.parent
    prefix = folder.parent if folder.name in _PROGRAM_FOLDERS else folder
    if not is_shared(prefix, private):
        yield prefix
    elif folder != prefix and not is_shared(folder, private):
        yield folder
        yield from (each for name in ("lib", "lib64") if is_folder(each := prefix / name))
    elif is_file(path):
        yield path


def _read_base(program: Path) -> list[str]:
    """Return the base interpreter of a program's virtual environment, if it lies in one. A file
    that is not a program does not open the folder around it: a repository may have written that.
    """
    text = read_text(program.parent.parent / "pyvenv.cfg")
    pairs = (line.partition("=") for line in text.splitlines())
    values = {key.strip(): value.strip() for key, _, value in pairs}
    bases = [f"{values['home']}/python3"] if values.get("home") else []
    bases += [values[key] for key in ("executable", "base-executable") if values.get(key)]
    return [base for base in bases if base != str(program) and _is_interpreter(Path(base))]


def _is_interpreter(path: Path) -> bool:
    named = path.name.startswith(("python", "pypy"))
    return named and path.is_absolute() and os.access(path, os.X_OK) and is_file(path)


def _read_shebang(program: str, path: str) -> str:
    """Return the interpreter of a script, behind `env` as PATH finds it; '' for other programs."""
    try:
        if not is_file(program):
            return ""
        with Path(program).open("rb") as file:
            first = file.read(_SHEBANG).split(b"\n")[0]
    except OSError:
        return ""
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if not words or Path(words[0]).name != "env":
        return words[0] if words else ""
    named = (word for word in words[1:] if not word.startswith("-") and "=" not in word)
    return shutil.which(next(named, ""), path=path) or ""


def _is_program(name: str) -> bool:
    runs = name.endswith(_SCRIPTS) or os.access(name, os.X_OK)
    return runs and is_file(Path(name))


def is_system(path: Path | str) -> bool:
    return f"{path}/".startswith(_SYSTEM)
