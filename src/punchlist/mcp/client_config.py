"""Configuration snippets with which MCP clients start the server."""

import json
import sys
from collections.abc import Callable, Mapping
from shutil import which
from types import MappingProxyType
from typing import Any

from msgspec import Struct


class Launcher(Struct, frozen=True):
    """How to start the server. `trees`: folders the client must be able to write to as fixer."""

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
    """`note` says where it belongs; `text` is that part of the file."""

    note: str
    text: str


def _claude_config(command: Launcher) -> Snippet:
    note = (
        ".mcp.json in the repository; to play the fixer, start it as: claude --add-dir"
        f" {' '.join(command.trees)}"
    )
    return Snippet(note, _render_servers(command))


def _codex_config(command: Launcher) -> Snippet:
    pairs = ", ".join(f"{key} = {_quote_text(value)}" for key, value in command.env.items())
    env = [f"env = {{ {pairs} }}"] if command.env else []
    lines = (
        "[mcp_servers.punchlist]",
        f"command = {_quote_text(command.program)}",
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


def _gemini_config(command: Launcher) -> Snippet:
    folders = {"context": {"includeDirectories": command.trees}}
    return Snippet(
        "~/.gemini/settings.json",
        _dump_json({"mcpServers": {"punchlist": command.entry}, **folders}),
    )


def _opencode_config(command: Launcher) -> Snippet:
    entry = {"type": "local", "command": [command.program, *command.line], "enabled": True}
    own = {"environment": command.env} if command.env else {}
    return Snippet(
        _write_note("opencode.json", command), _dump_json({"mcp": {"punchlist": {**entry, **own}}})
    )


def _vscode_config(command: Launcher) -> Snippet:
    entry = {"type": "stdio", **command.entry}
    return Snippet(
        _write_note(".vscode/mcp.json", command), _dump_json({"servers": {"punchlist": entry}})
    )


def _other_config(command: Launcher) -> Snippet:
    return Snippet(_write_note("most clients take this", command), _render_servers(command))


CLIENTS: Mapping[str, Callable[[Launcher], Snippet]] = MappingProxyType(
    {
        "claude": _claude_config,
        "codex": _codex_config,
        "gemini": _gemini_config,
        "opencode": _opencode_config,
        "vscode": _vscode_config,
        "other": _other_config,
    }
)
"""One line for each."""


def _write_note(file: str, command: Launcher) -> str:
    """Return the note for clients that have no known setting for writable folders."""
    return f"{file}; to play the fixer, it must be able to write in {' '.join(command.trees)}"


def _render_servers(command: Launcher) -> str:
    return _dump_json({"mcpServers": {"punchlist": command.entry}})


def _dump_json(told: dict[str, Any]) -> str:
    return json.dumps(told, indent=2)


def _quote_text(value: str) -> str:
    """Quote for TOML and JSON alike."""
    return json.dumps(value)
