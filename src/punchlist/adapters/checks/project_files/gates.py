"""Linters and formatters that a project runs, as commands that change no file."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.checks.project_files.command_lines import Tool
from punchlist.adapters.folders.look import path_exists
from punchlist.adapters.process.programs import which_any


class _Gate(Struct, frozen=True):
    """`writes`: options that make it change files. `check`: what makes it only look, unless one of
    `looks` does.
    """

    writes: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    formats: bool = False
    """Whether it can make itself green, and changes nothing but the layout."""


_READER = _Gate()
_GATES: dict[str, _Gate] = {
    **dict.fromkeys(
        """flake8 pycodestyle pyflakes pylint pydocstyle mypy pyright basedpyright codespell doc8
        interrogate vulture bandit rstcheck shellcheck yamllint standard xo markdownlint""".split(),
        _READER,
    ),
    "black": _Gate(check=("--check",), looks=("--check",), formats=True),
    "isort": _Gate(check=("--check-only",), looks=("--check", "--check-only", "-c"), formats=True),
    "ruff check": _Gate(writes=("--fix", "--fix-only", "--unsafe-fixes", "--exit-zero")),
    "ruff format": _Gate(check=("--check",), looks=("--check", "--diff"), formats=True),
    "autopep8": _Gate(
        ("-i", "--in-place"), ("--exit-code", "--diff"), ("--exit-code",), formats=True
    ),
    "yapf": _Gate(("-i", "--in-place"), ("--diff",), ("-d", "--diff"), formats=True),
    "docformatter": _Gate(("-i", "--in-place"), ("--check",), ("-c", "--check"), formats=True),
    "autoflake": _Gate(("-i", "--in-place"), ("--check",), ("-c", "--check", "-cd")),
    "eslint": _Gate(("--fix",)),
    "stylelint": _Gate(("--fix",)),
    "prettier": _Gate(
        ("--write", "-w"), ("--check",), ("-c", "--check", "-l", "--list-different"), formats=True
    ),
    "tsc": _Gate(check=("--noEmit",), looks=("--noEmit",)),
    "biome check": _Gate(("--write", "--apply", "--fix")),
    "biome ci": _READER,
    "biome lint": _Gate(("--write", "--apply", "--fix")),
    "cargo fmt": _Gate(check=("--check",), looks=("--check",), formats=True),
    "cargo clippy": _Gate(("--fix",)),
    "go vet": _READER,
    "golangci-lint run": _Gate(("--fix",)),
}
_VERBS = {name.partition(" ")[0] for name in _GATES if " " in name}
SCRIPTED = frozenset("eslint stylelint prettier tsc biome standard xo markdownlint".split())
"""Tools that a project installs into node_modules."""


class GateCommand(Struct, frozen=True):
    """A gate by name; `missing`: the program that is not installed."""

    name: str
    command: tuple[str, ...] = ()
    repair: tuple[str, ...] = ()
    missing: str = ""


def gate_name(tool: Tool) -> str:
    """Return the name of the gate that a tool is with these arguments, or ''."""
    verb = next((each for each in tool.arguments if not each.startswith("-")), "")
    name = f"{tool.name} {verb}" if tool.name in _VERBS else tool.name
    return name if name in _GATES else ""


def is_known(name: str) -> bool:
    return name in _GATES or name in _VERBS


def would_write(tool: Tool) -> bool:
    """Return whether the tool changes files with the arguments that it is given."""
    gate = _GATES[gate_name(tool)]
    options = {word.partition("=")[0] for word in tool.arguments}
    return not options.isdisjoint(gate.writes) or bool(
        gate.check and options.isdisjoint(gate.looks)
    )


def make_gate(tool: Tool, folders: Sequence[Path]) -> GateCommand:
    """Return the command that only looks; programs are searched in the folders, then on PATH."""
    name = gate_name(tool)
    gate = _GATES[name]
    kept = [word for word in tool.arguments if word.partition("=")[0] not in gate.writes]
    looks = any(word.partition("=")[0] in gate.looks for word in kept)
    at = kept.index(name.partition(" ")[2]) + 1 if " " in name else 0
    words = kept if looks else [*kept[:at], *gate.check, *kept[at:]]
    beside = (folder / tool.name for folder in folders)
    program = next((str(path) for path in beside if path_exists(path)), None) or which_any(
        tool.name
    )
    if program is None:
        return GateCommand(name, missing=tool.name)
    quiet = {*gate.looks, *gate.check, "--diff", "-d"}
    plain = [word for word in kept if word not in quiet]
    repair = (program, *plain[:at], *gate.writes[:1], *plain[at:]) if gate.formats else ()
    return GateCommand(name, (program, *words), repair)
