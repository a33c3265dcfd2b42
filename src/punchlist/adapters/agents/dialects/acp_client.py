"""Our side of the Agent Client Protocol: one conversation, from hello to hanging up, and answers to
what the agent asks.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from punchlist.adapters.agents.json_lines import Event, Lines, event
from punchlist.adapters.process.run import Voice
from punchlist.ports.agent import Ask

VERSION = 1
HELLO, LOAD, SESSION, MODE, PROMPT = range(1, 6)
OPTIONAL = (LOAD, MODE)
"""Requests that may fail: there is another way, or another guard."""
_READING_MODES = ("read-only", "plan", "ask", "architect")
_EDITING_MODES = (
    "acceptEdits",
    "autoEdit",
    "auto_edit",
    "auto-edit",
    "agent",
    "auto",
    "code",
    "build",
    "default",
)
_READING_TOOLS = frozenset({"read", "search", "think"})
_REFUSED, _UNKNOWN, _INVALID = -32001, -32601, -32602
_LONGEST_FILE = 16 << 20
PATIENCE = 0.95
"""The part of the time after which it is told to stop."""


class Client:
    """Our side of one conversation: hello, a session, a mode where there is one that fits, the
    prompt; and answers meanwhile.
    """

    def __init__(self, ask: Ask, patience: float) -> None:
        self._ask = ask
        self._patience = patience
        self._root = ask.folder.resolve()
        self._lines = Lines()
        self._session = ""
        self._voice: Voice | None = None
        self._alarm: asyncio.TimerHandle | None = None

    def begin(self, voice: Voice) -> None:
        self._voice = voice
        self._alarm = (
            asyncio.get_running_loop().call_later(self._patience, self._enough)
            if self._patience
            else None
        )
        files = {"readTextFile": True, "writeTextFile": self._ask.writes}
        self._request(
            HELLO,
            "initialize",
            protocolVersion=VERSION,
            clientCapabilities={"fs": files, "terminal": False},
        )

    def hear(self, piece: bytes) -> None:
        for line in self._lines.fed(piece):
            heard = event(line)
            if method := heard.text("method"):
                self._asked(method, heard)
            elif heard.has("id"):
                self._answered(heard.count("id"), heard)

    def _enough(self) -> None:
        """Time is nearly up: an agent that stops when told to keeps its session, and says what it
        used.
        """
        if self._session:
            self._send({"method": "session/cancel", "params": {"sessionId": self._session}})

    def _answered(self, number: int, heard: Event) -> None:
        failed = heard.has("error")
        if number == PROMPT or (failed and number not in OPTIONAL):
            self._hang_up()
        elif (
            number == HELLO
            and self._ask.session
            and heard.true("result", "agentCapabilities", "loadSession")
        ):
            self._open(LOAD, "session/load", sessionId=self._ask.session)
        elif number == HELLO or (number == LOAD and failed):
            self._open(SESSION, "session/new")
        elif number in (LOAD, SESSION):
            self._session = heard.text("result", "sessionId") or self._ask.session
            self._settle(mode_for(heard.at("result"), writes=self._ask.writes))
        elif number == MODE:
            self._prompt()

    def _open(self, number: int, method: str, **more: object) -> None:
        self._request(number, method, cwd=str(self._root), mcpServers=[], **more)

    def _settle(self, mode: Mapping[str, str]) -> None:
        if mode:
            method = "session/set_config_option" if "configId" in mode else "session/set_mode"
            self._request(MODE, method, sessionId=self._session, **mode)
        else:
            self._prompt()

    def _prompt(self) -> None:
        self._request(
            PROMPT,
            "session/prompt",
            sessionId=self._session,
            prompt=[{"type": "text", "text": _sendable(self._ask.prompt)}],
        )

    def _asked(self, method: str, heard: Event) -> None:
        if not heard.has("id"):
            return
        asked: Callable[[Event], Mapping[str, Any]] | None = {
            "session/request_permission": self._permission,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
        }.get(method)
        answer = (
            asked(heard.at("params")) if asked else _error(_UNKNOWN, f"{method} is not offered")
        )
        self._send({"id": msgspec.Raw(heard.json("id").encode()), **answer})

    def _permission(self, params: Event) -> Mapping[str, Any]:
        allowed = self._ask.writes or params.text("toolCall", "kind") in _READING_TOOLS
        wanted = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        options = {
            option.text("kind"): option.text("optionId") for option in params.items("options")
        }
        chosen = next((options[kind] for kind in wanted if kind in options), None)
        outcome = (
            {"outcome": "cancelled"}
            if chosen is None
            else {"outcome": "selected", "optionId": chosen}
        )
        return {"result": {"outcome": outcome}}

    def _read(self, params: Event) -> Mapping[str, Any]:
        path = self._inside(params.text("path"))
        if path is None:
            return _error(_REFUSED, "only files of the folder can be read here")
        try:
            with path.open("rb") as file:
                lines = file.read(_LONGEST_FILE).decode(errors="replace").splitlines(keepends=True)
        except OSError as error:
            return _error(_INVALID, f"{path.name}: {error.strerror}")
        first = max(params.count("line") - 1, 0)
        last = first + params.count("limit") if params.has("limit") else None
        return {"result": {"content": "".join(lines[first:last])}}

    def _write(self, params: Event) -> Mapping[str, Any]:
        path = self._inside(params.text("path")) if self._ask.writes else None
        if path is None:
            return _error(
                _REFUSED,
                "only files of the folder can be written here, and only by whom it was asked to"
                " edit",
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(params.text("content"), "utf-8", newline="")
        except (OSError, UnicodeEncodeError) as error:
            return _error(_INVALID, f"{path.name}: {error}")
        return {"result": {}}

    def _inside(self, name: str) -> Path | None:
        """Where a name leads, links followed, if that is in the folder and not git's."""
        try:
            path = (self._root / name).resolve()
        except (OSError, ValueError):
            return None
        fine = (
            name
            and path.is_relative_to(self._root)
            and path.relative_to(self._root).parts[:1] != (".git",)
        )
        return path if fine else None

    def _request(self, number: int, method: str, **params: object) -> None:
        self._send({"id": number, "method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._voice:
            self._voice.say(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")

    def _hang_up(self) -> None:
        if self._alarm:
            self._alarm.cancel()
        if self._voice:
            self._voice.hang_up()


def mode_for(session: Event, *, writes: bool) -> Mapping[str, str]:
    """What to set where the session has a mode for readers, or is in one and shall edit; nothing
    where that is not needed.

    Agents offer modes in an older way, or as one of their options.
    """
    modes = session.at("modes")
    if mode := _mode(
        modes.text("currentModeId"),
        [mode.text("id") for mode in modes.items("availableModes")],
        writes=writes,
    ):
        return {"modeId": mode}
    for option in session.items("configOptions"):
        there = [each.text("value") for each in option.items("options")]
        if option.text("category") == "mode" and (
            mode := _mode(option.text("currentValue"), there, writes=writes)
        ):
            return {"configId": option.text("id"), "value": mode}
    return {}


def _mode(current: str, there: list[str], *, writes: bool) -> str:
    """Names may be addresses that end in the word."""
    known = {name.rpartition("#")[2]: name for name in there}
    if writes and current.rpartition("#")[2] not in _READING_MODES:
        return ""
    return next(
        (known[mode] for mode in (_EDITING_MODES if writes else _READING_MODES) if mode in known),
        "",
    )


def _error(code: int, message: str) -> Mapping[str, Any]:
    return {"error": {"code": code, "message": _sendable(message)}}


def _sendable(text: str) -> str:
    """Names of files may have bytes that are no text, and JSON has no place for them."""
    return text.encode(errors="replace").decode()
