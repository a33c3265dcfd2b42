"""Progress of a run: live view, plain lines, JSON lines, or nothing."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from punchlist.cli.drawing import Text
from punchlist.cli.options import OutputMode
from punchlist.cli.show.plan import describe_scope
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import is_dumb, is_terminal, note, print_json, show_board
from punchlist.model.item.item import Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run import Run, count_statuses
from punchlist.model.ledger.timeline import Tone, make_moment
from punchlist.views import words
from punchlist.views.summary import shorten_reason

if TYPE_CHECKING:
    from punchlist.steps import Action

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SILENCE = 15.0
"""Seconds without a line in a log after which one says what runs."""
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


class ProgressView:
    """Watcher that also shows messages from outside the run. This one shows nothing."""

    def handle_start(self, place: str, action: "Action") -> None: ...

    def handle_event(self, entry: ev.Entry, run: Run) -> None: ...

    def handle_output(self, label: str, piece: str) -> None: ...

    def handle_delay(self, text: str) -> None:
        self.say(f"{'waiting':<11} {text}")

    def say(self, text: str) -> None: ...


class LineView(ProgressView):
    """Plain lines, for logs. While nothing is reported, a line after SILENCE says what runs.

    A thread prints that one, so every change replaces a whole value.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._spoke = clock()
        self._running: dict[tuple[str, str], tuple[str, float]] = {}

    def handle_start(self, place: str, action: "Action") -> None:
        about = one_line(action.about or action.key)
        self._running = {**self._running, (place, action.key): (about, self._clock())}

    def handle_event(self, entry: ev.Entry, run: Run) -> None:
        done = (entry.place, entry.key)
        self._running = {key: self._running[key] for key in self._running if key != done}
        if line := _format_event(entry, run):
            self.say(line[0])

    def say(self, text: str) -> None:
        self._spoke = self._clock()
        clock = words.clock(self._spoke - self._began)
        print(f"[{clock:>5}] {text}", file=sys.stderr, flush=True)

    def break_silence(self) -> float:
        """Say what runs if nothing was said for long; return the seconds until that is due."""
        now, running = self._clock(), self._running.values()
        if now - self._spoke >= SILENCE:
            each = [f"{about} ({words.clock(now - since)})" for about, since in running]
            self.say(f"{'running':<11} {', '.join(each) or 'between two steps'}")
        return SILENCE - (self._clock() - self._spoke)

    @contextmanager
    def watch_silence(self) -> Iterator["LineView"]:
        """Break the silence from a thread: it also speaks while a step keeps this one busy."""
        over = Event()

        def wait() -> None:
            while not over.wait(max(self.break_silence(), 0)):
                pass

        thread = Thread(target=wait, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            over.set()
            thread.join()


class EventView(ProgressView):
    def handle_event(self, entry: ev.Entry, run: Run) -> None:
        print_json(entry)


class LiveBoard(ProgressView):
    """The live view: running actions, items by status, check runs.

    A thread draws it, so every change replaces a whole value.
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

    def handle_start(self, place: str, action: "Action") -> None:
        about = one_line(action.about or action.key)
        self._running = {**self._running, (place, action.key): (about, self._clock())}

    def handle_event(self, entry: ev.Entry, run: Run) -> None:
        done = (entry.place, entry.key)
        self._running = {key: self._running[key] for key in self._running if key != done}
        self._run = run
        if line := _format_event(entry, run):
            self._line(*line)

    def handle_output(self, label: str, piece: str) -> None:
        """Keep the agent's last words, shown beside its action."""
        if words := one_line(piece.strip()):
            self._words = {**self._words, label: words}

    def say(self, text: str) -> None:
        self._notice = text

    def render_board(self) -> list[Text]:
        now, running = self._clock(), self._running.items()
        rows = [self._render_row(key, about, now - since) for key, (about, since) in running]
        return [*rows, self._render_foot(now)]

    def _render_row(self, key: tuple[str, str], about: str, seconds: float) -> Text:
        frame = _FRAMES[int(seconds * 10) % len(_FRAMES)]
        said = self._last_words(*key)
        parts = [
            (f" {frame} ", "cyan"),
            (about, ""),
            (f"  {words.clock(seconds)}", "dim"),
            (f"  {said}" if said else "", "dim italic"),
        ]
        return Text.assemble(*parts, overflow="ellipsis", no_wrap=True)

    def _last_words(self, place: str, key: str) -> str:
        """Return the last words of an action's agent: a label begins with the place and ends with
        the batch's number, if any.
        """
        number = key.rpartition(" ")[2]
        labels = [label for label in self._words if label.startswith(f"{place} ")]
        exact = [label for label in labels if label.endswith(f" {number}")]
        chosen = exact or (labels if len(self._running) == 1 else [])
        return self._words[chosen[-1]] if chosen else ""

    def _render_foot(self, now: float) -> Text:
        run = self._run
        tally = count_statuses(run.items if run else {})
        parts: list[tuple[str, str]] = [
            (f" {words.clock(now - self._since)} ", "bold"),
            (f"· round {run.position.round if run else 1} ", ""),
        ]
        statuses = (status for status in Status if tally[status])
        parts += [(f"· {status} {tally[status]} ", COLOURS[status]) for status in statuses]
        parts.append((f"· check runs {run.usage.checks if run else 0}", ""))
        if self._notice:
            parts.append((f" · {self._notice}", "bold yellow"))
        return Text.assemble(*parts, overflow="ellipsis", no_wrap=True)


def _format_event(entry: ev.Entry, run: Run) -> tuple[str, Tone] | None:
    """Return the log line of an entry, or None; an idle reviewer is shown only once."""
    idle = isinstance(entry.event, ev.Reviewed) and entry.event.skipped and run.landing.landed
    moment = make_moment(entry, run.active, run.position.round)
    if moment is None or idle:
        return None
    if isinstance(entry.event, ev.Started):
        return f"{moment.verb:<11} run {run.id}; {_format_scope(entry.event)}", moment.tone
    reason = shorten_reason(run, moment.why)
    why = f" ({reason})" if reason else ""
    return f"{moment.verb:<11} {one_line(moment.said + why)}", moment.tone


def _format_scope(event: ev.Started) -> str:
    """Return the scope, and why everything is reviewed if the user did not ask for it."""
    reasons = (note for note in event.change.notes if "so everything is reviewed" in note)
    because = next((f" ({note})" for note in reasons), "")
    return one_line(f"scope: {describe_scope(event.change)}{because}")


@contextmanager
def open_view(output: OutputMode) -> Iterator[ProgressView]:
    """Yield the view that fits the output mode and the terminal."""
    live = not output.quiet and is_terminal(sys.stderr) and not is_dumb()
    if output.events:
        yield EventView()
    elif not live:
        if output.quiet or output.json:
            yield ProgressView()
        else:
            with LineView().watch_silence() as view:
                yield view
    else:
        yield from _open_board()


def _open_board() -> Iterator[ProgressView]:
    def print_above(line: str, tone: Tone) -> None:
        note(Text(line, _TONES[tone], overflow="ellipsis", no_wrap=True))

    board = LiveBoard(print_above)
    with show_board(board.render_board):
        yield board
