"""Why a check could not run any test, read from its output, and what a user can do about it."""

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from punchlist.model.checks.check import Check
from punchlist.model.finding.late_pattern import late_pattern

_CAUSES = (
    r"^(?:E\s+)?((?:ModuleNotFoundError|ImportError): (?!Failed to import test).+)$",
    r"^\S*: (No module named \S+)$",
    r"^(?:E\s+)?\s*((?:Error(?: \[\w+\])?: )?Cannot find (?:module|package) .+)$",
    r"((?:error: )?unrecognized arguments: .+)$",
    r"^E\s+(fixture '.+' not found)$",
    r"^(?:\S+: )*((?:line )?(?:\d+: )?\S+: (?:command )?not found)$",
    r"^(?:E\s+)?((?:[a-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception)(?::.*)?)$",
    r"^E\s+(assert .+)$",
)
"""The most telling first: what is not installed comes before what failed because of it."""
SETUP_MAKES = "`punchlist setup` makes"
MADE_BY_SETUP = "made by `punchlist setup`"
_PYTHON = late_pattern(r"(?:python|pypy)[\d.]*t?")
_PYTHON_LACKS = late_pattern(r"No module named|ImportError|unrecognized arg|fixture '")
_NODE_LACKS = late_pattern(r"Cannot find (?:module|package)")
_NO_PROGRAM = late_pattern(r"not found$")
_COLOUR = late_pattern(r"\x1b\[[0-9;]*m")
_LONGEST = 300


_NESTED = "During handling of the above exception, another exception occurred"
_NO_FIXTURE = late_pattern(r"fixture '\w+' not found")
_NO_MODULE = late_pattern(r"ModuleNotFoundError: No module named '(\w+)")
_NO_FILE = late_pattern(r"FileNotFoundError: \[Errno 2\] [^:\n]*: '([^'\n]+)'")
_UNREACHABLE = late_pattern(
    r"gaierror|getaddrinfo (?:failed|ENOTFOUND|EAI_AGAIN)|Name or service not known|nodename nor"
    r" servname|Temporary failure in name resolution|Network is unreachable|No route to host"
    r"|Failed to resolve '|ENETUNREACH"
)
_STARTS_PROGRAM = "_execute_child"


def find_outside_cause(
    failure: str, is_own: Callable[[str], bool], is_test_file: Callable[[str], bool]
) -> str:
    """Return what is missing around the code so that a test fails, whatever the code does, or ''.

    `is_own`: whether the project has a module of this name. `is_test_file`: whether a path is one
    of the files that belong to the tests.
    """
    last = failure.rpartition(_NESTED)[2]
    if _NO_FIXTURE.search(last):
        return "a fixture is not installed"
    if any(not is_own(name) for name in _NO_MODULE.findall(last)):
        return "a module is not installed"
    if _UNREACHABLE.search(last):
        return "the network cannot be reached from here"
    for path in _NO_FILE.findall(last):
        if _STARTS_PROGRAM in last and "/" not in path:
            return "a program is not installed"
        if is_test_file(path):
            return "a file of the tests is missing"
    return ""


def find_cause(output: str) -> str:
    """Return the last line of the most telling kind of error in the output, or ''."""
    plain = _COLOUR.sub("", output)
    for pattern in _CAUSES:
        found = re.findall(pattern, plain, re.MULTILINE)
        if found:
            return " ".join(found[-1].split())[:_LONGEST]
    return ""


def find_lack(output: str) -> str:
    """Return the line that names a Python package which is not installed, or ''."""
    cause = find_cause(output)
    return cause if "No module named" in cause else ""


def find_python(command: Sequence[str]) -> str:
    """Return the Python that the command names, or ''."""
    return next((part for part in command[:1] if _PYTHON.fullmatch(PurePosixPath(part).name)), "")


def could_set_up(check: Check) -> bool:
    """Return whether `punchlist setup` could give the check another Python: punchlist chose it."""
    return bool(check.python_from) and check.python_from != MADE_BY_SETUP


def lacks_package(cause: str) -> bool:
    """Return whether the cause is that a Python package is not installed."""
    return _PYTHON_LACKS.search(cause) is not None


def suggest_remedy(cause: str, check: Check) -> str:
    """Return what a user can do so that the check can judge."""
    python = find_python(check.command)
    if lacks_package(cause) and could_set_up(check):
        return f"{SETUP_MAKES} an environment for it outside your checkout (--show: how)"
    if lacks_package(cause) and check.python_from:
        return "name what is missing in the project's files, then `punchlist setup` again"
    if lacks_package(cause):
        pip = f"{shlex.quote(python)} -m pip" if python else "pip"
        return (
            "install the project and what its tests need into the Python that runs them:"
            f" `{pip} install -e .`"
        )
    if _NODE_LACKS.search(cause):
        return "install the project's packages in your checkout, for example `npm ci`"
    if _NO_PROGRAM.search(cause):
        return "install the program that is missing"
    return (
        f"see what `{shlex.join(check.command)}` says in your checkout, or name a check that passes"
        " there ([[checks]] in the settings)"
    )
