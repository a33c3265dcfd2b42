"""The settings file that `punchlist init` writes; it sets only the checks."""

from punchlist.model.checks.check import Check

_TEXT = """\
# Settings of punchlist for this repository. They count as they are on the base commit, once a
person
# has allowed them (`punchlist allow`). `punchlist doctor --settings` lists every setting.

# workflow = "proven"

# [analyzers]
# enabled = ["ruff", "bandit"]      # default: all that come along or are found
# select = ["E", "F", "B", "S"]     # ruff's rules, instead of the project's own

# [limits]
# time = 1800                       # seconds for a whole run
# width = 2                         # actions side by side
"""

_NONE = """
# The checks that must stay green. None was found here.
# [[checks]]
# name = "tests"
# command = ["python", "-m", "pytest"]
# kind = "pytest"                   # pytest, unittest, junit or plain
"""


def render_template(checks: tuple[Check, ...]) -> str:
    if not checks:
        return _TEXT + _NONE
    return (
        _TEXT
        + "\n# The checks that must stay green, as they were found here.\n"
        + "\n".join(_render_check(check) for check in checks)
    )


def _render_check(check: Check) -> str:
    command = ", ".join(_quote_text(part) for part in check.command)
    return (
        f"[[checks]]\nname = {_quote_text(check.name)}\ncommand = [{command}]\nkind ="
        f" {_quote_text(check.kind)}\n"
    )


def _quote_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
