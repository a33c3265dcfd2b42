"""Collect what the sandboxes of an action's children lacked, for the event that records it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_collected: ContextVar[set[str] | None] = ContextVar("weaknesses", default=None)


@contextmanager
def collect_weaknesses() -> Iterator[set[str]]:
    """Collect what is noted in this context, and in tasks that are started in it."""
    found: set[str] = set()
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def note_weaknesses(kind: str, lacks: Iterable[str]) -> None:
    """Note what the sandbox of a child of this kind lacks."""
    found = _collected.get()
    if found is not None:
        found.update(f"{kind}: {each}" for each in lacks)
