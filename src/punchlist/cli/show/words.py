"""Text of others as a terminal shows it."""

import re
from pathlib import Path

from punchlist.model.finding.finding import Finding
from punchlist.views import words

# A title comes from the repository under review: it must not move the cursor, hide text or turn it
# around.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def safe(text: str) -> str:
    """Text that shows itself instead of steering the terminal; line ends and tabs stay."""
    return _UNSAFE.sub(_escaped, text)


def one_line(text: str) -> str:
    return safe(" ".join(text.split()))


def homely(path: str) -> str:
    """A path as a person would type it: what is below the home folder begins with ~."""
    try:
        inside = Path(path).relative_to(Path.home())
    except (ValueError, RuntimeError):  # it is elsewhere, or nobody knows where home is
        return one_line(path)
    return one_line(f"~/{inside}")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def place(finding: Finding) -> str:
    return one_line(words.place(finding))


def headline(finding: Finding) -> str:
    return one_line(words.headline(finding))
