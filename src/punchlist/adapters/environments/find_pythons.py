"""Find the Python environments that a user has for a project, in order of preference."""

import base64
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath

from msgspec import Struct

from punchlist.adapters.environments.python_facts import normalize_name, read_facts
from punchlist.adapters.folders.look import list_folder, path_exists, read_text, resolve_path
from punchlist.adapters.process.run import Origin, base_environment, named_environment, run, which
from punchlist.model.checks.failure_cause import MADE_BY_SETUP

_ON_PATH = "on PATH"
_OWN = "punchlist's own Python"
SHARED = (_ON_PATH, _OWN)
"""Where a Python is found that is not the project's own."""
_PROGRAMS: dict[str, str] = {}
"""By script on PATH: the Python that it starts, asked once."""
_FOLDERS = (".venv", "venv", "env")
_VARIABLES = """
    UV_PROJECT_ENVIRONMENT VIRTUAL_ENV CONDA_PREFIX CONDA_EXE MAMBA_ROOT_PREFIX XDG_CACHE_HOME
    XDG_DATA_HOME POETRY_CACHE_DIR POETRY_VIRTUALENVS_PATH HATCH_DATA_DIR
"""
_CONDAS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda")
_NAME = re.compile(r"^name:\s*[\"']?([\w.-]+)[\"']?\s*$", re.MULTILINE)


class FoundPython(Struct, frozen=True):
    path: str
    where: str
    program: str = ""
    """What a script at `path` starts, from the root folder; '' if it is not a script."""


class ProjectPlace(Struct, frozen=True, kw_only=True):
    """The checkout, the repository's main work tree, and the paths that come with its commits.

    `made` is the environment that `punchlist setup` made for these commits.
    """

    checkout: Path
    main: Path | None = None
    tracked: Collection[str] = ()
    made: Path | None = None

    @property
    def roots(self) -> dict[Path, str]:
        roots = {self.checkout: "in your checkout"}
        if self.main is not None:
            roots.setdefault(self.main, "in the main work tree")
        return roots


def list_pythons(place: ProjectPlace, read_text: Callable[[str], str | None]) -> list[FoundPython]:
    """Return the project's own environments first, then PATH's Python, then punchlist's; only the
    one that `punchlist setup` made where there is one.

    What comes with a commit is left out: it would run before the user allowed anything.
    """
    if place.made is not None:
        return [FoundPython(str(place.made / "bin/python"), MADE_BY_SETUP)]
    found: dict[str, FoundPython] = {}
    own = _find_environments(place, _NAME.search(read_text("environment.yml") or ""))
    for prefix, where in own:
        python = prefix / "bin/python"
        if prefix.is_absolute() and path_exists(python) and not _comes_with_commit(python, place):
            found.setdefault(str(python), FoundPython(str(python), where))
    for path, where in ((which("python3"), _ON_PATH), (sys.executable, _OWN)):
        if path and not _comes_with_commit(Path(path), place):
            found.setdefault(path, FoundPython(path, where))
    return list(found.values())


async def find_pythons(
    place: ProjectPlace, read_text: Callable[[str], str | None]
) -> list[FoundPython]:
    """Return what `list_pythons` returns, with programs in the place of scripts that start them.

    pyenv and asdf put such scripts on PATH, and they take longer than Python itself. Where the
    project's `.python-version` decides what a script starts, it stays.
    """
    steered = read_text(".python-version") is not None
    found = []
    for each in list_pythons(place, read_text):
        program = await _leave_script(each.path) if each.where == _ON_PATH else each.path
        path = each.path if steered else program
        found.append(FoundPython(path, each.where, program if steered else ""))
    return found


async def _leave_script(path: str) -> str:
    if path not in _PROGRAMS and _is_script(path):
        _PROGRAMS[path] = await _ask_program(path)
    return _PROGRAMS.get(path, path)


async def _ask_program(path: str) -> str:
    asked = [path, "-I", "-S", "-c", "import sys; print(sys.executable)"]
    env = base_environment(home=True)
    ran = await run(asked, origin=Origin.USERS, cwd=Path("/"), env=env, timeout=30)
    program = ran.stdout.decode(errors="replace").strip()
    return program if ran.ok and os.access(program, os.X_OK) else path


def _is_script(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def find_missing(python: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return which packages a Python does not have; none if no folder of packages is found."""
    facts = read_facts(python, _find_home())
    have = facts.list_distributions()
    return tuple(name for name in names if normalize_name(name) not in have) if have else ()


def find_python_with(pythons: Sequence[FoundPython], module: str) -> FoundPython | None:
    """Return the first Python that has the module, or None. Only files are read: a Python that
    starts could run code under review, which the user has not allowed yet.
    """
    home = _find_home()
    facts = ((each, read_facts(each.program or each.path, home)) for each in pythons)
    return next((each for each, known in facts if known.has_module(module)), None)


def _find_home() -> Path | None:
    home = base_environment(home=True).get("HOME")
    return Path(home) if home else None


def _find_environments(
    place: ProjectPlace, conda: re.Match[str] | None
) -> Iterator[tuple[Path, str]]:
    known = named_environment(_VARIABLES.split())
    home = _find_home() or Path("/nonexistent")
    for root, where in place.roots.items():
        if name := known.get("UV_PROJECT_ENVIRONMENT"):
            yield root / name, "UV_PROJECT_ENVIRONMENT"
        yield from ((root / name, f"{name} {where}") for name in _FOLDERS)
    if active := known.get("VIRTUAL_ENV"):
        yield Path(active), "the active virtual environment"
    for root, where in place.roots.items():
        yield from _find_managed(root, where, known, home, place)
    if active := known.get("CONDA_PREFIX"):
        yield Path(active), "the active conda environment"
    if conda:
        exe = [Path(known["CONDA_EXE"]).parent.parent] if "CONDA_EXE" in known else []
        roots = [*exe, Path(known.get("MAMBA_ROOT_PREFIX", home / "micromamba"))]
        for root in (*roots, *(home / name for name in _CONDAS)):
            yield root / "envs" / conda[1], f"conda environment {conda[1]} of environment.yml"


def _find_managed(
    root: Path, where: str, known: dict[str, str], home: Path, place: ProjectPlace
) -> Iterator[tuple[Path, str]]:
    """Yield the environments of pdm, poetry, hatch, tox and nox for this folder."""
    noted = root / ".pdm-python"
    python = read_text(noted).strip()
    if python and not _comes_with_commit(noted, place):
        yield Path(python).parent.parent, f".pdm-python {where}"
    code = _hash_path(os.path.normcase(resolve_path(root)))
    caches = Path(known.get("XDG_CACHE_HOME", home / ".cache")) / "pypoetry"
    kept = Path(known.get("POETRY_CACHE_DIR", caches)) / "virtualenvs"
    poetry = Path(known.get("POETRY_VIRTUALENVS_PATH", kept))
    data = Path(known.get("XDG_DATA_HOME", home / ".local/share")) / "hatch"
    hatch = Path(known.get("HATCH_DATA_DIR", data)) / "env/virtual"
    for folder, pattern, tool in (
        (poetry, f"*-{code}-py*", "poetry"),
        (hatch, f"*/{_hash_path(str(root))}/*", "hatch"),
        (root / ".tox", "py*", "tox"),
        (root / ".nox", "*", "nox"),
    ):
        # Environments for tests come first: hatch and nox also keep those for documentation.
        found = list_folder(folder, pattern)
        for prefix in sorted(found, key=lambda path: "test" not in path.name):
            yield prefix, f"{tool}'s environment {prefix.name}"


def _hash_path(path: str) -> str:
    """Return the part of an environment's name by which poetry and hatch tell folders apart."""
    digest = sha256(os.fsencode(path)).digest()
    return base64.urlsafe_b64encode(digest).decode()[:8]


def _comes_with_commit(path: Path, place: ProjectPlace) -> bool:
    """Return whether a file, or a link or submodule on the way to it, is tracked by git, or the
    environment that it is in has tracked files.
    """
    roots = {form for root in place.roots for form in (root, resolve_path(root))}
    below = [
        PurePosixPath(str(form.relative_to(root)).casefold())
        for form in {path, resolve_path(path.parent) / path.name, resolve_path(path)}
        for root in roots
        if form.is_relative_to(root)
    ]
    if not below:
        return False
    tracked = {name.casefold() for name in place.tracked}
    folders = {str(parent) for name in tracked for parent in PurePosixPath(name).parents} - {"."}
    return any(
        not tracked.isdisjoint(map(str, (each, *each.parents)))
        or str(each.parents[1] if len(each.parents) > 2 else each) in folders
        for each in below
    )
