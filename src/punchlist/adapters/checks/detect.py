"""Detect a project's checks from its files; the user or a setting must allow them."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from punchlist.adapters.checks.project_files.other_files import read_package_scripts
from punchlist.adapters.environments.find_pythons import (
    FoundPython,
    ProjectPlace,
    find_python_with,
    find_pythons,
)
from punchlist.adapters.process.programs import which_any
from punchlist.model.checks.check import Check, CheckKind
from punchlist.model.finding.guarded_text import find_ini, find_toml
from punchlist.ports.tree import Tree

_PLACEHOLDER = "no test specified"
_SECTIONS = {
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}
_LOCKS = {"pnpm": "pnpm-lock.yaml", "yarn": "yarn.lock"}


async def detect(tree: Tree, place: ProjectPlace, *, pytest_in: str = "") -> tuple[Check, ...]:
    """Return the most direct check per language; tox, nox and make only if there is none.

    Files are read from the tree; `place` tells which Python environments there are. `pytest_in`:
    the file in which the project runs pytest, if that is known.
    """
    files = tuple(tree.files())
    origin = _find_pytest_config(tree, files) or pytest_in
    python = await _detect_python(tree, files, place, origin)
    direct = [*python, *_detect_manifests(tree, files)]
    found = tuple(direct or _detect_indirect(tree, files))
    return found or await _await_pytest(tree, place)


def needs_pytest(tree: Tree) -> bool:
    """Return whether the project's tests are run by pytest."""
    tests, texts = _find_tests(tree)
    if _find_pytest_config(tree, tuple(tree.files())) or any("pytest" in text for text in texts):
        return True
    return bool(tests) and not any("unittest" in text for text in texts)


def _find_tests(tree: Tree) -> tuple[list[str], list[str]]:
    """Return the test files, and the texts of the first of them."""
    tests = [path for path in tree.files() if is_test(path)]
    return tests, [text for path in tests[:200] if (text := tree.text(path)) is not None]


async def _detect_python(
    tree: Tree, files: tuple[str, ...], place: ProjectPlace, origin: str
) -> list[Check]:
    tests, texts = _find_tests(tree)
    for_pytest = origin or any("pytest" in text for text in texts)
    if not tests and not origin:
        return []
    pythons = await find_pythons(place, tree.text)
    found = find_python_with(pythons, "pytest")
    if found and (for_pytest or texts):
        return [_make_pytest(found, origin or tests[0])]
    if not for_pytest and pythons and any("unittest" in text for text in texts):
        options = _discovery_options(tests, files)
        discover = (pythons[0].path, "-m", "unittest", "discover", *options)
        check = _make_check("unittest", discover, CheckKind.UNITTEST, tests[0])
        return [replace(check, python_from=pythons[0].where)]
    return []


async def _await_pytest(tree: Tree, place: ProjectPlace) -> tuple[Check, ...]:
    """Return pytest for a Python that lacks it: its baseline says so, and what to do."""
    tests, _ = _find_tests(tree)
    if not tests or not needs_pytest(tree):
        return ()
    pythons = await find_pythons(place, tree.text)
    if not pythons:
        return ()
    return (_make_pytest(pythons[0], tests[0]),)


def _make_pytest(python: FoundPython, origin: str) -> Check:
    check = _make_check("pytest", (python.path, "-m", "pytest"), CheckKind.PYTEST, origin)
    return replace(check, python_from=python.where)


def _find_pytest_config(tree: Tree, files: tuple[str, ...]) -> str:
    """Return the file that configures pytest, or ''."""
    tool = find_toml(tree.text("pyproject.toml")).get("tool")
    if isinstance(tool, dict) and "pytest" in tool:
        return "pyproject.toml [tool.pytest]"
    for name, section in _SECTIONS.items():
        if _has_section(tree.text(name), section):
            return f"{name} [{section}]"
    return next((path for path in files if PurePosixPath(path).name == "conftest.py"), "")


def _discovery_options(tests: list[str], files: tuple[str, ...]) -> tuple[str, ...]:
    top, slash, _ = tests[0].partition("/")
    if not slash or not top:
        return ()
    return ("-s", top, "-t", ".") if f"{top}/__init__.py" in files else ("-s", top)


def _detect_manifests(tree: Tree, files: tuple[str, ...]) -> Iterator[Check]:
    """Yield the checks of languages whose manifest defines how to test."""
    script = read_package_scripts(tree).get("test", "")
    if script and _PLACEHOLDER not in script:
        manager = find_package_manager(files)
        yield from _check_if_installed("npm", (manager, "test"), "package.json scripts.test")
    if "Cargo.toml" in files:
        yield from _check_if_installed("cargo", ("cargo", "test"), "Cargo.toml")
    if "go.mod" in files:
        yield from _check_if_installed("go", ("go", "test", "./..."), "go.mod")


def find_package_manager(files: Sequence[str]) -> str:
    return next((tool for tool, lock in _LOCKS.items() if lock in files), "npm")


def _detect_indirect(tree: Tree, files: tuple[str, ...]) -> Iterator[Check]:
    if _has_section(tree.text("tox.ini"), "tox") or "tox.toml" in files:
        yield from _check_if_installed("tox", ("tox",), "tox.ini")
    elif "noxfile.py" in files:
        yield from _check_if_installed("nox", ("nox",), "noxfile.py")
    else:
        makefiles = ("GNUmakefile", "makefile", "Makefile")
        name = next((name for name in makefiles if _has_test_target(tree.text(name))), "")
        if name:
            yield from _check_if_installed("make", ("make", "test"), f"{name}: test")


def _check_if_installed(name: str, command: tuple[str, ...], origin: str) -> Iterator[Check]:
    if which_any(command[0]):
        yield _make_check(name, command, CheckKind.PLAIN, origin)


def _make_check(name: str, command: tuple[str, ...], kind: CheckKind, origin: str) -> Check:
    return Check(name=name, command=command, kind=kind, origin=f"detected by {origin}")


def is_test(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith(".py") and (
        name.startswith("test_") or name.endswith("_test.py") or name == "tests.py"
    )


def _has_test_target(text: str | None) -> bool:
    return any(line.startswith(("test:", "test :")) for line in (text or "").splitlines())


def _has_section(text: str | None, section: str) -> bool:
    return find_ini(text).has_section(section)
