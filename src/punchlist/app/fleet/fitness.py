"""Whether a worker is fit to take runs.

A worker whose disk is full, whose clock is wrong or whose keys have expired looks idle: it would
take every run, interrupted ones first, and break each off at once. So it takes none while its disk
is full, and after it broke off two different runs without getting on with one, it pauses, longer
each time, and then tries a single run.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

LEAST_ROOM = 64_000_000
"""Bytes that must be free in a worker's home before it takes a run."""
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 60.0


class Fitness:
    def __init__(
        self, home: Path, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._home = home
        self._say = say
        self._clock = clock
        self._full = ""
        self._broken: dict[str, str] = {}
        """By run that broke off since one got on: why."""
        self._pause = 0.0
        self._until = 0.0

    @property
    def why(self) -> str:
        """Why the worker takes no runs; '' if it does."""
        return self._full or (self._trouble if self._clock() < self._until else "")

    @property
    def on_trial(self) -> bool:
        """Whether it takes one run at a time, to see whether it gets on with it."""
        return len(self._broken) > 1

    @property
    def _trouble(self) -> str:
        last = next(reversed(self._broken.values()), "")
        return f"{len(self._broken)} runs in a row broke off here, the last one because: {last}"

    def look_for_room(self) -> None:
        full = shutil.disk_usage(self._home).free < LEAST_ROOM
        if full != bool(self._full):
            self._full = f"{self._home} has less than 64 MB free" if full else ""
            self._say(f"{self._full}: no more runs are taken" if full else "there is room again")

    def note_broken(self, run: str, why: str) -> bool:
        """Note that a run broke off; return whether that counts against the run."""
        self.look_for_room()
        self._broken.pop(run, None)
        self._broken[run] = why
        if not self.on_trial:
            return not self._full
        self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._until = self._clock() + self._pause
        self._say(f"{self._trouble}; no run is taken for {self._pause:.0f} s")
        return False

    def note_progress(self) -> None:
        """Note that a run got on: what broke off before was not this worker's fault."""
        self._broken.clear()
        self._pause = self._until = 0.0
