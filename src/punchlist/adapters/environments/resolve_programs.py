"""Find the programs that checks name without a path: `python` is the project's own Python."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.environments.find_pythons import (
    SHARED,
    FoundPython,
    ProjectPlace,
    find_python_with,
    find_pythons,
)
from punchlist.adapters.folders.look import is_file
from punchlist.adapters.process.programs import which_any
from punchlist.model.checks.check import Check
from punchlist.ports.tree import Tree

_PYTHONS = ("python", "python3")


def names_program(check: Check) -> bool:
    """Return whether the check names a program without a path."""
    return bool(check.command) and "/" not in check.command[0]


async def resolve_programs(
    checks: Iterable[Check], tree: Tree, place: ProjectPlace
) -> tuple[Check, ...]:
    """Return the checks with the project's Python for `python`, and with programs of its
    environment before those on PATH, so that a settings file can be the same on every machine.
    """
    pythons = await find_pythons(place, tree.text)
    found = []
    for check in checks:
        if names_program(check) and check.command[0] in _PYTHONS and pythons:
            found.append(_choose_python(check, pythons))
        elif names_program(check):
            command, repair = (
                _find_beside(each, pythons) for each in (check.command, check.repair)
            )
            found.append(replace(check, command=command, repair=repair))
        else:
            found.append(check)
    return tuple(found)


def _choose_python(check: Check, pythons: Sequence[FoundPython]) -> Check:
    """Return the check with the first Python that has the module it runs, or with the first."""
    module = check.command[2] if check.command[1:2] == ("-m",) and check.command[2:] else "sys"
    python = find_python_with(pythons, module) or pythons[0]
    return replace(check, command=(python.path, *check.command[1:]), python_from=python.where)


def _find_beside(command: tuple[str, ...], pythons: Sequence[FoundPython]) -> tuple[str, ...]:
    """Return the command with the program that the project's environment has, if any; what lies
    beside other Pythons comes after PATH.
    """
    if not command or "/" in command[0]:
        return command
    usable = (each for each in pythons if each.where not in SHARED or which_any(command[0]) is None)
    beside = (Path(each.path).parent / command[0] for each in usable)
    program = next((str(path) for path in beside if is_file(path)), command[0])
    return (program, *command[1:])
