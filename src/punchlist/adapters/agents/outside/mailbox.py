"""Task files in the run's folder for agents that punchlist does not start, with their answers."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from punchlist.adapters.folders.look import path_exists
from punchlist.adapters.store.atomic_write import store_file
from punchlist.adapters.store.lease import FileLease, find_path_holder
from punchlist.errors import AlreadyRunning
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.ledger import codec as wire
from punchlist.ports.agent import Task
from punchlist.ports.state import LeaseHolder

NAME = late_pattern(r"[0-9a-f]{12}")
_TASK, _PROMPT, _ANSWER, _GONE = "task.json", "prompt.md", "answer.json", "withdrawn.json"
_TAKEN, _ASKING, _GATE = "taken.lock", "asking.lock", "gate.lock"
_LARGEST = 64 << 20
_LONGEST_ANSWER = 10_000_000
"""In characters; longer answers are refused from other agents, too."""
T = TypeVar("T")


class MailAnswer(Struct, frozen=True, kw_only=True):
    """An answer, and the name its agent gave."""

    text: str
    by: str = ""


class Mailbox:
    """The tasks of one run; file locks mark a waiting run and the agent that took a task."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def post_task(self, task: Task) -> Iterator[None]:
        """Write the task and hold the lock that says a run waits. Only `withdraw` removes it."""
        with FileLease.acquire_path(self._folder / task.id / _ASKING, task.id):
            for other in self._list_tasks():
                if other.id != task.id and (other.agent, other.label) == (task.agent, task.label):
                    self.withdraw(other.id, "it was asked in other words")
            (self._folder / task.id / _GONE).unlink(missing_ok=True)
            if self._read_file(task.id, _TASK, Task) != task:
                store_file(self.prompt_path(task.id), task.prompt.encode("utf-8", "replace"))
                self._write_file(task.id, _TASK, task)
            yield

    def list_open(self, agent: str) -> tuple[Task, ...]:
        """Return the agent's tasks that a run waits for and that have no answer, by label."""
        # Called often, so tasks that are done are known by a file's name, and only others are read.
        names = [
            name
            for name in self._task_names()
            if not path_exists(self._folder / name / _ANSWER)
            and find_path_holder(self._folder / name / _ASKING)
        ]
        found = (task for task in map(self.find, names) if task and task.agent == agent)
        return tuple(sorted(found, key=lambda task: task.label))

    def find(self, name: str) -> Task | None:
        """Return a task that is not withdrawn, answered or not; None if its id does not match."""
        if not NAME.fullmatch(name) or self.withdrawal_reason(name):
            return None
        task = self._read_file(name, _TASK, Task)
        return task if task and task.id == name else None

    def withdrawal_reason(self, name: str) -> str:
        """Return why the task was withdrawn, or ''."""
        return self._read_file(name, _GONE, str) or ""

    def has_label(self, label: str) -> bool:
        """Return whether a task with that label exists, answered or not."""
        return any(task.label == label for task in self._list_tasks())

    def take(self, name: str, who: str) -> FileLease | None:
        """Lock the task for this process, or return None if another has it."""
        try:
            return FileLease.acquire_path(self._folder / name / _TAKEN, who)
        except AlreadyRunning:
            return None

    def holder(self, name: str) -> LeaseHolder | None:
        return find_path_holder(self._folder / name / _TAKEN)

    def read_answer(self, name: str) -> MailAnswer | None:
        return self._read_file(name, _ANSWER, MailAnswer)

    def hand_in(self, name: str, answer: MailAnswer) -> str:
        """Write the answer; return why it was refused, or ''. The first answer stands."""
        if len(answer.text) > _LONGEST_ANSWER:
            return f"an answer has at most {_LONGEST_ANSWER:,} characters"
        with self._lock_task(name):
            if gone := self.withdrawal_reason(name):
                return f"the run no longer waits for it: {gone}"
            before = self.read_answer(name)
            if before is not None:
                return "" if before.text == answer.text else "it has an answer already"
            self._write_file(name, _ANSWER, answer)
        return ""

    def withdraw(self, name: str, why: str) -> MailAnswer | None:
        """Withdraw the task, or return its answer if there is one."""
        with self._lock_task(name):
            answer = self.read_answer(name)
            if answer is None:
                self._write_file(name, _GONE, why)
        return answer

    def prompt_path(self, name: str) -> Path:
        """Return the path of the prompt, for prompts too long for a tool result."""
        return self._folder / name / _PROMPT

    def answer_name(self, name: str) -> str:
        """Return the answer's path relative to the run's folder."""
        return f"{self._folder.name}/{name}/{_ANSWER}"

    def _task_names(self) -> list[str]:
        return sorted(path.parent.name for path in self._folder.glob(f"*/{_TASK}"))

    def _list_tasks(self) -> list[Task]:
        return [task for task in map(self.find, self._task_names()) if task]

    def _read_file(self, name: str, file: str, kind: type[T]) -> T | None:
        try:
            return wire.decode(_read_bytes(self._folder / name / file), kind)
        except (OSError, msgspec.MsgspecError):
            return None

    def _write_file(self, name: str, file: str, content: object) -> None:
        store_file(self._folder / name / file, wire.encode(content))

    @contextmanager
    def _lock_task(self, name: str) -> Iterator[None]:
        """Lock the task, so that it is either answered or withdrawn, never both."""
        handle = os.open(self._folder / name / _GATE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _read_bytes(path: Path) -> bytes:
    """Read a regular file. Raise OSError for links, pipes and files over 64 MB."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise OSError(f"{path}: no file of ours")
        return file.read(_LARGEST)
