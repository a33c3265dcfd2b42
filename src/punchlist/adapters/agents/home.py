"""Where an agent lives while it works: a home and a folder for temporary files of its own, and
walls around it.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from punchlist.adapters.process.sandbox import PRIVATE, Walls, secrets

_GITDIR = re.compile(r"gitdir: (/[^\n]+)\n?")


class Place(Struct, frozen=True, kw_only=True):
    """What agents of one run share. `folder` lies below the run's folder; every agent has its own
    home in it.
    """

    folder: Path
    state: Path
    """Punchlist's own state, which is not theirs to see."""
    user: Path
    """The user's home: login files are copied from it, secrets in it are hidden."""
    sandbox: bool = True
    mail: Path | None = None
    """Where tasks are laid for agents that come for them; without it nobody would find them."""

    def home(self, name: str) -> Path:
        return _private(self.folder / name / "home")

    def tmp(self, name: str) -> Path:
        return _private(self.folder / name / "tmp")


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.resolve()


def bring_login(files: Sequence[str], user: Path, home: Path) -> None:
    """Copies what an agent needs to be logged in, once: it may renew its own copy, and yours stays
    as it is.
    """
    for name in files:
        source, target = user / name, home / name
        if _inside(name) and source.is_file() and not target.exists():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o600)


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def walls(place: Place, name: str, tree: Path, programs: Sequence[str], *, writes: bool) -> Walls:
    """The world read-only, without secrets and punchlist's state; the tree as it is, writable for
    whom it is meant to be.
    """
    root = tree.resolve()
    hidden = (*secrets(place.user), place.state)
    shown = [path for path in _made_of(programs) if _covered(path, hidden)]
    if (git := _repository(root, place.state)) is not None:
        shown.append(git)
    return Walls(
        binds=(*((path, path, False) for path in dict.fromkeys(shown)), (root, root, writes)),
        writable=(place.home(name), place.tmp(name)),
        hidden=hidden,
        network=True,
    )


def _covered(path: Path, hidden: Sequence[Path]) -> bool:
    """Whether the walls would hide it."""
    return any(path.is_relative_to(folder) for folder in (*PRIVATE, *hidden))


def _made_of(programs: Sequence[str]) -> Iterator[Path]:
    """The folders programs are installed in, by where they are and by where their links lead."""
    for program in programs:
        for path in (Path(program), Path(program).resolve()):
            if path.is_absolute() and path.exists():
                found = _installation(path)
                yield path if found in PRIVATE else found


def _installation(path: Path) -> Path:
    """The outermost node_modules, the folder above a bin, or else the folder the program is in."""
    modules = [folder for folder in path.parents if folder.name == "node_modules"]
    if modules:
        return modules[-1]
    return path.parent.parent if path.parent.name == "bin" else path.parent


def _repository(root: Path, state: Path) -> Path | None:
    """The repository behind a lent tree, so that git can be read there. What the tree says is not
    trusted further than that.
    """
    with suppress(OSError, UnicodeDecodeError):
        found = _GITDIR.fullmatch((root / ".git").read_text())
        common = Path(found[1]).resolve().parent.parent if found else None
        if (
            common
            and common.is_relative_to(state.resolve())
            and (common / "objects").is_dir()
            and (common / "HEAD").is_file()
        ):
            return common
    return None
