"""Classify agents' errors by their error channel; the text of an answer is never used."""

import re

from punchlist.adapters.process.run import ProcessResult
from punchlist.ports.agent import AgentTrouble

STATUSES = {
    401: AgentTrouble.AUTH,
    402: AgentTrouble.LIMIT,
    403: AgentTrouble.AUTH,
    413: AgentTrouble.TOO_LONG,
    429: AgentTrouble.RATE_LIMIT,
    **dict.fromkeys((408, 500, 502, 503, 504, 529), AgentTrouble.OVERLOADED),
}
"""HTTP status codes, which agents pass on."""

_PATTERNS = {
    AgentTrouble.TOO_LONG: (
        r"too long|context[_ ](length|window)|maximum context|exceeds the maximum|too large"
    ),
    AgentTrouble.CUT: (
        r"stream (disconnected|ended|closed)|decoding response|terminated|socket|econnreset"
        r"|connection (dropped|reset)"
    ),
    AgentTrouble.OVERLOADED: (
        r"overloaded|over capacity|service unavailable|server error|high demand"
    ),
    AgentTrouble.RATE_LIMIT: (
        r"rate.?limit|too many requests|usage limit|quota|resource.?exhausted"
    ),
    AgentTrouble.AUTH: (
        r"unauthori[sz]ed|not logged in|api.?key|authenticat|forbidden|credential|permission_denied"
    ),
    AgentTrouble.LIMIT: r"max(imum)?[_ ]turns|turn limit|budget|max[_ ]session",
}
_WORDS = {trouble: re.compile(text, re.IGNORECASE) for trouble, text in _PATTERNS.items()}
_STATUS = re.compile(
    r"(?:status(?:[ _]?code)?|last status|error|http)\D{0,12}?\b([45]\d\d)\b", re.IGNORECASE
)
_AFTER = re.compile(
    r"(?:retry|try again)[ -]?(?:after|in)\D{0,4}(\d+(?:\.\d+)?) ?(ms|s\b|sec|m\b|min)?",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "m": 60, "min": 60}
_LONGEST = 4000
_SHOWN = 500


def classify_error(message: str, status: int = 0) -> AgentTrouble:
    """Return the kind of trouble by the given status, a status in the message, or its words."""
    message = message[:_LONGEST]
    if status in STATUSES:
        return STATUSES[status]
    for found in _STATUS.finditer(message):
        if (code := int(found[1])) in STATUSES:
            return STATUSES[code]
    for trouble, words in _WORDS.items():
        if words.search(message):
            return trouble
    return AgentTrouble.OTHER


def parse_retry_delay(message: str) -> float:
    """Return the seconds to wait that the message names, or 0."""
    found = _AFTER.search(message[:_LONGEST])
    return float(found[1]) * _UNITS.get(found[2] or "s", 1) if found else 0


def classify_child(ran: ProcessResult) -> AgentTrouble:
    """Return why a child that failed to start or was killed gives no answer."""
    if ran.missing:
        return AgentTrouble.MISSING
    if ran.late:
        return AgentTrouble.TIMEOUT
    if ran.silent:
        return AgentTrouble.SILENT
    if ran.stopped:
        return AgentTrouble.LIMIT
    return AgentTrouble.CRASHED if ran.signalled else AgentTrouble.OTHER


def explain_no_result(ran: ProcessResult) -> tuple[str, AgentTrouble]:
    """Return failure text (with the end of stderr) and trouble of a child without a result."""
    if ran.exit_code == 0:
        return "it ended without a result", AgentTrouble.CUT
    failed = f"it ended with code {ran.exit_code} and without a result"
    errors = ran.stderr[-_LONGEST:].decode(errors="replace").strip()
    if not errors:
        return failed, AgentTrouble.CUT
    trouble = classify_error(errors)
    if trouble is AgentTrouble.OTHER:
        trouble = AgentTrouble.CRASHED
    return f"{failed}: {errors[-_SHOWN:]}", trouble


def explain_exit(ran: ProcessResult) -> tuple[str, AgentTrouble | None]:
    """Return failure text and trouble of a child after a good result; ("", None) for code 0."""
    if ran.exit_code == 0:
        return "", None
    return f"it ended with code {ran.exit_code} after its result", AgentTrouble.CRASHED
