"""Lines at the foot of a terminal that are drawn anew while other lines are printed above."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, RLock, Thread
from typing import Self, TextIO

_SECONDS = 0.25
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_ERASE, _UP = "\r\x1b[2K", "\x1b[1A\x1b[2K"


class Board:
    """Use with `with`. A thread draws it; at the end it is gone."""

    def __init__(self, stream: TextIO, render: Callable[[], Iterable[str]]) -> None:
        self._stream, self._render = stream, render
        self._drawn = 0
        self._over = Event()
        self._turn = RLock()
        """Reentrant: a signal may print while it is drawn."""
        self._thread = Thread(target=self._keep_drawing, daemon=True)

    def __enter__(self) -> Self:
        self._stream.write(_HIDE)
        self.draw()
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._thread.join()
        with self._turn:
            self._stream.write(self._take_erasure() + _SHOW)
            self._stream.flush()

    def draw(self) -> None:
        lines = list(self._render())
        with self._turn:
            self._stream.write(self._take_erasure() + "\n".join(lines))
            self._stream.flush()
            self._drawn = len(lines)

    @contextmanager
    def make_room(self) -> Iterator[None]:
        """Take it away while something is printed."""
        with self._turn:
            self._stream.write(self._take_erasure())
            self._stream.flush()
            yield
            self.draw()

    def _take_erasure(self) -> str:
        """Return what erases the lines that are there."""
        above, self._drawn = max(self._drawn - 1, 0), 0
        return _ERASE + _UP * above

    def _keep_drawing(self) -> None:
        while not self._over.wait(_SECONDS):
            self.draw()


def show_cursor(stream: TextIO) -> None:
    """Show the cursor again, where a board was not ended."""
    if stream.isatty():
        stream.write(_SHOW)
        stream.flush()
