"""Do slow work in a thread that ends soon after its caller is cancelled."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


class StoppedEarly(Exception):
    """The caller does not wait any more."""


async def run_stoppable(work: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """Return what `work` returns, from a thread. If this is cancelled, `heed_stop` raises there:
    Python would wait for the thread before it ends.
    """
    stop = threading.Event()
    token = _stop.set(stop)
    try:
        return await asyncio.to_thread(work, *args, **keywords)
    finally:
        stop.set()
        _stop.reset(token)


def heed_stop() -> None:
    """Raise StoppedEarly if the caller of this thread was cancelled; called once for each step."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise StoppedEarly
