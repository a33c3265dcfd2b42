"""Why a check could not run any test, read from its output, and what a user can do about it."""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

_CAUSES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:E\s+)?((?:ModuleNotFoundError|ImportError): (?!Failed to import test).+)$",
        r"^\S*: (No module named \S+)$",
        r"^(?:E\s+)?\s*((?:Error(?: \[\w+\])?: )?Cannot find (?:module|package) .+)$",
        r"((?:error: )?unrecognized arguments: .+)$",
        r"^E\s+(fixture '.+' not found)$",
        r"^(?:\S+: )*((?:line )?(?:\d+: )?\S+: (?:command )?not found)$",
        r"^(?:E\s+)?((?:[a-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception)(?::.*)?)$",
        r"^E\s+(assert .+)$",
    )
)
"""The most telling first: what is not installed comes before what failed because of it."""
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?")
_PYTHON_LACKS = re.compile(r"No module named|ImportError|unrecognized arg|fixture '")
_NODE_LACKS = re.compile(r"Cannot find (?:module|package)")
_NO_PROGRAM = re.compile(r"not found$")
_LONGEST = 300


def find_cause(output: str) -> str:
    """Return the last line of the most telling kind of error in the output, or ''."""
    for pattern in _CAUSES:
        found = pattern.findall(output)
        if found:
            return " ".join(found[-1].split())[:_LONGEST]
    return ""


def find_python(command: Sequence[str]) -> str:
    """Return the Python that the command names, or ''."""
    return next((part for part in command[:1] if _PYTHON.fullmatch(PurePosixPath(part).name)), "")


def suggest_remedy(cause: str, command: Sequence[str]) -> str:
    """Return what a user can do so that the check can judge."""
    python = find_python(command)
    if _PYTHON_LACKS.search(cause):
        pip = f"{shlex.quote(python)} -m pip" if python else "pip"
        return (
            "install the project and what its tests need into the Python that runs them, for"
            f" example `{pip} install -e .`; punchlist prefers the Python of a .venv folder in"
            " your checkout"
        )
    if _NODE_LACKS.search(cause):
        return "install the project's packages in your checkout, for example `npm ci`"
    if _NO_PROGRAM.search(cause):
        return "install the program that is missing"
    return (
        f"see what `{shlex.join(command)}` says in your checkout, or name a check that passes"
        " there ([[checks]] in the settings)"
    )
