"""An agent that somebody else runs: its tasks are laid into the run's mailbox, and it comes for
them by itself.
"""

import asyncio
import time
from hashlib import sha256

import msgspec
from msgspec import Struct

from punchlist.adapters.agents.cli_agent import Seat
from punchlist.adapters.agents.outside.mailbox import Handed, Mailbox
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Ask, Hear, Reply, Task, Trouble

NO_MAILBOX = "it is asked in a run only: it comes for its tasks by itself (punchlist mcp)"
_PAUSE = 0.2


class _Waited(Struct, frozen=True):
    """What came of waiting: an answer, or why there is none."""

    answer: Handed | None = None
    failed: str = ""
    trouble: Trouble | None = None


class Outside:
    """`silence` is how long a task may lie there with nobody at it, all in all; `timeout` how long
    somebody may be at it.

    Stopped half-way it leaves the task where it is: whoever has taken it works on, and is heard
    after a resume.
    """

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._box = Mailbox(seat.place.mail) if seat.place.mail is not None else None

    @property
    def name(self) -> str:
        return self._seat.name

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        if self._box is None:
            return Reply(agent=self.name, failed=NO_MAILBOX, trouble=Trouble.OTHER)
        began = time.monotonic()
        task = _task(self.name, ask)
        with self._box.asking(task):
            waited = await self._waited(self._box, task, hear)
        answer = waited.answer
        return Reply(
            agent=self.name,
            text=answer.text if answer else "",
            usage=Usage(seconds=time.monotonic() - began),
            failed=waited.failed,
            trouble=waited.trouble,
            transcript=self._box.place(task.id) if answer else "",
        )

    async def _waited(self, box: Mailbox, task: Task, hear: Hear) -> _Waited:
        idle = busy = 0.0
        last, who = time.monotonic(), ""
        hear(f"task {task.id} waits for {self.name}")
        while (answer := box.answer(task.id)) is None:
            holder, now = box.holder(task.id), time.monotonic()
            idle, busy = (idle, busy + now - last) if holder else (idle + now - last, busy)
            last = now
            if holder and holder.run != who:
                hear(f"task {task.id} was taken by {holder.run}")
            who = holder.run if holder else ""
            if failed := self._late(idle, busy):
                answer = box.withdraw(task.id, failed.failed)
                return _Waited(answer) if answer else failed
            await asyncio.sleep(_PAUSE)
        return _Waited(answer)

    def _late(self, idle: float, busy: float) -> _Waited | None:
        settings = self._seat.settings
        if settings.silence and idle > settings.silence:
            return _Waited(
                failed=f"silent: no client worked on the task for {settings.silence:g} s",
                trouble=Trouble.SILENT,
            )
        if settings.timeout and busy > settings.timeout:
            return _Waited(
                failed=f"timed out: taken, and not answered in {settings.timeout:g} s",
                trouble=Trouble.TIMEOUT,
            )
        return None


def _task(name: str, ask: Ask) -> Task:
    whole = msgspec.json.encode(
        (name, ask.label, ask.role, ask.prompt, ask.writes, ask.schema), order="deterministic"
    )
    return Task(
        id=sha256(whole).hexdigest()[:12],
        agent=name,
        role=ask.role,
        label=ask.label,
        prompt=ask.prompt,
        folder=str(ask.folder),
        writes=ask.writes,
        schema=ask.schema,
        items=ask.items,
    )
