"""Which kind of trouble an agent's error channel tells of; words in an answer never come here."""

import re
from types import MappingProxyType

from punchlist.adapters.process.run import Ran
from punchlist.ports.agent import Trouble

STATUSES = MappingProxyType(
    {
        401: Trouble.AUTH,
        402: Trouble.LIMIT,
        403: Trouble.AUTH,
        408: Trouble.OVERLOADED,
        413: Trouble.TOO_LONG,
        429: Trouble.RATE_LIMIT,
        500: Trouble.OVERLOADED,
        502: Trouble.OVERLOADED,
        503: Trouble.OVERLOADED,
        504: Trouble.OVERLOADED,
        529: Trouble.OVERLOADED,
    }
)
"""What HTTP says; the agents pass it on."""

_WORDS = tuple(
    (re.compile(pattern, re.IGNORECASE), trouble)
    for pattern, trouble in (
        (
            r"too long|context[_ ](length|window)|maximum context|exceeds the maximum|too large",
            Trouble.TOO_LONG,
        ),
        (
            (
                r"stream (disconnected|ended|closed)|decoding"
                r" response|terminated|socket|econnreset|connection (dropped|reset)"
            ),
            Trouble.CUT,
        ),
        (
            r"overloaded|over capacity|service unavailable|server error|high demand",
            Trouble.OVERLOADED,
        ),
        (
            r"rate.?limit|too many requests|usage limit|quota|resource.?exhausted",
            Trouble.RATE_LIMIT,
        ),
        (
            (
                r"unauthori[sz]ed|not logged"
                r" in|api.?key|authenticat|forbidden|credential|permission_denied"
            ),
            Trouble.AUTH,
        ),
        (r"max(imum)?[_ ]turns|turn limit|budget|max[_ ]session", Trouble.LIMIT),
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


def of_error(message: str, status: int = 0) -> Trouble:
    """What an error message means, by the status beside it, the status in it, or else its words."""
    message = message[:_LONGEST]
    if status in STATUSES:
        return STATUSES[status]
    for found in _STATUS.finditer(message):
        if (code := int(found[1])) in STATUSES:
            return STATUSES[code]
    return next((trouble for words, trouble in _WORDS if words.search(message)), Trouble.OTHER)


def wait_told(message: str) -> float:
    """Seconds to wait, where the error says so."""
    found = _AFTER.search(message[:_LONGEST])
    return float(found[1]) * _UNITS.get(found[2] or "s", 1) if found else 0


def of_child(ran: Ran) -> Trouble:
    """Why a child that was ended, or that did not start, gives no answer."""
    if ran.missing:
        return Trouble.MISSING
    if ran.late:
        return Trouble.TIMEOUT
    if ran.silent:
        return Trouble.SILENT
    return Trouble.CRASHED if ran.signalled else Trouble.OTHER


def no_result(ran: Ran) -> tuple[str, Trouble]:
    """What to say of a child that came to an end without a result: in the words of its error
    channel, where it has some.
    """
    said = ran.stderr[-_LONGEST:].decode(errors="replace").strip()
    end = (
        "it ended without a result"
        if ran.exit_code == 0
        else f"it ended with code {ran.exit_code} and without a result"
    )
    if not said or ran.exit_code == 0:
        return end, Trouble.CUT
    trouble = of_error(said)
    return f"{end}: {said[-_SHOWN:]}", Trouble.CRASHED if trouble is Trouble.OTHER else trouble
