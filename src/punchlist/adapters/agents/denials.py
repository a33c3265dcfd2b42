"""Tool calls that an agent's own program refused to run."""

import re

_REFUSED = re.compile(
    r"denied by policy|(?:haven't|not) granted|permission to use|(?:rejected|denied|declined)"
    r" (?:permission|by)|user (?:has )?(?:rejected|denied|declined)|rule which prevents|not allowed"
    r"|require[sd]? approval|declined",
    re.IGNORECASE,
)
_LONGEST = 120


def name_call(tool: str, target: str) -> str:
    """Return a tool call in one line: its name, and the file or command."""
    return " ".join(f"{tool} {target}".split())[:_LONGEST]


def find_denial(tool: str, target: str, why: str) -> str:
    """Return the call if it failed because the program refused it, else ''."""
    return name_call(tool, target) if _REFUSED.search(why) else ""
