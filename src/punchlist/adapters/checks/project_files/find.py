"""Find how a project checks itself: its own arguments of pytest, and the gates it keeps green."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks.detect import detect, find_package_manager, is_test
from punchlist.adapters.checks.project_files.command_lines import (
    UNKNOWN,
    Line,
    Tool,
    Unread,
    parse_line,
)
from punchlist.adapters.checks.project_files.gates import (
    SCRIPTED,
    gate_name,
    is_known,
    make_gate,
    would_write,
)
from punchlist.adapters.checks.project_files.other_files import (
    read_configured,
    read_makefile,
    read_package_scripts,
    read_pre_commit,
    read_workflows,
)
from punchlist.adapters.checks.project_files.pytest_arguments import (
    choose_arguments,
    merge_arguments,
    split_commands,
)
from punchlist.adapters.checks.project_files.python_files import read_nox, read_scripts
from punchlist.adapters.checks.project_files.tox_files import read_tox
from punchlist.adapters.checks.test_runners import EXAMPLE
from punchlist.adapters.environments.find_pythons import ProjectPlace
from punchlist.adapters.folders.look import is_folder
from punchlist.adapters.process.programs import which_any
from punchlist.model.checks.check import Check, CheckKind, FoundChecks
from punchlist.model.checks.protected import Protected
from punchlist.ports.tree import Tree

_READERS = (
    read_tox, read_nox, read_scripts, read_makefile, read_workflows, read_pre_commit,
    read_configured,
)  # fmt: skip
_SECONDS = 600
_MOST = 12
"""Gates of one project, and commands named in one note."""
_LONGEST = 300
_CONFIGURED = ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml")
_RUNS_EXAMPLES = re.compile(r"addopts\s*=\s*\[?[^\[\]]*--doctest-modules")
_INSTALLERS = frozenset(
    """pip uv poetry pdm tox nox hatch make npm pnpm yarn coverage codecov twine build echo cd rm
    mkdir cp mv export set source git sudo apt-get apt curl docker sphinx-build mkdocs""".split()
)
_FROM = ("tox", "nox", "pyproject", "hatch", "setup")
"""How the origins of commands begin that are all named; of other files, only known tools are."""


class _Commands(Struct, frozen=True):
    """What a project runs, by file kind, and what of it was not understood."""

    by_reader: tuple[tuple[Tool, ...], ...]
    unread: tuple[Unread, ...]

    @property
    def tools(self) -> list[Tool]:
        return [tool for tools in self.by_reader for tool in tools]

    def find_pytest(self) -> list[Tool]:
        """Return the pytest commands of the first kind of file that has some."""
        found = ([tool for tool in tools if tool.name == "pytest"] for tools in self.by_reader)
        return next(filter(None, found), [])


async def find_project_checks(
    tree: Tree, place: ProjectPlace, *, gates: bool = True
) -> FoundChecks:
    """Return the checks as the project runs them; the user or a setting must allow them."""
    commands = _read_commands(tree)
    own = commands.find_pytest()
    found = await detect(tree, place, pytest_in=own[0].origin if own else "")
    checks, notes = [], []
    for check in found:
        if check.kind is CheckKind.PYTEST and own:
            given, dropped = _use_own_arguments(check, own, tree)
            notes += dropped
            checks += given
        else:
            checks.append(check)
    if gates:
        doctests, unrun = _find_doctests(checks, tree)
        more, missing = _find_gates(commands, checks, tree, place.checkout)
        checks += [*doctests, *more]
        notes += [*unrun, *missing]
    return FoundChecks(tuple(checks), (*notes, *_name_unread(commands, own)))


def _read_commands(tree: Tree) -> _Commands:
    by_reader: list[tuple[Tool, ...]] = []
    unread: list[Unread] = []
    for read in _READERS:
        parsed = [each for line in read(tree) for each in parse_line(line)]
        by_reader.append(tuple(dict.fromkeys(each for each in parsed if isinstance(each, Tool))))
        unread += [each for each in parsed if isinstance(each, Unread)]
    return _Commands(tuple(by_reader), tuple(unread))


def _use_own_arguments(
    check: Check, own: Sequence[Tool], tree: Tree
) -> tuple[list[Check], list[str]]:
    """Return the check with the project's arguments, once for each group of commands that can be
    merged, and a note on those that were left out.
    """
    files = tuple(tree.files())
    names = (path for path in files if PurePosixPath(path).name == "conftest.py")
    options = "".join(tree.text(path) or "" for path in names)
    chosen = [choose_arguments(tool, files, options) for tool in own]
    tests = [path for path in files if is_test(path)]
    python, *pytest = check.command
    start = (python, *own[0].python, *pytest)
    groups = split_commands(chosen, tests)
    commands = dict.fromkeys((*start, *merge_arguments(each, tests)) for each in groups)
    origins = ", ".join(dict.fromkeys(tool.origin for tool in own))
    dropped = dict.fromkeys(word for each in chosen for word in each.dropped)
    note = f"pytest runs without {' '.join(dropped)} of {origins}: no such option or path is known"
    checks = [
        replace(
            check,
            name=f"{check.name} #{number}" if number > 1 else check.name,
            command=command,
            origin=f"arguments of {origins}",
        )
        for number, command in enumerate(commands, 1)
    ]
    return checks, [note] * bool(dropped)


def _find_doctests(checks: Sequence[Check], tree: Tree) -> tuple[list[Check], list[str]]:
    """Return a check of the examples in docstrings, unless the project's own check runs them, or a
    note that they are left out.
    """
    own = [each for each in checks if each.kind is CheckKind.PYTEST]
    check = next(iter(own), None)
    texts = (tree.text(name) or "" for name in _CONFIGURED)
    if any(map(_RUNS_EXAMPLES.search, texts)) or any(
        "--doctest-modules" in each.command for each in own
    ):
        return [], []
    tests = Protected()
    modules = (path for path in tree.files() if path.endswith(".py") and not tests.holds(path))
    first = next((path for path in modules if EXAMPLE.search(tree.text(path) or "")), "")
    if not first:
        return [], []
    examples = f"examples in docstrings, such as {first}"
    if check is None:
        return [], [f"{examples}, are not run: no pytest was found for this project"]
    command = (*check.command[: check.command.index("pytest") + 1], "--doctest-modules")
    doctest = Check(
        name="doctest", command=command, kind=CheckKind.DOCTEST, timeout=_SECONDS, origin=examples
    )
    return [doctest], []


def _find_gates(
    commands: _Commands, checks: Sequence[Check], tree: Tree, checkout: Path
) -> tuple[list[Check], list[str]]:
    """Return the gates of the first kind of file that has each, and notes on missing programs."""
    pythons = [check.command[0] for check in checks if check.kind is not CheckKind.PLAIN]
    folders = [Path(python).parent for python in (*pythons, sys.executable)]
    modules = checkout / "node_modules/.bin"
    found: dict[tuple[str, ...], Check] = {}
    notes: dict[str, None] = {}
    seen: set[str] = set()
    for tools in commands.by_reader:
        here = [tool for tool in tools if gate_name(tool) and gate_name(tool) not in seen]
        seen |= {gate_name(tool) for tool in here}
        for tool in here:
            gate = make_gate(tool, [modules] if tool.name in SCRIPTED else folders)
            if gate.missing:
                why = f"is not run: {gate.missing} is not installed"
                notes[f"`{tool.text}` ({tool.origin}) {why}"] = None
            elif gate.command not in found and len(found) < _MOST:
                check = _make_check(gate.name, gate.command, tool.origin, found)
                found[gate.command] = replace(check, repair=gate.repair, given=tool.given)
    for name, text in read_package_scripts(tree).items():
        command = _choose_script(name, text, seen, tree)
        if command and is_folder(modules):
            found[command] = _make_check(name, command, f"package.json scripts.{name}", found)
        elif command:
            notes[f"`{text}` (package.json scripts.{name}) is not run: no node_modules"] = None
    return list(found.values()), _shorten(notes)


def _make_check(
    name: str, command: tuple[str, ...], origin: str, known: dict[tuple[str, ...], Check]
) -> Check:
    taken = sum(each.name.partition(" #")[0] == name for each in known.values())
    return Check(
        name=f"{name} #{taken + 1}" if taken else name,
        command=command,
        kind=CheckKind.GATE,
        timeout=_SECONDS,
        origin=origin,
    )


def _choose_script(name: str, text: str, seen: set[str], tree: Tree) -> tuple[str, ...]:
    """Return the command of a package.json script that is only gates, none of them found before."""
    parsed = list(parse_line(Line(text, "package.json")))
    tools = [each for each in parsed if isinstance(each, Tool) and gate_name(each)]
    new = any(gate_name(tool) not in seen for tool in tools)
    if not tools or len(tools) < len(parsed) or not new or any(map(would_write, tools)):
        return ()
    seen |= {gate_name(tool) for tool in tools}
    manager = find_package_manager(tree.files())
    return (manager, "run", name) if which_any(manager) else ()


def _name_unread(commands: _Commands, own: Sequence[Tool]) -> Iterator[str]:
    """Yield notes on commands that are not run."""
    unread = [
        f"`{each.text.replace(UNKNOWN, '...')}` ({each.origin}) is not run: {each.why}"
        for each in commands.unread
        if any(_is_judge(PurePosixPath(word).name) for word in each.text.split())
    ]
    others = [
        f"{tool.text} ({tool.origin})"
        for tool in commands.tools
        if tool not in own
        and not gate_name(tool)
        and tool.name not in (*_INSTALLERS, "unittest")
        and tool.origin.startswith(_FROM)
    ]
    yield from _shorten(unread)
    if others:
        yield f"not run of the project's own commands: {'; '.join(_shorten(others))}"


def _is_judge(name: str) -> bool:
    return is_known(name) or name in ("pytest", "py.test")


def _shorten(texts: Iterable[str]) -> list[str]:
    """Return the texts once each, and how many more there are."""
    known = list(dict.fromkeys(text[:_LONGEST] for text in texts))
    return known[:_MOST] + [f"{len(known) - _MOST} more"] * (len(known) > _MOST)
