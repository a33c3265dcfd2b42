"""Agent outside punchlist: its tasks are written to the run's mailbox, and it fetches them."""

import asyncio
import time
from hashlib import sha256

import msgspec
from msgspec import Struct

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.outside.mailbox import MailAnswer, Mailbox
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply, Task

NO_MAILBOX = "it is asked in a run only: it comes for its tasks by itself (punchlist mcp)"
_PAUSE = 0.2


class _WaitResult(Struct, frozen=True):
    """The answer, or why there is none."""

    answer: MailAnswer | None = None
    failed: str = ""
    trouble: AgentTrouble | None = None


class OutsideAgent:
    """`silence` limits the seconds a task waits untaken, `timeout` the seconds it is taken.

    Cancelled, it leaves the task: the agent may work on, and its answer counts after a resume.
    """

    def __init__(self, setup: AgentSetup) -> None:
        self.name = setup.name
        self._settings = setup.settings
        self._box = Mailbox(setup.place.mail) if setup.place.mail is not None else None

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        if self._box is None:
            return Reply(agent=self.name, failed=NO_MAILBOX, trouble=AgentTrouble.OTHER)
        began = time.monotonic()
        task = _make_task(self.name, ask)
        with self._box.post_task(task):
            waited = await self._wait_answer(self._box, task, hear)
        answer = waited.answer
        return Reply(
            agent=self.name,
            text=answer.text if answer else "",
            usage=Usage(seconds=time.monotonic() - began),
            failed=waited.failed,
            trouble=waited.trouble,
            transcript=self._box.answer_name(task.id) if answer else "",
        )

    async def _wait_answer(self, box: Mailbox, task: Task, hear: Hear) -> _WaitResult:
        idle = busy = 0.0
        last, who = time.monotonic(), ""
        hear(f"task {task.id} waits for {self.name}")
        while (answer := box.read_answer(task.id)) is None:
            holder, now = box.holder(task.id), time.monotonic()
            idle, busy = (idle, busy + now - last) if holder else (idle + now - last, busy)
            last = now
            if holder and holder.run != who:
                hear(f"task {task.id} was taken by {holder.run}")
            who = holder.run if holder else ""
            if failed := self._check_limits(idle, busy):
                answer = box.withdraw(task.id, failed.failed)
                return _WaitResult(answer) if answer else failed
            await asyncio.sleep(_PAUSE)
        return _WaitResult(answer)

    def _check_limits(self, idle: float, busy: float) -> _WaitResult | None:
        silence, timeout = self._settings.silence, self._settings.timeout
        if silence and idle > silence:
            failed = f"silent: no client worked on the task for {silence:g} s"
            return _WaitResult(failed=failed, trouble=AgentTrouble.SILENT)
        if timeout and busy > timeout:
            failed = f"timed out: taken, and not answered in {timeout:g} s"
            return _WaitResult(failed=failed, trouble=AgentTrouble.TIMEOUT)
        return None


def _make_task(name: str, ask: Ask) -> Task:
    question = (name, ask.label, ask.role, ask.prompt, ask.writes, ask.schema)
    digest = sha256(msgspec.json.encode(question, order="deterministic")).hexdigest()
    return Task(
        id=digest[:12],
        agent=name,
        role=ask.role,
        label=ask.label,
        prompt=ask.prompt,
        folder=str(ask.folder),
        writes=ask.writes,
        schema=ask.schema,
        items=ask.items,
    )
