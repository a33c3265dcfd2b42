"""Reasons that a fixer may not give instead of a fix, one pattern a line in weak_excuses.txt."""

import re
from functools import cache
from pathlib import Path


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    lines = Path(__file__).with_name("weak_excuses.txt").read_text("utf-8").splitlines()
    return tuple(map(re.compile, lines))


def find_excuse(reason: str) -> str:
    """Return the words that make a reason weak, or "". No reason is weak, too."""
    plain = " ".join(reason.casefold().replace("\u2019", "'").split())
    if not plain:
        return "no reason was given"
    found = (pattern.search(plain) for pattern in _patterns())
    return next((match[0] for match in found if match), "")
