"""What to write where, so that a client starts the server."""

import json
import sys
from collections.abc import Callable, Mapping
from shutil import which
from types import MappingProxyType
from typing import Any

from msgspec import Struct


class Command(Struct, frozen=True):
    """How the server is started; `trees` are the folders in which the client must be able to write
    to play the fixer.
    """

    arguments: tuple[str, ...]
    env: dict[str, str]
    trees: tuple[str, ...]

    @property
    def program(self) -> str:
        return which("punchlist") or sys.executable

    @property
    def line(self) -> list[str]:
        own = [] if which("punchlist") else ["-m", "punchlist"]
        return [*own, "mcp", *self.arguments]

    @property
    def entry(self) -> dict[str, Any]:
        return {
            "command": self.program,
            "args": self.line,
            **({"env": self.env} if self.env else {}),
        }


class Snippet(Struct, frozen=True):
    """`note` says where it belongs, `text` is the file's part itself."""

    note: str
    text: str


def _claude(command: Command) -> Snippet:
    note = (
        ".mcp.json in the repository; to play the fixer, start it as: claude --add-dir"
        f" {' '.join(command.trees)}"
    )
    return Snippet(note, _servers(command))


def _codex(command: Command) -> Snippet:
    pairs = ", ".join(f"{key} = {_text(value)}" for key, value in command.env.items())
    env = [f"env = {{ {pairs} }}"] if command.env else []
    lines = (
        "[mcp_servers.punchlist]",
        f"command = {_text(command.program)}",
        f"args = {json.dumps(command.line)}",
        *env,
        "tool_timeout_sec = 330",
        '# default_tools_approval_mode = "approve"  # for `codex exec`, where no user can be asked',
        "",
        "# to play the fixer it must be able to write in the work trees",
        "[sandbox_workspace_write]",
        f"writable_roots = {json.dumps(command.trees)}",
    )
    return Snippet("~/.codex/config.toml", "\n".join(lines))


def _gemini(command: Command) -> Snippet:
    folders = {"context": {"includeDirectories": command.trees}}
    return Snippet(
        "~/.gemini/settings.json", _json({"mcpServers": {"punchlist": command.entry}, **folders})
    )


def _opencode(command: Command) -> Snippet:
    entry = {"type": "local", "command": [command.program, *command.line], "enabled": True}
    own = {"environment": command.env} if command.env else {}
    return Snippet(
        _where("opencode.json", command), _json({"mcp": {"punchlist": {**entry, **own}}})
    )


def _vscode(command: Command) -> Snippet:
    entry = {"type": "stdio", **command.entry}
    return Snippet(_where(".vscode/mcp.json", command), _json({"servers": {"punchlist": entry}}))


def _other(command: Command) -> Snippet:
    return Snippet(_where("most clients take this", command), _servers(command))


CLIENTS: Mapping[str, Callable[[Command], Snippet]] = MappingProxyType(
    {
        "claude": _claude,
        "codex": _codex,
        "gemini": _gemini,
        "opencode": _opencode,
        "vscode": _vscode,
        "other": _other,
    }
)
"""One line for each."""


def _where(file: str, command: Command) -> str:
    """For clients that ask the person when they write elsewhere, or have no setting for it that we
    know.
    """
    return f"{file}; to play the fixer, it must be able to write in {' '.join(command.trees)}"


def _servers(command: Command) -> str:
    return _json({"mcpServers": {"punchlist": command.entry}})


def _json(told: dict[str, Any]) -> str:
    return json.dumps(told, indent=2)


def _text(value: str) -> str:
    """As TOML and JSON both write it."""
    return json.dumps(value)
