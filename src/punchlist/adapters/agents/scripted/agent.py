"""An agent that plays by the book: for tutorials, tests and measurements, at no cost and the same
every time.
"""

import asyncio
import os
import time
from collections import Counter
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import Seat
from punchlist.adapters.agents.scripted.placeholders import filled, fits
from punchlist.adapters.agents.scripted.script import Edit, Line, Script, read, texts
from punchlist.errors import SettingsError
from punchlist.ports.agent import Ask, Hear, Reply, Trouble


class Called(Struct, frozen=True):
    """One ask that came to its end, as the log has it; `line` counts from 0, and is -1 where none
    fitted.
    """

    agent: str
    role: str
    label: str
    line: int
    failed: str = ""


class Scripted:
    def __init__(
        self, script: Script, *, name: str = "scripted", log: Path | None = None, timeout: float = 0
    ) -> None:
        self.name = name
        self._lines = script.lines
        self._log = log
        self._timeout = timeout
        # By role, because every role has an agent of its own; and a run that was killed and goes on
        # has used what it has used.
        self._used = Counter(
            (call.role, call.line) for call in (calls(log) if log else ()) if call.agent == name
        )

    @classmethod
    def open(
        cls, path: Path, *, name: str = "scripted", log: Path | None = None, timeout: float = 0
    ) -> "Scripted":
        """`log` is the one to write where the script names none."""
        script = read(path)
        return cls(
            script, name=name, log=path.parent / script.log if script.log else log, timeout=timeout
        )

    @classmethod
    def seated(cls, seat: Seat) -> "Scripted":
        if not seat.settings.script:
            hint = (
                f'[agent.{seat.name}] script = "agent.json"; docs/guides/scripted-agent.md has the'
                " format"
            )
            raise SettingsError(f"agent.{seat.name}.script: there is no script to play", hint=hint)
        return cls.open(
            Path(seat.settings.script).expanduser(), name=seat.name, timeout=seat.settings.timeout
        )

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        began = time.monotonic()
        number = next(
            (n for n, line in enumerate(self._lines) if self._free(n, ask) and fits(line, ask)), -1
        )
        if number < 0:
            text = f"the script has no line for role {ask.role!r}, label {ask.label!r}"
            reply = Reply(agent=self.name, failed=text, trouble=Trouble.OTHER)
        else:
            reply = await self._played(number, ask, hear)
        if self._log:
            _append(self._log, Called(self.name, ask.role, ask.label, number, reply.failed))
        return replace(reply, usage=replace(reply.usage, seconds=time.monotonic() - began))

    def _free(self, number: int, ask: Ask) -> bool:
        times = self._lines[number].times
        return not times or self._used[ask.role, number] < times

    async def _played(self, number: int, ask: Ask, hear: Hear) -> Reply:
        self._used[ask.role, number] += 1
        try:
            async with asyncio.timeout(self._timeout or None):
                return await self._play(self._lines[number], ask, hear)
        except TimeoutError:
            text = f"timed out after {self._timeout:g} s"
            return Reply(agent=self.name, session=ask.session, failed=text, trouble=Trouble.TIMEOUT)
        except asyncio.CancelledError:
            self._used[ask.role, number] -= 1
            raise

    async def _play(self, line: Line, ask: Ask, hear: Hear) -> Reply:
        for piece in texts(line.say):
            hear(piece)
        done = filled(line, ask)
        stuck = (
            await asyncio.to_thread(_edited, ask.folder, done.edits)
            if ask.writes or line.disobey
            else ""
        )
        await asyncio.sleep(line.seconds)
        failed = line.fail.text if line.fail else stuck
        return Reply(
            agent=self.name,
            text="" if failed or done.answer is None else _text(done.answer),
            session=line.session or ask.session,
            usage=line.usage,
            failed=failed,
            trouble=line.fail.trouble if line.fail else Trouble.OTHER if stuck else None,
            retry_after=line.fail.retry_after if line.fail else 0,
            opened=line.opened,
        )


def calls(log: Path) -> list[Called]:
    """All asks that came to their end, of all processes that kept this log; a line broken off by a
    kill is none.
    """
    try:
        raw = log.read_bytes()
    except FileNotFoundError:
        return []
    return [
        msgspec.json.decode(line, type=Called)
        for line in raw.splitlines(keepends=True)
        if line.endswith(b"\n")
    ]


def _append(log: Path, call: Called) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, msgspec.json.encode(call) + b"\n")
    finally:
        os.close(handle)


def _text(answer: object) -> str:
    return answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()


def _edited(folder: Path, edits: tuple[Edit, ...]) -> str:
    """Does them in order; what stood in the way, or an empty string."""
    for edit in edits:
        path = folder / edit.path
        try:
            if not path.resolve().is_relative_to(folder.resolve()):
                return f"the script's edit of {edit.path} leads out of the folder"
            if stuck := _changed(path, edit):
                return f"the script's edit of {edit.path}: {stuck}"
        except (OSError, UnicodeDecodeError) as error:
            return f"the script's edit of {edit.path}: {error}"
    return ""


def _changed(path: Path, edit: Edit) -> str:
    if edit.delete:
        path.unlink(missing_ok=True)
        return ""
    before = path.read_bytes().decode() if path.exists() else ""
    after = _after(before, edit)
    if after is None:
        return f"{edit.replace!r} is not there"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(after.encode())
    return ""


def _after(before: str, edit: Edit) -> str | None:
    """The new content. Whoever is asked again after a kill finds its own edit in the kept tree, and
    that is fine.
    """
    if edit.content is not None:
        return edit.content
    if edit.append is not None:
        return before if before.endswith(edit.append) else before + edit.append
    old = edit.replace or ""
    if edit.by and edit.by in before and (old in edit.by or old not in before):
        return before
    return before.replace(old, edit.by) if old in before else None
