"""Words, numbers and addresses as pages show them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.timeline import amount
from punchlist.views.escaping import one_line, visible, web_address
from punchlist.views.item_words import PROOF_WORDS
from punchlist.views.run_state import State, describe_state
from punchlist.views.words import ago, dollars, duration

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
    State.ENDED: "■",
}
OUTCOMES = {"clean": "✓", "fixed": "✓", "dismissed": "✕", "leftovers": "!", "incomplete": "✗"}


def number(text: str) -> int:
    """A page's number out of an address; what is none is the first."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else 1


def link(address: str, /, **query: Any) -> str:
    """An address with what of the query says something."""
    said = urlencode([(key, value) for key, value in query.items() if value not in ("", None)])
    return f"{address}?{said}" if said else address


def ticked(text: str) -> Markup:
    """Text with what stands in backticks as code."""
    parts = _CODE.split(visible(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if odd % 2 else part
        for odd, part in enumerate(parts)
    )


def clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def time_of_day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def machine_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def tokens(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:,.1f}k" if number < 1_000_000 else f"{number / 1_000_000:,.1f}M"


FILTERS: dict[str, Callable[..., Any]] = {
    "ago": ago,
    "amount": amount,
    "clock": clock,
    "day": day,
    "time_of_day": time_of_day,
    "machine_time": machine_time,
    "duration": duration,
    "dollars": dollars,
    "tokens": tokens,
    "ticked": ticked,
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
    "outcome_sign": lambda outcome: OUTCOMES.get(outcome, ""),
}
