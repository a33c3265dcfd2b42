"""Read what a Python has from the files of its environment; its interpreter is not started.

A Python that starts runs the code that `.pth` files, `sitecustomize` and `usercustomize` name, and
an environment may have been made from, or lead to, the code under review.
"""

import re
import sys
from collections.abc import Iterator
from importlib.machinery import all_suffixes
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.look import is_file, is_folder, list_folder, read_text, resolve_path

_PACKAGES = ("lib/python{0}/site-packages", "lib/python{0}/dist-packages")
_SHARED_PACKAGES = ("lib/python3/dist-packages", "local/lib/python{0}/dist-packages")
"""Where Debian keeps the packages of its Python besides."""
_METADATA = (".dist-info", ".egg-info", ".egg-link")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
_LIBRARY = re.compile(r"python(3\.\d+)")


class PythonFacts(Struct, frozen=True):
    """An environment's version, '' if no file says it, and the folders that it imports from."""

    version: str
    folders: tuple[Path, ...]

    def has_module(self, name: str) -> bool:
        """Return whether `import NAME` would find something; nothing is imported."""
        top = name.partition(".")[0]
        return top in sys.stdlib_module_names or any(
            is_folder(folder / top) or any(is_file(folder / f"{top}{end}") for end in _ENDS)
            for folder in self.folders
        )

    def list_distributions(self) -> frozenset[str]:
        """Return the normalised names of the installed distributions."""
        names = (path.name for folder in self.folders for path in list_folder(folder))
        return frozenset(
            normalize_name(name.removesuffix(end).partition("-")[0])
            for name in names
            for end in _METADATA
            if name.endswith(end)
        )


_ENDS = tuple(all_suffixes())


def normalize_name(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def read_facts(python: str, home: Path | None = None) -> PythonFacts:
    """Read the facts about the Python at this path; `home` may have packages of the user."""
    prefix = Path(python).parent.parent
    settings = _read_settings(prefix)
    if not settings:
        named = Path(python).name.startswith(("python", "pypy"))
        return _read_installation(Path(python), home) if named else PythonFacts("", ())
    version = settings.get("version") or settings.get("version_info") or ""
    folders = [*_list_packages(prefix, _find_minor(prefix, version))]
    if settings.get("include-system-site-packages", "").lower() == "true":
        base = Path(settings.get("home", "/nonexistent")) / "python3"
        folders += _read_installation(base, home).folders
    found = _VERSION.match(version)
    return PythonFacts(found[0] if found else "", tuple(_follow_links(folders)))


def _read_installation(python: Path, home: Path | None) -> PythonFacts:
    """Read the facts about a Python that is not a virtual environment: the system's, conda's."""
    form = resolve_path(python)
    prefix = form.parent.parent
    named = _LIBRARY.fullmatch(form.name)
    minor = named[1] if named else _find_minor(prefix, "")
    folders = [*_list_packages(prefix, minor), *_list_packages(Path("/usr/local"), minor)]
    if home is not None:
        folders += _list_packages(home / ".local", minor)
    noted = list_folder(prefix, "conda-meta/python-3*.json")
    exact = _VERSION.search(noted[0].name) if noted else None
    return PythonFacts(exact[0] if exact else minor, tuple(_follow_links(folders)))


def _read_settings(prefix: Path) -> dict[str, str]:
    """Return the settings in `pyvenv.cfg`; none where this is not a virtual environment."""
    text = read_text(prefix / "pyvenv.cfg")
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _find_minor(prefix: Path, version: str) -> str:
    """Return the version's first two numbers, else those in the name of the library folder."""
    known = re.match(r"\d+\.\d+", version)
    if known:
        return known[0]
    names = (_LIBRARY.fullmatch(path.name) for path in list_folder(prefix, "lib/python3.*"))
    return next((name[1] for name in names if name), "")


def _list_packages(prefix: Path, minor: str) -> Iterator[Path]:
    for pattern in (*_PACKAGES, *_SHARED_PACKAGES):
        folder = prefix / pattern.format(minor)
        if is_folder(folder):
            yield folder


def _follow_links(folders: list[Path]) -> Iterator[Path]:
    """Yield the folders, and those that plain lines of their `.pth` files name."""
    for folder in dict.fromkeys(folders):
        yield folder
        for file in (path for path in list_folder(folder) if path.suffix == ".pth"):
            lines = read_text(file).splitlines()
            named = (folder / line.strip() for line in lines if line.strip()[:1] not in ("", "#"))
            yield from (path for path in named if is_folder(path))
