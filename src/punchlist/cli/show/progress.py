"""Watching a run: a live view on a terminal, plain lines elsewhere, JSON lines for machines, or
nothing.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from punchlist.cli.options import Output
from punchlist.cli.show.plan import scope
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import err, writing
from punchlist.model.item.item import Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.codec import encode
from punchlist.model.ledger.run import Run, counts
from punchlist.model.ledger.timeline import Tone, moment
from punchlist.steps import Action
from punchlist.views import words

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

_REFRESHES = 4
_SHOWN_STATUSES = tuple(Status)
COLOURS = {
    Status.OPEN: "yellow",
    Status.CLAIMED: "cyan",
    Status.DEFERRED: "yellow",
    Status.BLOCKED: "red",
    Status.FIXED: "green",
    Status.FILED: "blue",
    Status.DISMISSED: "dim",
}


_TONES = {Tone.PLAIN: "", Tone.GOOD: "green", Tone.BAD: "yellow"}


class View(Protocol):
    """A watcher that can also be told something from outside the run."""

    def began(self, place: str, action: Action) -> None: ...

    def told(self, entry: ev.Entry, run: Run) -> None: ...

    def heard(self, label: str, piece: str) -> None: ...

    def say(self, text: str) -> None: ...


class Silent:
    def began(self, place: str, action: Action) -> None: ...

    def told(self, entry: ev.Entry, run: Run) -> None: ...

    def heard(self, label: str, piece: str) -> None: ...

    def say(self, text: str) -> None: ...


class Lines:
    """A line as something ends."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def began(self, place: str, action: Action) -> None: ...

    def told(self, entry: ev.Entry, run: Run) -> None:
        if line := _line(entry, run):
            self.say(line[0])

    def heard(self, label: str, piece: str) -> None: ...

    def say(self, text: str) -> None:
        print(
            f"[{words.clock(time.monotonic() - self._began):>5}] {text}",
            file=sys.stderr,
            flush=True,
        )


class Events:
    """Each entry of the ledger, as it is there, as it happens."""

    def began(self, place: str, action: Action) -> None: ...

    def told(self, entry: ev.Entry, run: Run) -> None:
        with writing():
            sys.stdout.write(encode(entry).decode() + "\n")
            sys.stdout.flush()

    def heard(self, label: str, piece: str) -> None: ...

    def say(self, text: str) -> None: ...


class Board:
    """What the live view shows: what is running and for how long, items by status, check runs
    spent.

    The screen is drawn by a thread of its own, so every change is a new value put in place at once.
    """

    def __init__(
        self, line: Callable[[str, Tone], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._line = line
        self._clock = clock
        self._since = clock()
        self._running: dict[tuple[str, str], tuple[str, float]] = {}
        self._run: Run | None = None
        self._words: dict[str, str] = {}
        self._notice = ""

    def began(self, place: str, action: Action) -> None:
        about = one_line(action.about or action.key)
        self._running = {**self._running, (place, action.key): (about, self._clock())}

    def told(self, entry: ev.Entry, run: Run) -> None:
        self._running = {
            key: value for key, value in self._running.items() if key != (entry.place, entry.key)
        }
        self._run = run
        if line := _line(entry, run):
            self._line(*line)

    def heard(self, label: str, piece: str) -> None:
        """The last words of each agent that works are shown beside what it works on."""
        if words := one_line(piece.strip()):
            self._words = {**self._words, label: words}

    def say(self, text: str) -> None:
        self._notice = text

    def drawn(self) -> "Group":
        from rich.console import Group

        now = self._clock()
        running = [
            self._row(key, about, now - since) for key, (about, since) in self._running.items()
        ]
        return Group(*running, self._foot(now))

    def _row(self, key: tuple[str, str], about: str, seconds: float) -> "Text":
        from rich.spinner import Spinner
        from rich.text import Text

        frame = Spinner("dots").frames[int(seconds * 10) % 10]
        said = self._said(*key)
        parts = [
            (f" {frame} ", "cyan"),
            (about, ""),
            (f"  {words.clock(seconds)}", "dim"),
            (f"  {said}" if said else "", "dim italic"),
        ]
        return Text.assemble(*parts, overflow="ellipsis", no_wrap=True)

    def _said(self, place: str, key: str) -> str:
        """What the agent of an action said last: a call is labelled with the place, and with its
        batch's number if it has one.
        """
        number = key.rpartition(" ")[2]
        mine = [words for label, words in self._words.items() if label.startswith(f"{place} ")]
        exact = [
            words
            for label, words in self._words.items()
            if label.startswith(f"{place} ") and label.endswith(f" {number}")
        ]
        return (exact or (mine if len(self._running) == 1 else [""]))[-1] if mine else ""

    def _foot(self, now: float) -> "Text":
        from rich.text import Text

        run = self._run
        tally = counts(run.items if run else {})
        parts: list[tuple[str, str]] = [
            (f" {words.clock(now - self._since)} ", "bold"),
            (f"· round {run.position.round if run else 1} ", ""),
        ]
        parts += [
            (f"· {status} {tally[status]} ", COLOURS[status])
            for status in _SHOWN_STATUSES
            if tally[status]
        ]
        parts.append((f"· check runs {run.usage.checks if run else 0}", ""))
        if self._notice:
            parts.append((f" · {self._notice}", "bold yellow"))
        return Text.assemble(*parts, overflow="ellipsis", no_wrap=True)


def _line(entry: ev.Entry, run: Run) -> tuple[str, Tone] | None:
    """The run's story as it grows; that a reviewer has nothing to do here is news only once."""
    idle = isinstance(entry.event, ev.Reviewed) and entry.event.skipped and run.landing.landed
    told = moment(entry, run.active, run.position.round)
    if told is None or idle:
        return None
    if isinstance(entry.event, ev.Started):
        return f"{told.verb:<11} run {run.id}; {_scope(entry.event)}", told.tone
    why = f" ({told.why})" if told.why else ""
    return f"{told.verb:<11} {one_line(told.said + why)}", told.tone


def _scope(event: ev.Started) -> str:
    """What it is about, and why that, if nobody asked for it."""
    because = next(
        (f" ({note})" for note in event.change.notes if "so everything is reviewed" in note), ""
    )
    return one_line(f"scope: {scope(event.change)}{because}")


@contextmanager
def watching(output: Output) -> Iterator[View]:
    """The view that fits: a machine reads stdout, so progress goes to stderr, and only where a
    person sees it.
    """
    console = err()
    live = console.is_terminal and not console.is_dumb_terminal and not output.quiet
    if output.events:
        yield Events()
    elif not live:
        yield Silent() if output.quiet or output.machine else Lines()
    else:
        yield from _live()


def _live() -> Iterator[View]:
    from rich.live import Live
    from rich.text import Text

    console = err()

    def above(line: str, tone: Tone) -> None:
        # else what has just ended is drawn once more, and stays while the next thing is worked out
        live.refresh()
        console.print(Text(line, _TONES[tone]), overflow="ellipsis", no_wrap=True)

    board = Board(above)
    with Live(
        get_renderable=board.drawn, console=console, refresh_per_second=_REFRESHES, transient=True
    ) as live:
        yield board
