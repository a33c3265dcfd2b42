"""Where a check runs: the work tree in the checkout's place, or, without a sandbox, as near to that
as paths and links get.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.process.run import base_environment
from punchlist.adapters.process.sandbox import HOME, PRIVATE, Walls, available, secrets
from punchlist.ports.tree import Tree

Bind = tuple[Path, Path, bool]
_OBJECTS = Path("/tmp/objects")  # noqa: S108  # inside the sandbox, where /tmp is the child's own


class Ground(Struct, frozen=True, kw_only=True):
    """What stays the same for all checks of one checkout."""

    checkout: Path
    leftovers: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = ()


class Stage(Struct, frozen=True, kw_only=True):
    """How to start one child: in which folder, with which environment, behind which walls."""

    cwd: Path
    env: dict[str, str]
    walls: Walls


@contextmanager
def staged(tree: Tree, ground: Ground, reports: Path, command: Sequence[str]) -> Iterator[Stage]:
    """The stage for one run; what it needed in the tree is gone again afterwards."""
    with ExitStack() as stack:
        if available() == "bubblewrap":
            yield stack.enter_context(_in_place(tree, ground, reports, command))
        else:
            yield stack.enter_context(_beside(tree, ground, reports))


@contextmanager
def _in_place(tree: Tree, ground: Ground, reports: Path, command: Sequence[str]) -> Iterator[Stage]:
    """The tree is bound over the checkout's own path: editable installs and absolute paths lead to
    it by themselves.
    """
    checkout = ground.checkout
    with _mount_points(tree.root, checkout, ground.leftovers) as borrowed:
        binds: list[Bind] = [
            (path, path, False) for path in _programs(command, checkout) if path.exists()
        ]
        binds += [*_repository(tree.root, reports, checkout), (tree.root, checkout, True)]
        binds += [((checkout / name).resolve(), checkout / name, False) for name in borrowed]
        binds.append((reports, reports, True))
        home = _home()
        walls = Walls(binds=tuple(binds), hidden=(*secrets(home), *ground.hidden))
        yield Stage(cwd=checkout, env=_environment(HOME, [checkout, checkout / "src"]), walls=walls)


@contextmanager
def _beside(tree: Tree, ground: Ground, reports: Path) -> Iterator[Stage]:
    """No walls: the check runs in the tree, whose folders come first for Python; loose products are
    copied, modules linked.
    """
    root, made = tree.root, []
    for name in ground.leftovers:
        source, target = ground.checkout / name, root / name
        if not target.parent.is_dir() or not _is_free(target, root):
            continue
        if source.name == "node_modules":
            target.symlink_to(source.resolve(), target_is_directory=True)
        elif source.is_file():
            shutil.copyfile(source, target)
        else:
            continue
        made.append(target)
    home = reports / "home"
    home.mkdir()
    paths = [root, root / "src", *_editable(ground.checkout, root)]
    try:
        yield Stage(
            cwd=root,
            env={**_environment(home, paths), "TMPDIR": str(_folder(reports / "tmp"))},
            walls=Walls(network=True),
        )
    finally:
        for target in made:
            target.unlink(missing_ok=True)


def _environment(home: Path, paths: Sequence[Path]) -> dict[str, str]:
    """Same hashes, no bytecode, nobody asking questions; tool chains that live in the real home are
    still found there.
    """
    real = _home()
    toolchains = {
        "PYTHONUSERBASE": ".local",
        "RUSTUP_HOME": ".rustup",
        "CARGO_HOME": ".cargo",
        "GOPATH": "go",
    }
    found = {
        name: str(real / folder) for name, folder in toolchains.items() if (real / folder).is_dir()
    }
    return {
        **base_environment(),
        **found,
        "HOME": str(home),
        "CI": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": ":".join(str(path) for path in dict.fromkeys(paths)),
        "CARGO_TARGET_DIR": str(home / "cargo-target"),
        "CARGO_NET_OFFLINE": "true",
        "GOCACHE": str(home / "go-cache"),
        "GOFLAGS": "-count=1",
    }


@contextmanager
def _mount_points(root: Path, checkout: Path, names: Sequence[str]) -> Iterator[list[str]]:
    """Empty files and folders to bind the leftovers over; the ones made here are removed again."""
    made: list[Path] = []
    usable: list[str] = []
    for name in names:
        source, target = checkout / name, root / name
        if not source.exists() or not _is_free(target, root):
            continue
        fresh = [folder for folder in target.parents if not folder.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.mkdir() if source.is_dir() else target.touch()
        made += [*reversed(fresh), target]
        usable.append(name)
    try:
        yield usable
    finally:
        for path in reversed(made):
            with suppress(
                OSError
            ):  # not empty any more: the check wrote beside it, and the tree's owner cleans up
                path.rmdir() if path.is_dir() else path.unlink()


def _is_free(target: Path, root: Path) -> bool:
    """Return whether nothing is at `target`, not even a dangling link, and it can be made there
    without leaving the tree: a fix could have planted a link on the way.
    """
    return (
        not os.path.lexists(target)
        and target.parent.resolve().is_relative_to(root.resolve())
        and all(folder.is_dir() or not os.path.lexists(folder) for folder in target.parents)
    )


def _programs(command: Sequence[str], checkout: Path) -> list[Path]:
    """Installations in folders that the sandbox replaces by empty ones, as far as the command or
    PATH lead there.
    """
    candidates = [
        Path(command[0]),
        Path(sys.executable),
        *map(Path, base_environment()["PATH"].split(":")),
    ]
    found = dict.fromkeys(
        form for path in candidates if path.is_absolute() for form in (path, path.resolve())
    )
    prefixes = (
        _prefix(path) for path in found if any(path.is_relative_to(private) for private in PRIVATE)
    )
    return [path for path in dict.fromkeys(prefixes) if not path.is_relative_to(checkout)]


def _prefix(path: Path) -> Path:
    folder = path if path.is_dir() else path.parent
    return folder.parent if folder.name == "bin" and folder.parent not in PRIVATE else folder


def _repository(root: Path, reports: Path, checkout: Path) -> list[Bind]:
    """The tree's own repository, for checks that ask git for a version, with the objects it borrows
    from the checkout.

    The checkout's path is taken by the tree, so the borrowed objects are shown elsewhere, and the
    note that says where they are is replaced by one that says so.
    """
    pointer = root / ".git"
    folder = Path(_text(pointer).removeprefix("gitdir:").strip())
    common = (folder / _text(folder / "commondir").strip()).resolve()
    if not pointer.is_file() or not (common / "objects").is_dir():
        return []
    note = common / "objects/info/alternates"
    borrowed = [
        Path(line) for line in _text(note).splitlines() if Path(line).is_relative_to(checkout)
    ]
    moved = {path: _OBJECTS / str(number) for number, path in enumerate(borrowed)}
    binds = [
        (common, common, False),
        *((source, target, False) for source, target in moved.items() if source.is_dir()),
    ]
    if moved:
        lines = (str(moved.get(Path(line), line)) for line in _text(note).splitlines())
        (reports / "alternates").write_text("".join(f"{line}\n" for line in lines))
        binds.append((reports / "alternates", note, False))
    return binds


def _editable(checkout: Path, root: Path) -> list[Path]:
    """Folders of the tree that stand for those an editable install in the checkout's environment
    leads to.
    """
    paths: list[Path] = []
    mention = re.compile(re.escape(str(checkout)) + r"(/[^\n'\":]*)?")
    for environment in (".venv", "venv"):
        for file in sorted((checkout / environment).glob("lib/python*/site-packages/*")):
            if file.suffix == ".pth" or file.name.startswith("__editable__"):
                paths += [
                    root / (found[1] or "").strip("/") for found in mention.finditer(_text(file))
                ]
    return [
        path.parent if (path / "__init__.py").exists() else path for path in paths if path.is_dir()
    ]


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.is_file() else ""


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _home() -> Path:
    return Path(base_environment(home=True).get("HOME", "/nonexistent"))
