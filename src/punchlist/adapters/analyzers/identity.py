"""Identify a program by its files, so that what it said of a commit can be kept."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from punchlist._version import __version__
from punchlist.adapters.folders.look import is_file, is_folder, resolve_path
from punchlist.adapters.folders.walk import skip_folder, walk_folder

_BINARY = b"\x7fELF"
_OURS = tuple(Path(__file__).parents[2] / name for name in ("adapters/analyzers", "intake"))
"""The folders of the code that reads what tools print."""


def identify_binary(program: str) -> str:
    """Return what changes whenever the program does; '' for a script, which may start others."""
    file = resolve_path(Path(program))
    try:
        with file.open("rb") as opened:
            known = opened.read(len(_BINARY)) == _BINARY
        return repr(list(_stat_files([file]))) if known else ""
    except OSError:
        return ""


def identify_package(name: str) -> str:
    """Return what changes whenever this Python package does, or what is installed beside it; ''
    if it is not installed as files, or if another distribution plugs into it.
    """
    sites = [Path(each) for each in sys.path if each.endswith(("site-packages", "dist-packages"))]
    package = next((site / name for site in sites if is_folder(site / name)), None)
    try:
        installed = sorted(
            each for site in sites for each in site.iterdir() if each.suffix == ".dist-info"
        )
        plugged = [each for each in installed if _plugs_into(each, name)]
        if package is None or any(not each.name.startswith(f"{name}-") for each in plugged):
            return ""
        files = [*_walk(package), resolve_path(Path(sys.executable))]
        return repr([*map(str, installed), *_stat_files(files)])
    except OSError:
        return ""


def identify_readers() -> str:
    """Return what changes whenever our own code does that reads what tools print."""
    files = (file for folder in _OURS for file in _walk(folder))
    return repr([__version__, *_stat_files(files)])


def _plugs_into(distribution: Path, name: str) -> bool:
    points = distribution / "entry_points.txt"
    return is_file(points) and f"[{name}." in points.read_text("utf-8", "replace")


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in walk_folder(folder, beyond=skip_folder):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        yield from (Path(place, each) for each in sorted(names))


def _stat_files(files: Iterable[Path]) -> Iterator[tuple[str, int, int, int]]:
    for file in files:
        found = file.stat()
        yield str(file), found.st_size, found.st_mtime_ns, found.st_ino
