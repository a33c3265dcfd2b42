"""How long to wait before a request is made again, and for how long trouble is borne in all."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from msgspec import Struct

from punchlist.adapters.backoff import retry_delay
from punchlist.errors import ToolError

_BUSY = frozenset({500, 502, 503, 504})
_LIMITED = frozenset({403, 429})
_LIMIT_WORDS = ("rate limit", "abuse")
FIRST = 1.0
_UNTOLD = 60.0
"""Seconds after a limit that does not say when it ends, as GitHub asks for."""


class Unavailable(ToolError):  # names what is, as people say it
    """Nothing can be filed there now; the next run tries again."""


class Pacing(Struct, frozen=True, kw_only=True):
    """Time and chance, as arguments. `patience` is how many seconds failed requests and pauses may
    take in one filing.
    """

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    jitter: Callable[[], float] = random.random
    patience: float = 300.0
    timeout: float = 30.0
    between_writes: float = 1.0
    """GitHub asks for a second between two requests that change something."""


class Patience:
    """What is left of the seconds that trouble may cost."""

    def __init__(self, pacing: Pacing) -> None:
        self._pacing = pacing
        self._left = pacing.patience

    def spend(self, seconds: float) -> None:
        self._left -= seconds

    async def wait(self, seconds: float, trouble: ToolError) -> None:
        if seconds > self._left:
            raise Unavailable(f"{trouble}; trying again would take {seconds:.0f} s") from trouble
        self.spend(seconds)
        await self._pacing.sleep(seconds)


def limited(status: int, headers: Mapping[str, str], words: str) -> bool:
    """Whether a refusal only means "not now"; such a request surely had no effect."""
    if status not in _LIMITED:
        return False
    told = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
    return (
        status != 403 or told or any(word in words.casefold() for word in _LIMIT_WORDS)
    )  # names itself


def busy(status: int) -> bool:
    """The server failed; what was asked for may have happened all the same."""
    return status in _BUSY


def asked_for(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds to wait that an answer names, by the server's own clock where it
    tells the time.
    """
    here = _moment(headers.get("date", ""))
    at = here if here is not None else now
    after = headers.get("retry-after", "").strip()
    if after.isdecimal():
        return float(after)
    until = _moment(after)
    if (
        until is None
        and headers.get("x-ratelimit-remaining") == "0"
        and headers.get("x-ratelimit-reset", "").isdecimal()
    ):
        until = float(headers["x-ratelimit-reset"])
    return None if until is None else max(until - at, 1.0)


def pause(
    status: int, headers: Mapping[str, str], tries: int, *, now: float, jitter: float
) -> float:
    """Seconds until the next try, after an answer that is `limited` or `busy`."""
    told = asked_for(headers, now)
    if told is not None:
        return told
    return (
        _UNTOLD * 2.0**tries if status in _LIMITED else retry_delay(tries + 1, jitter, first=FIRST)
    )


def _moment(date: str) -> float | None:
    try:
        moment: datetime = parsedate_to_datetime(date)
    except ValueError:
        return None
    return moment.timestamp()
