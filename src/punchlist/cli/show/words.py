"""Words and numbers as people read them; the same everywhere."""

import re
from pathlib import Path

from punchlist.model.finding.finding import Finding

_MINUTE = 60
_HOUR = 3600
_DAY = 86400
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


def count(number: int, thing: str, things: str = "") -> str:
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def duration(seconds: float) -> str:
    """3s, 1:05, 2:03:09."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    minutes, rest = divmod(whole, _MINUTE)
    return (
        f"{minutes}:{rest:02}" if whole < _HOUR else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
    )


def ago(seconds: float) -> str:
    for size, name in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), name)} ago"
    return "just now"


def place(finding: Finding) -> str:
    """path:line, as editors and terminals link it."""
    path = safe(finding.spot.path) or "(no file)"
    return f"{path}:{finding.spot.line}" if finding.spot.line else path


def headline(finding: Finding) -> str:
    return one_line(
        f"{finding.rule} {finding.title}"
        if finding.rule and finding.rule not in finding.title
        else finding.title
    )
