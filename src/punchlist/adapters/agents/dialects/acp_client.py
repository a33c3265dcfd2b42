"""Client side of the Agent Client Protocol: one conversation, with answers to requests."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from punchlist.adapters.agents.json_lines import JsonEvent, LineBuffer, parse_event
from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.process.run import ChildInput
from punchlist.ports.agent import Ask

VERSION = 1
HELLO, LOAD, SESSION, MODE, PROMPT = range(1, 6)
OPTIONAL = (LOAD, MODE)
"""Requests that may fail."""
_READING_MODES = ("read-only", "plan", "ask", "architect")
_EDITING_MODES = tuple(
    "acceptEdits autoEdit auto_edit auto-edit agent auto code build default".split()
)
_READING_TOOLS = frozenset({"read", "search", "think"})
_REFUSED, _UNKNOWN, _INVALID = -32001, -32601, -32602
_LONGEST_FILE = 16 << 20
PATIENCE = 0.95
"""The part of its timeout after which an agent is asked to stop."""


class AcpClient:
    """One conversation: initialize, session, mode if there is a fitting one, prompt."""

    def __init__(self, ask: Ask, patience: float) -> None:
        self._ask = ask
        self._patience = patience
        self._root = resolve_path(ask.folder)
        self._lines = LineBuffer()
        self._session = ""
        self._stdin: ChildInput | None = None
        self._alarm: asyncio.TimerHandle | None = None

    def begin(self, stdin: ChildInput) -> None:
        self._stdin = stdin
        if self._patience:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(self._patience, self._cancel_session)
        files = {"readTextFile": True, "writeTextFile": self._ask.writes}
        self._send_request(
            HELLO,
            "initialize",
            protocolVersion=VERSION,
            clientCapabilities={"fs": files, "terminal": False},
        )

    def hear(self, piece: bytes) -> None:
        for line in self._lines.feed(piece):
            message = parse_event(line)
            if method := message.text("method"):
                self._handle_request(method, message)
            elif message.has("id"):
                self._handle_response(message.count("id"), message)

    def _cancel_session(self) -> None:
        """Cancel before the deadline, so that the agent saves its session and reports usage."""
        if self._session:
            self._send({"method": "session/cancel", "params": {"sessionId": self._session}})

    def _handle_response(self, number: int, message: JsonEvent) -> None:
        failed, result = message.has("error"), message.get("result")
        loads = self._ask.session and result.is_true("agentCapabilities", "loadSession")
        if number == PROMPT or (failed and number not in OPTIONAL):
            self._hang_up()
        elif number == HELLO and loads:
            self._open_session(LOAD, "session/load", sessionId=self._ask.session)
        elif number == HELLO or (number == LOAD and failed):
            self._open_session(SESSION, "session/new")
        elif number in (LOAD, SESSION):
            self._session = result.text("sessionId") or self._ask.session
            self._set_mode(choose_mode(result, writes=self._ask.writes))
        elif number == MODE:
            self._send_prompt()

    def _open_session(self, number: int, method: str, **more: object) -> None:
        self._send_request(number, method, cwd=str(self._root), mcpServers=[], **more)

    def _set_mode(self, mode: Mapping[str, str]) -> None:
        if mode:
            method = "session/set_config_option" if "configId" in mode else "session/set_mode"
            self._send_request(MODE, method, sessionId=self._session, **mode)
        else:
            self._send_prompt()

    def _send_prompt(self) -> None:
        self._send_request(
            PROMPT,
            "session/prompt",
            sessionId=self._session,
            prompt=[{"type": "text", "text": _replace_surrogates(self._ask.prompt)}],
        )

    def _handle_request(self, method: str, message: JsonEvent) -> None:
        if message.has("id"):
            answer = self._answer_request(method, message.get("params"))
            self._send({"id": msgspec.Raw(message.json("id").encode()), **answer})

    def _answer_request(self, method: str, params: JsonEvent) -> Mapping[str, Any]:
        match method:
            case "session/request_permission":
                return self._decide_permission(params)
            case "fs/read_text_file":
                return self._read_file(params)
            case "fs/write_text_file":
                return self._write_file(params)
            case _:
                return _make_error(_UNKNOWN, f"{method} is not offered")

    def _decide_permission(self, params: JsonEvent) -> Mapping[str, Any]:
        allowed = self._ask.writes or params.text("toolCall", "kind") in _READING_TOOLS
        wanted = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        options = {each.text("kind"): each.text("optionId") for each in params.items("options")}
        outcome = {"outcome": "cancelled"}
        if chosen := [options[kind] for kind in wanted if kind in options]:
            outcome = {"outcome": "selected", "optionId": chosen[0]}
        return {"result": {"outcome": outcome}}

    def _read_file(self, params: JsonEvent) -> Mapping[str, Any]:
        path = self._resolve_path(params.text("path"))
        if path is None:
            return _make_error(_REFUSED, "only files of the folder can be read here")
        try:
            with path.open("rb") as file:
                lines = file.read(_LONGEST_FILE).decode(errors="replace").splitlines(keepends=True)
        except OSError as error:
            return _make_error(_INVALID, f"{path.name}: {error.strerror}")
        first = max(params.count("line") - 1, 0)
        last = first + params.count("limit") if params.has("limit") else None
        return {"result": {"content": "".join(lines[first:last])}}

    def _write_file(self, params: JsonEvent) -> Mapping[str, Any]:
        path = self._resolve_path(params.text("path")) if self._ask.writes else None
        if path is None:
            why = "only files of the folder can be written here, and only by an agent asked to edit"
            return _make_error(_REFUSED, why)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(params.text("content"), "utf-8", newline="")
        except (OSError, UnicodeEncodeError) as error:
            return _make_error(_INVALID, f"{path.name}: {error}")
        return {"result": {}}

    def _resolve_path(self, name: str) -> Path | None:
        """Return the resolved path if it is inside the folder and not in .git, else None."""
        try:
            path = resolve_path(self._root / name)
        except (OSError, ValueError):
            return None
        if not name or not path.is_relative_to(self._root):
            return None
        return None if path.relative_to(self._root).parts[:1] == (".git",) else path

    def _send_request(self, number: int, method: str, **params: object) -> None:
        self._send({"id": number, "method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._stdin:
            self._stdin.send(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")

    def _hang_up(self) -> None:
        if self._alarm:
            self._alarm.cancel()
        if self._stdin:
            self._stdin.close_input()


def choose_mode(session: JsonEvent, *, writes: bool) -> Mapping[str, str]:
    """Return the parameters that set a reading mode, or an editing one if needed; {} for none.
    Agents offer modes in `modes` or in `configOptions`.
    """
    modes = session.get("modes")
    names = [mode.text("id") for mode in modes.items("availableModes")]
    if mode := _pick_mode(modes.text("currentModeId"), names, writes=writes):
        return {"modeId": mode}
    for option in session.items("configOptions"):
        names = [each.text("value") for each in option.items("options")]
        mode = _pick_mode(option.text("currentValue"), names, writes=writes)
        if option.text("category") == "mode" and mode:
            return {"configId": option.text("id"), "value": mode}
    return {}


def _pick_mode(current: str, names: list[str], *, writes: bool) -> str:
    """Return the id of a fitting mode, or ''. An id may be a URL that ends in #NAME."""
    if writes and current.rpartition("#")[2] not in _READING_MODES:
        return ""
    known = {name.rpartition("#")[2]: name for name in names}
    wanted = _EDITING_MODES if writes else _READING_MODES
    return next((known[mode] for mode in wanted if mode in known), "")


def _make_error(code: int, message: str) -> Mapping[str, Any]:
    return {"error": {"code": code, "message": _replace_surrogates(message)}}


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates (from file names), which JSON cannot encode."""
    return text.encode(errors="replace").decode()
