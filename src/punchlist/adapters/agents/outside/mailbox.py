"""Tasks for agents that punchlist does not start: laid into the run's folder, taken by one of them,
answered beside it.
"""

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from punchlist.adapters.store.atomic_write import write_whole
from punchlist.adapters.store.errors import told
from punchlist.adapters.store.lease import Holder, Lease, held
from punchlist.errors import AlreadyRunning
from punchlist.model.ledger import codec as wire
from punchlist.ports.agent import Task

NAME = re.compile(r"[0-9a-f]{12}")
_TASK, _PROMPT, _ANSWER, _GONE = "task.json", "prompt.md", "answer.json", "withdrawn.json"
_TAKEN, _ASKING, _GATE = "taken.lock", "asking.lock", "gate.lock"
_LARGEST = 64 << 20
_LONGEST_ANSWER = 10_000_000
"""Characters. More than this is refused of other agents, too."""
T = TypeVar("T")


class Handed(Struct, frozen=True, kw_only=True):
    """An answer: what was said, and who says to be the one that did."""

    text: str
    by: str = ""


class Mailbox:
    """The tasks of one run. Two locks of the kernel say who is there: whoever asks, and whoever has
    taken the task.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def asking(self, task: Task) -> Iterator[None]:
        """Lays the task, and is there for its answer. It stays laid whatever happens: only
        `withdraw` takes it away.
        """
        with Lease.of(self._folder / task.id / _ASKING, task.id):
            for other in self._laid():
                if other.id != task.id and (other.agent, other.label) == (task.agent, task.label):
                    self.withdraw(other.id, "it was asked in other words")
            (self._folder / task.id / _GONE).unlink(missing_ok=True)
            if self._read(task.id, _TASK, Task) != task:
                _put(self.prompt(task.id), task.prompt.encode("utf-8", "replace"))
                self._write(task.id, _TASK, task)
            yield

    def open(self, agent: str) -> tuple[Task, ...]:
        """Those for this agent that somebody waits for, and that have no answer yet; by their
        labels.
        """
        # Looked at again and again, so what is over is told by a file's name, and only what is left
        # is read.
        names = [
            name
            for name in self._names()
            if not (self._folder / name / _ANSWER).exists() and self._awaited(name)
        ]
        found = (
            task for name in names if (task := self.find(name)) is not None and task.agent == agent
        )
        return tuple(sorted(found, key=lambda task: task.label))

    def find(self, name: str) -> Task | None:
        """A task that was laid and not withdrawn, with or without an answer. One that goes by
        another name is none of ours.
        """
        task = (
            self._read(name, _TASK, Task)
            if NAME.fullmatch(name) and not self.withdrawn(name)
            else None
        )
        return task if task is not None and task.id == name else None

    def withdrawn(self, name: str) -> str:
        """Why nobody waits for an answer any more, if it is so."""
        return self._read(name, _GONE, str) or ""

    def known(self, label: str) -> bool:
        """Whether there is a task of that label: somebody may be at work on it, or be done."""
        return any(task.label == label for task in self._laid())

    def take(self, name: str, who: str) -> Lease | None:
        """The right to answer, for as long as this process lives and does not give it back; None
        where another has it.
        """
        try:
            return Lease.of(self._folder / name / _TAKEN, who)
        except AlreadyRunning:
            return None

    def holder(self, name: str) -> Holder | None:
        return held(self._folder / name / _TAKEN)

    def answer(self, name: str) -> Handed | None:
        return self._read(name, _ANSWER, Handed)

    def hand_in(self, name: str, answer: Handed) -> str:
        """Lays the answer beside the task; why it came to nothing, if it did. The first answer
        stands.
        """
        if len(answer.text) > _LONGEST_ANSWER:
            return f"an answer has at most {_LONGEST_ANSWER:,} characters"
        with self._gate(name):
            if gone := self.withdrawn(name):
                return f"the run no longer waits for it: {gone}"
            before = self.answer(name)
            if before is not None:
                return "" if before.text == answer.text else "it has an answer already"
            self._write(name, _ANSWER, answer)
        return ""

    def withdraw(self, name: str, why: str) -> Handed | None:
        """Nobody waits any more; unless an answer came just now, which is returned."""
        with self._gate(name):
            answer = self.answer(name)
            if answer is None:
                self._write(name, _GONE, why)
        return answer

    def prompt(self, name: str) -> Path:
        """The prompt as a file, for agents to whom it is too long to be handed
        over in an answer.
        """
        return self._folder / name / _PROMPT

    def place(self, name: str) -> str:
        """Where in the run's folder the answer is kept."""
        return f"{self._folder.name}/{name}/{_ANSWER}"

    def _awaited(self, name: str) -> bool:
        return held(self._folder / name / _ASKING) is not None

    def _names(self) -> list[str]:
        return sorted(path.parent.name for path in self._folder.glob(f"*/{_TASK}"))

    def _laid(self) -> list[Task]:
        return [task for name in self._names() if (task := self.find(name)) is not None]

    def _read(self, name: str, file: str, kind: type[T]) -> T | None:
        try:
            return wire.decode(_content(self._folder / name / file), kind)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None  # what is not whole, or not ours, is not there

    def _write(self, name: str, file: str, content: object) -> None:
        _put(self._folder / name / file, wire.encode(content))

    @contextmanager
    def _gate(self, name: str) -> Iterator[None]:
        """Either an answer comes in time or the task is withdrawn: never both."""
        handle = os.open(self._folder / name / _GATE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _put(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise told(error, path, "written") from error


def _content(path: Path) -> bytes:
    """Of a plain file only: others write here as well, and nobody waits for a pipe or reads what
    has no end.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise OSError(f"{path}: no file of ours")
        return file.read(_LARGEST)
