"""Classify agents' errors by their error channel; the text of an answer is never used."""

import re
from types import MappingProxyType

from punchlist.adapters.process.run import ProcessResult
from punchlist.ports.agent import AgentTrouble

STATUSES = MappingProxyType(
    {
        401: AgentTrouble.AUTH,
        402: AgentTrouble.LIMIT,
        403: AgentTrouble.AUTH,
        408: AgentTrouble.OVERLOADED,
        413: AgentTrouble.TOO_LONG,
        429: AgentTrouble.RATE_LIMIT,
        500: AgentTrouble.OVERLOADED,
        502: AgentTrouble.OVERLOADED,
        503: AgentTrouble.OVERLOADED,
        504: AgentTrouble.OVERLOADED,
        529: AgentTrouble.OVERLOADED,
    }
)
"""What HTTP says; the agents pass it on."""

_WORDS = tuple(
    (re.compile(pattern, re.IGNORECASE), trouble)
    for pattern, trouble in (
        (
            r"too long|context[_ ](length|window)|maximum context|exceeds the maximum|too large",
            AgentTrouble.TOO_LONG,
        ),
        (
            (
                r"stream (disconnected|ended|closed)|decoding"
                r" response|terminated|socket|econnreset|connection (dropped|reset)"
            ),
            AgentTrouble.CUT,
        ),
        (
            r"overloaded|over capacity|service unavailable|server error|high demand",
            AgentTrouble.OVERLOADED,
        ),
        (
            r"rate.?limit|too many requests|usage limit|quota|resource.?exhausted",
            AgentTrouble.RATE_LIMIT,
        ),
        (
            (
                r"unauthori[sz]ed|not logged"
                r" in|api.?key|authenticat|forbidden|credential|permission_denied"
            ),
            AgentTrouble.AUTH,
        ),
        (r"max(imum)?[_ ]turns|turn limit|budget|max[_ ]session", AgentTrouble.LIMIT),
    )
)
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
    return next((trouble for words, trouble in _WORDS if words.search(message)), AgentTrouble.OTHER)


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
    return AgentTrouble.CRASHED if ran.signalled else AgentTrouble.OTHER


def explain_no_result(ran: ProcessResult) -> tuple[str, AgentTrouble]:
    """Return the failure text and trouble of a child that ended without a result, with the end of
    its stderr.
    """
    said = ran.stderr[-_LONGEST:].decode(errors="replace").strip()
    end = (
        "it ended without a result"
        if ran.exit_code == 0
        else f"it ended with code {ran.exit_code} and without a result"
    )
    if not said or ran.exit_code == 0:
        return end, AgentTrouble.CUT
    trouble = classify_error(said)
    return (
        f"{end}: {said[-_SHOWN:]}",
        AgentTrouble.CRASHED if trouble is AgentTrouble.OTHER else trouble,
    )
