"""Agent that answers from a script: for tutorials, tests and measurements, free and repeatable."""

import asyncio
import os
import time
from collections import Counter
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.scripted.placeholders import fill_line, is_match
from punchlist.adapters.agents.scripted.script import (
    Failure,
    Script,
    ScriptEdit,
    ScriptLine,
    list_texts,
    load_script,
)
from punchlist.adapters.agents.spending import CallMeter, Measured, Spending
from punchlist.adapters.folders.look import path_exists, resolve_path
from punchlist.errors import SettingsError
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply


class ScriptedCall(Struct, frozen=True):
    """Log entry of one finished ask; `line` counts from 0, -1 if no line matched. `session`: the
    conversation that was gone on with, if one was.
    """

    agent: str
    role: str
    label: str
    line: int
    failed: str = ""
    session: str = ""


class ScriptedAgent:
    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        log: Path | None = None,
        timeout: float = 0,
        spending: Spending | None = None,
    ) -> None:
        self.name = name
        self._spending = spending or Spending()
        self._lines = script.lines
        self._log = log
        self._timeout = timeout
        # By role: each has its own agent. From the log: a run that was killed may go on.
        calls = read_calls(log) if log else []
        self._used = Counter((call.role, call.line) for call in calls if call.agent == name)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        name: str = "scripted",
        log: Path | None = None,
        timeout: float = 0,
        spending: Spending | None = None,
    ) -> "ScriptedAgent":
        """Load the script at `path`. `log` is used if the script names none."""
        script = load_script(path)
        log = path.parent / script.log if script.log else log
        return cls(script, name=name, log=log, timeout=timeout, spending=spending)

    @classmethod
    def from_setup(cls, setup: AgentSetup) -> "ScriptedAgent":
        name, settings = setup.name, setup.settings
        if not settings.script:
            form = "docs/guides/scripted-agent.md has the format"
            hint = f'[agent.{name}] script = "agent.json"; {form}'
            raise SettingsError(f"agent.{name}.script: there is no script to play", hint=hint)
        path = Path(settings.script).expanduser()
        return cls.open(path, name=name, timeout=settings.timeout, spending=setup.spending)

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        if reason := self._spending.refusal_reason():
            return Reply(agent=self.name, failed=reason, trouble=AgentTrouble.LIMIT)
        meter = self._spending.open_call(lambda usage: usage)
        usage = None
        try:
            reply = await self._answer(ask, hear, meter)
            usage = reply.usage
        finally:
            meter.close(usage)
        return reply

    async def _answer(self, ask: Ask, hear: Hear, meter: CallMeter) -> Reply:
        began = time.monotonic()
        number = self._find_line(ask)
        if number < 0:
            text = f"the script has no line for role {ask.role!r}, label {ask.label!r}"
            reply = Reply(agent=self.name, failed=text, trouble=AgentTrouble.OTHER)
        else:
            used = self._lines[number].usage
            if used != Usage():
                meter.add(Measured(key="", usage=used), lambda total: total)
            reply = await self._try_line(number, ask, hear)
        if self._log:
            call = ScriptedCall(self.name, ask.role, ask.label, number, reply.failed, ask.session)
            _append_call(self._log, call)
        seconds = time.monotonic() - began
        return replace(reply, usage=replace(_mark_unpriced(reply.usage), seconds=seconds))

    def _find_line(self, ask: Ask) -> int:
        """Return the number of the first line that matches and is not used up, or -1."""
        for number, line in enumerate(self._lines):
            free = not line.times or self._used[ask.role, number] < line.times
            if free and is_match(line, ask):
                return number
        return -1

    async def _try_line(self, number: int, ask: Ask, hear: Hear) -> Reply:
        self._used[ask.role, number] += 1
        try:
            async with asyncio.timeout(self._timeout or None):
                return await self._play_line(self._lines[number], ask, hear)
        except TimeoutError:
            failed = f"timed out after {self._timeout:g} s"
            trouble = AgentTrouble.TIMEOUT
            usage = replace(self._lines[number].usage, cut=1)
            return Reply(
                agent=self.name, session=ask.session, failed=failed, trouble=trouble, usage=usage
            )
        except asyncio.CancelledError:
            self._used[ask.role, number] -= 1
            raise

    async def _play_line(self, line: ScriptLine, ask: Ask, hear: Hear) -> Reply:
        for piece in list_texts(line.say):
            hear(piece)
        filled = fill_line(line, ask)
        failure = line.fail
        if ask.writes or line.disobey:
            error = await asyncio.to_thread(_apply_edits, ask.folder, filled.edits)
            failure = failure or (Failure(error) if error else None)
        await asyncio.sleep(line.seconds)
        failed = failure.text if failure else ""
        return Reply(
            agent=self.name,
            text="" if failed or filled.answer is None else _encode_answer(filled.answer),
            session=line.session or ask.session,
            usage=line.usage,
            failed=failed,
            trouble=failure.trouble if failure else None,
            retry_after=failure.retry_after if failure else 0,
            opened=line.opened,
            denied=line.denied,
        )


def _mark_unpriced(usage: Usage) -> Usage:
    used = usage.input_tokens or usage.output_tokens
    return replace(usage, unpriced=1) if used and not usage.dollars else usage


def read_calls(log: Path) -> list[ScriptedCall]:
    """Return all calls in the log; an incomplete last line is skipped."""
    try:
        raw = log.read_bytes()
    except FileNotFoundError:
        return []
    return [
        parse_json(line, ScriptedCall)
        for line in raw.splitlines(keepends=True)
        if line.endswith(b"\n")
    ]


def _append_call(log: Path, call: ScriptedCall) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, msgspec.json.encode(call) + b"\n")
    finally:
        os.close(handle)


def _encode_answer(answer: object) -> str:
    return answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()


def _apply_edits(folder: Path, edits: tuple[ScriptEdit, ...]) -> str:
    """Apply the edits in order; return the first error, or ''."""
    for edit in edits:
        path = folder / edit.path
        try:
            if not resolve_path(path).is_relative_to(resolve_path(folder)):
                return f"the script's edit of {edit.path} leads out of the folder"
            if failed := _apply_edit(path, edit):
                return f"the script's edit of {edit.path}: {failed}"
        except (OSError, UnicodeDecodeError) as error:
            return f"the script's edit of {edit.path}: {error}"
    return ""


def _apply_edit(path: Path, edit: ScriptEdit) -> str:
    if edit.delete:
        path.unlink(missing_ok=True)
        return ""
    before = path.read_bytes().decode() if path_exists(path) else ""
    after = _edit_text(before, edit)
    if after is None:
        return f"{edit.replace!r} is not there"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(after.encode())
    return ""


def _edit_text(before: str, edit: ScriptEdit) -> str | None:
    """Return the new content, also if the edit was made before; None if its text is missing."""
    if edit.content is not None:
        return edit.content
    if edit.append is not None:
        return before if before.endswith(edit.append) else before + edit.append
    old = edit.replace or ""
    if edit.by and edit.by in before and (old in edit.by or old not in before):
        return before
    return before.replace(old, edit.by) if old in before else None
