"""Words and numbers for the terminal."""

import re
from pathlib import Path

from punchlist.model.checks.check import Check
from punchlist.model.finding.finding import Finding
from punchlist.views import words

# A title comes from the repository under review: it must not move the cursor, hide text or turn it
# around.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_text(text: str) -> str:
    """Escape control characters, except line ends and tabs."""
    return _UNSAFE.sub(_escape_char, text)


def _escape_char(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str) -> str:
    return escape_text(" ".join(text.split()))


def shorten_path(path: str) -> str:
    """Return the path with ~ for the home folder."""
    try:
        return one_line(f"~/{Path(path).relative_to(Path.home())}")
    except (ValueError, RuntimeError):  # it is elsewhere, or the home folder is not known
        return one_line(path)


def format_place(finding: Finding) -> str:
    """Return path:line, which editors and terminals link."""
    return one_line(words.place(finding))


def format_headline(finding: Finding) -> str:
    return one_line(words.headline(finding))


def format_check(check: Check) -> str:
    repair = f"; to format: {' '.join(check.repair)}" if check.repair else ""
    return f"{one_line(' '.join(check.command))}   ({one_line(check.origin + repair)})"
