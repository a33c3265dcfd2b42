"""Format words, numbers and addresses for the pages."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.code.highlight import Token, highlight_lines
from punchlist.views.escaping import escape_controls, one_line, web_address
from punchlist.views.html_view import CodeLine
from punchlist.views.item_words import PROOF_WORDS
from punchlist.views.run_state import State, describe_state
from punchlist.views.tables.trends import describe_cost
from punchlist.views.words import format_age, format_cost, format_dollars, format_duration

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_DIGITS = 6
STATUSES = {
    Status.OPEN: ("○", "Open", "not fixed yet"),
    Status.CLAIMED: ("◐", "Claimed", "a fixer says it is fixed; not proven yet"),
    Status.DEFERRED: ("↷", "Deferred", "put off, with a reason"),
    Status.BLOCKED: ("⊘", "Blocked", "cannot be fixed by this run"),
    Status.FIXED: ("✓", "Fixed", "committed, with the proof that its workflow asks for"),
    Status.FILED: ("▤", "Filed", "an issue with its history"),
    Status.DISMISSED: ("✕", "Dismissed", "a user said that it needs no work"),
}
"""By status: a sign, its name, and what it means; colour only repeats them."""
SEVERITIES = {Severity.CRITICAL: "▲", Severity.MAJOR: "◆", Severity.MINOR: "▪"}
STATES = {
    State.UNDER_WAY: "●",
    State.WAITING: "?",
    State.STOPPED: "❚❚",
    State.KILLED: "❚❚",
    State.QUEUED: "❚❚",
    State.ENDED: "■",
}
TONES = {"good": "✓", "done": "✓", "plain": "✕", "warn": "!", "bad": "✗"}


def parse_page(text: str) -> int:
    """Return a page number from a query, or 1 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else 1


def link(address: str, /, **query: Any) -> str:
    """Return the address with the query's values that are not empty."""
    given = [(key, value) for key, value in query.items() if value not in ("", None)]
    text = urlencode(given, errors="replace")
    return f"{address}?{text}" if text else address


def format_code(text: str) -> Markup:
    parts = _CODE.split(escape_controls(text))
    code = Markup("<code>{}</code>")
    return Markup("").join(
        code.format(part) if index % 2 else part for index, part in enumerate(parts)
    )


def _time_format(pattern: str) -> Callable[[float], str]:
    return lambda at: datetime.fromtimestamp(at, UTC).strftime(pattern)


def machine_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def format_tokens(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:,.1f}k" if number < 1_000_000 else f"{number / 1_000_000:,.1f}M"


def highlight_code(
    lines: Sequence[CodeLine], path: str
) -> Iterator[tuple[str, int | None, tuple[Token, ...], str]]:
    """Yield kind, number, tokens and tail of each line; the templates escape the tokens."""
    tokens = highlight_lines(path, (line.text for line in lines))
    for line, parts in zip(lines, tokens, strict=True):
        yield line.kind, line.number, parts, line.tail


FILTERS: dict[str, Callable[..., Any]] = {
    "ago": format_age,
    "amount": pluralize,
    "clock": _time_format("%Y-%m-%d %H:%M:%S UTC"),
    "day": _time_format("%Y-%m-%d"),
    "time_of_day": _time_format("%H:%M:%S"),
    "machine_time": machine_time,
    "duration": format_duration,
    "cost": format_cost,
    "dollars": format_dollars,
    "tokens": format_tokens,
    "ticked": format_code,
    "one_line": one_line,
    "web_address": web_address,
    "status_sign": lambda status: STATUSES[Status(status)][0],
    "status_name": lambda status: STATUSES[Status(status)][1],
    "status_about": lambda status: STATUSES[Status(status)][2],
    "severity_sign": lambda severity: SEVERITIES[Severity(severity)],
    "proof_words": lambda kind: PROOF_WORDS[ProofClass(kind)][0],
    "proof_about": lambda kind: PROOF_WORDS[ProofClass(kind)][1],
    "state_sign": lambda state: STATES[state],
    "state_words": describe_state,
    "highlighted": highlight_code,
    "trend_cost": describe_cost,
    "tone_sign": lambda tone: TONES[tone],
}
