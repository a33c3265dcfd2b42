"""What a worker does for schedules: queue what is due, also late, and again after trouble."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from punchlist.app.fleet.schedules import queue_scheduled
from punchlist.app.fleet.worker_session import Workplace
from punchlist.errors import PunchlistError, StoreError
from punchlist.ports.fleet.schedule import Tick

_log = logging.getLogger("punchlist")
_EVERY = 30
_PAUSES = (5, 30, 120)
"""Seconds between tries to queue a run while the repository or a store cannot be reached."""


class Timekeeper:
    def __init__(self, at: Workplace, say: Callable[[str], None]) -> None:
        self._at = at
        self._state = at.state
        self._say = say

    async def keep_up(self) -> None:
        """Begin, again and again, what is due and dead workers did not begin."""
        while True:
            try:
                known = await asyncio.to_thread(self._state.workers.list_all)
                alive = {each.id for each in known if each.alive}
                begin = self._state.schedules.begin_missed
                for name in await asyncio.to_thread(begin, alive, datetime.now(UTC)):
                    self._say(f"{name} was missed, and begins late")
            except StoreError as error:
                _log.warning("missed times of schedules cannot be looked for: %s", error)
            await asyncio.sleep(_EVERY)

    async def queue_run(self, tick: Tick) -> str:
        """Queue the run of a schedule; return its id, or '' if it could not be prepared."""
        name = tick.schedule.name
        try:
            run = await self._queue_patiently(tick)
        except PunchlistError as error:
            self._say(f"schedule {name} queued nothing: {error}")
            return ""
        self._say(f"schedule {name} queued run {run}")
        return run

    async def _queue_patiently(self, tick: Tick) -> str:
        for pause in _PAUSES:
            try:
                return await self._queue_once(tick)
            except StoreError as error:
                self._say(f"schedule {tick.schedule.name} is tried again in {pause} s: {error}")
                await asyncio.sleep(pause)
        return await self._queue_once(tick)

    async def _queue_once(self, tick: Tick) -> str:
        return await queue_scheduled(tick, self._at)
