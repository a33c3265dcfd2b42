"""An agent's own home and temporary folder, and the sandbox around it."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from punchlist.adapters.process.sandbox import PRIVATE, Sandbox, secret_paths

_GITDIR = re.compile(r"gitdir: (/[^\n]+)\n?")


class AgentPlace(Struct, frozen=True, kw_only=True):
    """Folders shared by the agents of one run; each agent has its own home below `folder`."""

    folder: Path
    state: Path
    """Punchlist's own state, which is hidden from them."""
    user: Path
    """The user's home: login files are copied from it, secrets in it are hidden."""
    sandbox: bool = True
    hosts: tuple[str, ...] = ()
    """Hosts that all of them may reach."""
    mail: Path | None = None
    """The mailbox of outside agents, if there is one."""

    def make_home(self, name: str) -> Path:
        return _make_private(self.folder / name / "home")

    def make_tmp(self, name: str) -> Path:
        return _make_private(self.folder / name / "tmp")


def _make_private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.resolve()


def copy_login(files: Sequence[str], user: Path, home: Path) -> None:
    """Copy login files into the agent's home, once; it may renew its own copy."""
    for name in files:
        source, target = user / name, home / name
        if _is_inside(name) and source.is_file() and not target.exists():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o600)


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in PurePosixPath(name).parts


def build_sandbox(
    place: AgentPlace, name: str, tree: Path, programs: Sequence[str], *, writes: bool
) -> Sandbox:
    """Return a sandbox without secrets and punchlist's state; the tree is writable if `writes`."""
    root = tree.resolve()
    hidden = (*secret_paths(place.user), place.state)
    shown = [path for path in _program_folders(programs) if _is_hidden(path, hidden)]
    if (git := _find_repository(root, place.state)) is not None:
        shown.append(git)
    return Sandbox(
        binds=(*((path, path, False) for path in dict.fromkeys(shown)), (root, root, writes)),
        writable=(place.make_home(name), place.make_tmp(name)),
        hidden=hidden,
    )


def _is_hidden(path: Path, hidden: Sequence[Path]) -> bool:
    """Return whether the sandbox would hide the path."""
    return any(path.is_relative_to(folder) for folder in (*PRIVATE, *hidden))


def _program_folders(programs: Sequence[str]) -> Iterator[Path]:
    """Yield the folders the programs are installed in, also behind their links."""
    for program in programs:
        for path in (Path(program), Path(program).resolve()):
            if path.is_absolute() and path.exists():
                found = _installation_root(path)
                yield path if found in PRIVATE else found


def _installation_root(path: Path) -> Path:
    """Return the outermost node_modules, the parent of a bin folder, or the program's folder."""
    modules = [folder for folder in path.parents if folder.name == "node_modules"]
    if modules:
        return modules[-1]
    return path.parent.parent if path.parent.name == "bin" else path.parent


def _find_repository(root: Path, state: Path) -> Path | None:
    """Return the git folder behind a lent tree, or None if it is not below punchlist's state."""
    with suppress(OSError, UnicodeDecodeError):
        found = _GITDIR.fullmatch((root / ".git").read_text())
        if found is None:
            return None
        common = Path(found[1]).resolve().parent.parent
        bare = (common / "objects").is_dir() and (common / "HEAD").is_file()
        if bare and common.is_relative_to(state.resolve()):
            return common
    return None
