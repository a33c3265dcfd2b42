"""Tell the user what an adapter met on its way and went around, each sentence once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_tell: ContextVar[Callable[[str], None] | None] = ContextVar("remarks", default=None)


@contextmanager
def tell_remarks(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` with each remark that is made in this context, and in the tasks and threads that
    are started in it.
    """
    said: set[str] = set()

    def tell_once(text: str) -> None:
        if text not in said:
            said.add(text)
            tell(text)

    token = _tell.set(tell_once)
    try:
        yield
    finally:
        _tell.reset(token)


def remark(text: str) -> None:
    """Tell the user, if one listens."""
    if tell := _tell.get():
        tell(text)
