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
    def folders(self) -> str:
        return " ".join(self.trees)

    @property
    def program(self) -> str:
        return which("punchlist") or sys.executable

    @property
    def line(self) -> list[str]:
        module = [] if which("punchlist") else ["-m", "punchlist"]
        return [*module, "mcp", *self.arguments]

    @property
    def entry(self) -> dict[str, Any]:
        env = {"env": self.env} if self.env else {}
        return {"command": self.program, "args": self.line, **env}


class Snippet(Struct, frozen=True):
    """`note` says where it belongs; `text` is that part of the file."""

    note: str
    text: str


def _claude_config(command: Launcher) -> Snippet:
    start = f"to play the fixer, start it as: claude --add-dir {command.folders}"
    servers = {"punchlist": command.entry}
    return _json_snippet(f".mcp.json in the repository; {start}", mcpServers=servers)


def _codex_config(command: Launcher) -> Snippet:
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in command.env.items())
    lines = (
        "[mcp_servers.punchlist]",
        f"command = {json.dumps(command.program)}",
        f"args = {json.dumps(command.line)}",
        *([f"env = {{ {pairs} }}"] if pairs else []),
        "tool_timeout_sec = 330",
        '# default_tools_approval_mode = "approve"  # for `codex exec`, where no user can be asked',
        "",
        "# to play the fixer it must be able to write in the work trees",
        "[sandbox_workspace_write]",
        f"writable_roots = {json.dumps(command.trees)}",
    )
    return Snippet("~/.codex/config.toml", "\n".join(lines))


def _gemini_config(command: Launcher) -> Snippet:
    folders = {"includeDirectories": command.trees}
    servers = {"punchlist": command.entry}
    return _json_snippet("~/.gemini/settings.json", mcpServers=servers, context=folders)


def _opencode_config(command: Launcher) -> Snippet:
    entry = {"type": "local", "command": [command.program, *command.line], "enabled": True}
    env = {"environment": command.env} if command.env else {}
    return _json_snippet(_write_note("opencode.json", command), mcp={"punchlist": entry | env})


def _vscode_config(command: Launcher) -> Snippet:
    servers = {"punchlist": {"type": "stdio", **command.entry}}
    return _json_snippet(_write_note(".vscode/mcp.json", command), servers=servers)


def _other_config(command: Launcher) -> Snippet:
    note = _write_note("most clients take this", command)
    return _json_snippet(note, mcpServers={"punchlist": command.entry})


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


def _write_note(file: str, command: Launcher) -> str:
    """Return the note for clients that have no known setting for writable folders."""
    return f"{file}; to play the fixer, it must be able to write in {command.folders}"


def _json_snippet(note: str, **content: Any) -> Snippet:
    return Snippet(note, json.dumps(content, indent=2))
