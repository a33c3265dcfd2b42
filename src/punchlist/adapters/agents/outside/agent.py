"""Agent outside punchlist: its tasks are written to the run's mailbox, and it fetches them."""

import asyncio
import time
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.outside.mailbox import Mailbox
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply, Task

NO_MAILBOX = "it is asked in a run only: it comes for its tasks by itself (punchlist mcp)"
_PAUSE = 0.2


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
            reply = await self._wait_answer(self._box, task, hear)
        return replace(reply, usage=Usage(seconds=time.monotonic() - began))

    async def _wait_answer(self, box: Mailbox, task: Task, hear: Hear) -> Reply:
        """Return the answer, or a failure at the time limit."""
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
            if failure := self._check_limits(idle, busy):
                answer = box.withdraw(task.id, failure.failed)
                if answer is None:
                    return failure
                break
            await asyncio.sleep(_PAUSE)
        return Reply(agent=self.name, text=answer.text, transcript=box.answer_name(task.id))

    def _check_limits(self, idle: float, busy: float) -> Reply | None:
        silence, timeout = self._settings.silence, self._settings.timeout
        if silence and idle > silence:
            failed = f"silent: no client worked on the task for {silence:g} s"
            return Reply(agent=self.name, failed=failed, trouble=AgentTrouble.SILENT)
        if timeout and busy > timeout:
            failed = f"timed out: taken, and not answered in {timeout:g} s"
            return Reply(agent=self.name, failed=failed, trouble=AgentTrouble.TIMEOUT)
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
