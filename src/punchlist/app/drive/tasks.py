"""The tasks of an outside agent: which are open, and which this process has taken."""

from collections.abc import Callable
from pathlib import Path

from punchlist.adapters.agents.outside.mailbox import MailAnswer, Mailbox
from punchlist.adapters.store.lease import FileLease
from punchlist.app.start.agents import mail_folder
from punchlist.errors import UsageError
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import Task
from punchlist.settings import run_folder


class Tasks:
    """A taken task is locked until it is answered, given back, or the process ends."""

    def __init__(self, home: Path, agent: str, find_run: Callable[[str], Run]) -> None:
        self._home = home
        self._agent = agent
        self._find_run = find_run
        self._taken: dict[str, FileLease] = {}

    def release_all(self) -> None:
        for lease in self._taken.values():
            lease.release()

    def list_open(self, run: Run) -> tuple[Task, ...]:
        return self._open_mailbox(run).list_open(self._agent)

    def prompt_file(self, run: Run, task: Task) -> Path:
        return self._open_mailbox(run).prompt_path(task.id)

    def take_task(self, run: Run, who: str, *, another: bool) -> Task | None:
        """Return a task this client has, else lock a free one; with `another` only the latter."""
        box, tasks = self._open_mailbox(run), self.list_open(run)
        mine = [task for task in tasks if _task_name(run, task) in self._taken]
        if mine and not another:
            return mine[0]
        for task in tasks:
            name = _task_name(run, task)
            if name not in self._taken and (lease := box.take(task.id, who)):
                self._taken[name] = lease
                return task
        return None

    def claim_task(self, name: str, who: str) -> tuple[Run, Task]:
        """Return a task this client has; lock a free one, as it may be from before a restart."""
        run, task = self._find_task(name)
        if name not in self._taken:
            lease = self._open_mailbox(run).take(task.id, who)
            if lease is None:
                taken = f"task {name} was taken by another client"
                raise UsageError(taken, hint="next_task gives you one of your own")
            self._taken[name] = lease
        return run, task

    def hand_in(self, name: str, text: str, who: str) -> Run:
        run, task = self.claim_task(name, who)
        wrong = self._open_mailbox(run).hand_in(task.id, MailAnswer(text=text, by=who))
        self.give_back(name)
        if wrong:
            hint = f"next_task of run {run.id} says what comes now"
            raise UsageError(f"task {name}: {wrong}", hint=hint)
        return run

    def give_back(self, name: str) -> bool:
        """Release a task; return whether this client had it."""
        if lease := self._taken.pop(name, None):
            lease.release()
        return lease is not None

    def _open_mailbox(self, run: Run) -> Mailbox:
        return Mailbox(mail_folder(run_folder(self._home, run.id)))

    def _find_task(self, name: str) -> tuple[Run, Task]:
        run_id, _, task_id = name.partition("/")
        run = self._find_run(run_id)
        if run.id != run_id:
            raise UsageError(f"there is no task {name}", hint="name it as next_task does")
        box = self._open_mailbox(run)
        task = box.find(task_id)
        if task is None or task.agent != self._agent:
            gone = box.withdrawal_reason(task_id)
            self.give_back(name)
            raise UsageError(
                f"task {name} is over: {gone}" if gone else f"there is no task {name}",
                hint="next_task gives you the next one; what was not answered in time comes again",
            )
        if run.ended:
            ended = f"run {run.id} has ended without task {name}"
            raise UsageError(ended, hint="start_run starts another")
        return run, task


def _task_name(run: Run, task: Task) -> str:
    return f"{run.id}/{task.id}"
