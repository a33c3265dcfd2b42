"""Text for the screen; foreign text can neither style it nor control the terminal."""

from collections.abc import Iterable

from textual.content import Content

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.ledger.timeline import Tone
from punchlist.views import words
from punchlist.views.escaping import escape_controls, one_line

Part = str | tuple[str, str]
"""Text, or text and its style."""
MUTED = "dim"
GOOD = "$text-success"
BAD = "$text-error"
WARNING = "$text-warning"
ACCENT = "$text-primary"
STATUSES = {
    Status.OPEN: WARNING,
    Status.CLAIMED: ACCENT,
    Status.DEFERRED: WARNING,
    Status.BLOCKED: BAD,
    Status.FIXED: GOOD,
    Status.FILED: ACCENT,
    Status.DISMISSED: MUTED,
}
SEVERITIES = {Severity.CRITICAL: f"bold {BAD}", Severity.MAJOR: WARNING, Severity.MINOR: MUTED}
TONES = {Tone.PLAIN: "", Tone.GOOD: GOOD, Tone.BAD: WARNING}
_TAB = 4


def line(*parts: Part) -> Content:
    """Return one line, escaped. All text passes here or through `block`."""
    return Content.assemble(*(_escape_part(part) for part in parts))


def title(text: str) -> Content:
    return line((text, f"bold underline {ACCENT}"))


def block(text: str, indent: str = "", style: str = "") -> list[Content]:
    lines = escape_controls(text).expandtabs(_TAB).splitlines()
    return [line(indent, (each, style)) for each in lines]


def page(lines: Iterable[Content]) -> Content:
    return Content("\n").join(lines)


def _escape_part(part: Part) -> Part:
    text, style = (part, "") if isinstance(part, str) else part
    return " ".join(escape_controls(text).expandtabs(_TAB).splitlines()), style


def fit_text(text: str, width: int, *, tail: bool = False) -> str:
    """Pad or cut to exactly `width` characters; `tail` keeps the end."""
    if len(text) <= width:
        return text.ljust(width)
    return f"…{text[len(text) - width + 1 :]}" if tail else f"{text[: width - 1]}…"


def format_place(finding: Finding) -> str:
    return one_line(words.place(finding))


def format_headline(finding: Finding) -> str:
    return one_line(words.headline(finding))
