"""Read a repository by a git folder of punchlist's making: its objects, refs, index and those of
its settings that name no program; nothing else of its configuration, and no hooks.

Git takes configuration and hooks from the common folder (GIT_COMMON_DIR), and HEAD and index from
the git folder. The common folder is ours: links to the data, and a `config` that is written here.
What the user's own configuration says (system, global, environment) counts as ever.
"""

import atexit
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.look import is_folder, path_exists, resolve_path
from punchlist.adapters.folders.remove import remove_folder
from punchlist.errors import NO_ROOM, DiskFull, RepositoryError
from punchlist.model.finding.late_pattern import late_pattern

_DATA = ("HEAD", "refs", "packed-refs", "objects", "info", "logs", "worktrees", "shallow")
_DATA_IF_THERE = ("reftable", "lfs")
_OWN_SCOPES = frozenset({"local", "worktree"})
_HARMLESS = late_pattern(
    r"core\.(repositoryformatversion|bare|filemode|symlinks|ignorecase|precomposeunicode|protecthfs"
    r"|protectntfs|longpaths|autocrlf|eol|safecrlf|checkroundtripencoding|sparsecheckout"
    r"|sparsecheckoutcone|excludesfile|attributesfile|bigfilethreshold|checkstat|trustctime"
    r"|untrackedcache|splitindex|sharedrepository|commitgraph|multipackindex|abbrev)"
    r"|extensions\.(?!partialclone$|worktreeconfig$)\w+"
    r"|index\.(version|sparse|threads|skiphash)|feature\.manyfiles|status\.showuntrackedfiles"
    r"|(user|author|committer)\.(name|email)|user\.useconfigonly|i18n\.\w+|init\.defaultbranch"
    r"|punchlist\.repository"
    r"|remote\..+\.(url|pushurl|fetch)|http\.(.+\.)?extraheader"
    r"|receive\.(deny\w+|fsckobjects|maxinputsize)|(transfer|receive|uploadpack)\.hiderefs"
    r"|uploadpack\.allow\w+",
    re.DOTALL,
)
"""Settings of a repository that are passed on: they say how to read it, who commits, and what its
remotes are called. None of them can name a program. A remote's address can name a transport;
GIT_ALLOW_PROTOCOL decides which of these count.
"""
_REFSPEC = late_pattern(r"\^?\+?(HEAD|refs/[\w./*+@-]+)(:refs/[\w./*+@-]+)?")
"""With any other, git would refuse to talk to any remote."""
_ALWAYS = "[core]\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n[receive]\n\tautogc = false\n"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\b": r"\b"})


class Setting(Struct, frozen=True):
    """One value of git's configuration."""

    scope: str
    key: str
    value: str

    @property
    def is_own(self) -> bool:
        """Return whether it comes from the repository itself, and not from its user."""
        return self.scope in _OWN_SCOPES


def parse_settings(fields: Iterable[str]) -> Iterator[Setting]:
    """Yield what `git config -z --show-scope --list` printed, split at NUL."""
    pair = iter(fields)
    for scope, entry in zip(pair, pair, strict=False):
        key, sign, value = entry.partition("\n")
        yield Setting(scope, key, value if sign else "true")


def make_view(git_dir: Path, settings: Iterable[Setting], *, whole: bool = False) -> Path:
    """Return a common folder that stands for the one of a repository, with the harmless ones of the
    repository's own settings; with `whole` it is a repository by itself. It is gone when the
    process ends.
    """
    text = _write_config(each for each in settings if each.is_own)
    links = {name: git_dir / name for name in _DATA}
    links |= {name: git_dir / name for name in _DATA_IF_THERE if path_exists(git_dir / name)}
    facts = repr((str(git_dir), sorted(links), text, whole)).encode("utf-8", "surrogateescape")
    try:
        # Git calls the folder around `.git` the main work tree.
        view = _find_root() / hashlib.sha256(facts).hexdigest()[:16] / ".git"
        view.mkdir(mode=0o700, parents=True, exist_ok=True)
        if whole:  # git takes no link for the HEAD of a repository
            _write_file(view / "HEAD", links.pop("HEAD").read_bytes())
        for name, target in links.items():
            with suppress(FileExistsError):
                (view / name).symlink_to(target)
        if not path_exists(view / "config"):
            _write_file(view / "config", os.fsencode(text))
    except OSError as error:
        kind = DiskFull if error.errno in NO_ROOM else RepositoryError
        what = f"{tempfile.gettempdir()}: cannot be written: {error.strerror}"
        raise kind(what, hint="point TMPDIR at a folder that can be written") from error
    return view


def _write_file(path: Path, content: bytes) -> None:
    """Write atomically: another thread may be reading."""
    part = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
    part.write_bytes(content)
    part.replace(path)


def list_unused_transports(settings: Iterable[Setting]) -> tuple[str, ...]:
    """Return the names of the repository's own settings that say how remotes are reached: they are
    not passed on.
    """
    named = (each.key for each in settings if each.is_own and not _HARMLESS.fullmatch(each.key))
    return tuple(sorted({key for key in named if _TRANSPORT.match(key)}))


_TRANSPORT = late_pattern(
    r"core\.(sshcommand|gitproxy|askpass)$|(credential|http|https|protocol|ssh|url)\."
    r"|remote\..+\.(proxy\w*|uploadpack|receivepack|vcs)$",
    re.DOTALL,
)


def _write_config(settings: Iterable[Setting]) -> str:
    """Return the text of a configuration file with the harmless ones of the settings."""
    lines = []
    for each in settings:
        odd = each.key.endswith(".fetch") and not _REFSPEC.fullmatch(each.value)
        if odd or not _HARMLESS.fullmatch(each.key):
            continue
        section, _, rest = each.key.partition(".")
        name, dot, key = rest.rpartition(".")
        header = f'[{section} "{_quote(name)}"]' if dot else f"[{section}]"
        lines.append(f'{header}\n\t{key} = "{_quote(each.value)}"\n')
    return "".join((*lines, _ALWAYS))


def _quote(text: str) -> str:
    return text.translate(_ESCAPES)


_ROOTS: dict[int, Path] = {}
"""By process: where its views are."""


def _find_root() -> Path:
    """Return the folder of this process for views."""
    mine = os.getpid()
    root = _ROOTS.get(mine)
    if root is None or not is_folder(root):
        root = _ROOTS[mine] = resolve_path(Path(tempfile.mkdtemp(prefix="punchlist-git-")))
        atexit.register(_remove_root, mine)
    return root


def _remove_root(owner: int) -> None:
    # A process that was forked has its own.
    if os.getpid() == owner and (root := _ROOTS.pop(owner, None)):
        remove_folder(Path(root))
