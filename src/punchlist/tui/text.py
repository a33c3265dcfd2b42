"""Text on the screen: what others wrote shows itself, and neither styles anything nor steers the
terminal.
"""

from collections.abc import Iterable

from textual.content import Content

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.ledger.timeline import Tone
from punchlist.views import words
from punchlist.views.escaping import one_line, visible

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
    """One line. All text comes in here or in `block`, so that none can come in unseen."""
    return Content.assemble(*(_safe(part) for part in parts))


def block(text: str, indent: str = "", style: str = "") -> list[Content]:
    """Several lines, each set in."""
    return [line(indent, (each, style)) for each in visible(text).expandtabs(_TAB).splitlines()]


def page(lines: Iterable[Content]) -> Content:
    return Content("\n").join(lines)


def _safe(part: Part) -> Part:
    text, style = (part, "") if isinstance(part, str) else part
    return " ".join(visible(text).expandtabs(_TAB).splitlines()), style


def fitted(text: str, width: int, *, tail: bool = False) -> str:
    """Exactly so wide, as far as letters are one column wide; of what is too long the beginning
    stays, or the end.
    """
    if len(text) <= width:
        return text.ljust(width)
    return f"…{text[len(text) - width + 1 :]}" if tail else f"{text[: width - 1]}…"


def where(finding: Finding) -> str:
    return one_line(words.place(finding))


def headline(finding: Finding) -> str:
    return one_line(words.headline(finding))
