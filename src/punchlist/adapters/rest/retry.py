"""Pauses between retries, and a budget of seconds for all of them."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime

from msgspec import Struct

from punchlist.adapters.backoff import retry_delay
from punchlist.errors import ToolError

_BUSY = frozenset({500, 502, 503, 504})
_LIMITED = frozenset({403, 429})
_LIMIT_WORDS = ("rate limit", "abuse")
GONE = frozenset({404, 410})
FIRST = 1.0
_UNTOLD = 60.0
"""Seconds to wait after a limit that does not say when it ends, as GitHub asks for."""


class Unavailable(ToolError):
    """Nothing can be filed now; the next run tries again."""


class NotThere(Unavailable):
    """The forge does not have it, or does not show it to this token."""


class Pacing(Struct, frozen=True, kw_only=True):
    """Clocks, randomness and limits. `patience`: seconds for failed requests and pauses, per
    filing.
    """

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    jitter: Callable[[], float] = random.random
    patience: float = 300.0
    timeout: float = 30.0
    between_writes: float = 1.0
    """GitHub asks for a second between two requests that change something."""
    quiet_until: dict[str, float] = {}
    """By host: when a rate limit ends, for all connections that share this."""


class RetryBudget:
    """Seconds left for failures and pauses."""

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


def is_rate_limited(status: int, headers: Mapping[str, str], words: str) -> bool:
    """Return whether a refusal is a rate limit; such a request had no effect."""
    if status not in _LIMITED:
        return False
    announced = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
    return status != 403 or announced or any(word in words.casefold() for word in _LIMIT_WORDS)


def is_server_error(status: int) -> bool:
    """Return whether the server failed; the request may have been done."""
    return status in _BUSY


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait that the response names, by the server's clock, or None."""
    here = parse_date(headers.get("date", ""))
    at = here if here is not None else now
    after = headers.get("retry-after", "").strip()
    if after.isdecimal():
        return float(after)
    until = parse_date(after)
    for prefix in ("x-ratelimit", "ratelimit"):
        reset = headers.get(f"{prefix}-reset", "")
        if until is None and headers.get(f"{prefix}-remaining") == "0" and reset.isdecimal():
            until = float(reset)
    return None if until is None else max(until - at, 1.0)


def retry_seconds(
    status: int, headers: Mapping[str, str], tries: int, *, now: float, jitter: float
) -> float:
    """Return the seconds until a retry, after a rate limit or a server error."""
    seconds = parse_retry_after(headers, now)
    if seconds is not None:
        return seconds
    if status in _LIMITED:
        return _UNTOLD * 2.0**tries
    return retry_delay(tries + 1, jitter, first=FIRST)


def parse_date(date: str) -> float | None:
    """Return the time of a header, or None."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None
