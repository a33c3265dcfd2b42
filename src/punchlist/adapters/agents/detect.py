"""Detect which agents are installed, and their versions; no agent is asked anything."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from punchlist.adapters.agents.registry import AGENTS
from punchlist.adapters.agents.scripted import script
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.process.run import Origin, base_environment, run, which
from punchlist.adapters.sandbox.home_view import list_secrets
from punchlist.adapters.sandbox.installations import find_installations, find_path_installations
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.errors import SettingsError

_WITHOUT_PROGRAM = ("scripted", "dry", "outside")
_NOTES = {
    "dry": "keeps the prompts, and asks no model",
    "outside": "comes for its tasks by itself: punchlist mcp",
}
_OF_THE_USER = ("acp", "command")
"""Programs of the user's own: what they do with `--version` is not known."""
KNOWN = tuple(kind for kind in AGENTS if kind not in (*_WITHOUT_PROGRAM, *_OF_THE_USER))
"""Programs that punchlist knows, by their usual names."""
SECONDS = 12.0
"""The slowest need one or two to print their version; on a busy machine several times that."""
_AT_ONCE = 3
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


INSTALL = {
    "claude": "npm install -g @anthropic-ai/claude-code",
    "codex": "npm install -g @openai/codex",
    "gemini": "npm install -g @google/gemini-cli",
    "opencode": "npm install -g opencode-ai",
    "qwen": "npm install -g @qwen-code/qwen-code",
    "copilot": "npm install -g @github/copilot",
    "aider": "pipx install aider-chat",
}
"""By kind of agent: the line that installs its program."""


def check_installed(names: Iterable[str], own: Mapping[str, AgentSettings]) -> None:
    """Raise SettingsError with the line that installs it if an agent's program is not there."""
    for error in find_missing(names, own).values():
        raise error


def find_missing(
    names: Iterable[str], own: Mapping[str, AgentSettings]
) -> dict[str, SettingsError]:
    """Return the agents whose program is not there, each with the line that installs it."""
    found = {}
    for name in names:
        settings = own.get(name, AgentSettings())
        kind = settings.kind or name
        command = settings.command or ((kind,) if kind in KNOWN else ())
        if kind in _WITHOUT_PROGRAM or not command or which(command[0]) is not None:
            continue
        usual = command[0] == kind and kind in INSTALL
        other = f"install {command[0]}, or name another program in agent.{name}.command"
        hint = INSTALL[kind] if usual else other
        found[name] = SettingsError(f"agent {name}: {command[0]} is not installed", hint=hint)
    return found


class Presence(Struct, frozen=True, kw_only=True):
    name: str
    found: bool
    version: str = ""
    note: str = ""


async def detect_agents(names: Iterable[str], own: Mapping[str, AgentSettings]) -> list[Presence]:
    """Return the presence of each named agent, in order."""
    with temporary_folder("punchlist-") as home:
        probes = _Probes(home, asyncio.Semaphore(_AT_ONCE))
        found = (_detect_agent(name, own.get(name, AgentSettings()), probes) for name in names)
        return list(await asyncio.gather(*found))


class _Probes(NamedTuple):
    """Home folder and semaphore for version probes: only a few run at once."""

    home: Path
    free: asyncio.Semaphore


async def _detect_agent(name: str, settings: AgentSettings, probes: _Probes) -> Presence:
    kind = settings.kind or name
    missing = partial(Presence, name=name, found=False)
    if kind not in AGENTS:
        return missing(note=f"there is no kind of agent called {kind!r}")
    if kind in _WITHOUT_PROGRAM:
        return _check_builtin(name, kind, settings)
    command = settings.command or ((kind,) if kind in KNOWN else ())
    if not command:
        return missing(note=f"agent.{name}.command names no program")
    program = which(command[0])
    if program is None:
        note = f"{command[0]} is not on PATH" if settings.command else "not installed"
        return missing(note=note)
    line = (program, *command[1:])
    if kind in _OF_THE_USER:
        return Presence(name=name, found=True, note=" ".join(line))
    version = await _probe_version(line, probes)
    note = " ".join(line) if version else f"{program} says no version"
    return Presence(name=name, found=True, version=version, note=note)


async def _probe_version(line: tuple[str, ...], probes: _Probes) -> str:
    """Return the version, or ''. Uses a temporary home, because some programs write there."""
    env = {**base_environment(), "HOME": str(probes.home), "TMPDIR": str(probes.home)}
    async with probes.free:
        ran = await run(
            [*line, "--version"],
            origin=Origin.USERS,
            cwd=probes.home,
            env=env,
            timeout=SECONDS,
            walls=_build_walls(line, probes.home),
        )
    found = _VERSION.search(ran.stdout.decode(errors="replace")) if ran.ok else None
    return found[0] if found else ""


def _build_walls(line: Sequence[str], home: Path) -> Sandbox:
    """Return a sandbox for a program that is asked its version: Python programs load what the
    `.pth` files beside them name, which may be code under review.
    """
    path, private = base_environment()["PATH"], (Path.home(),)
    shown = {*find_installations(line, path, private), *find_path_installations(path, private)}
    return Sandbox(
        kind=ChildKind.AGENT,
        binds=tuple((each, each, False) for each in sorted(shown)),
        writable=(resolve_path(home),),
        hidden=list_secrets(Path.home()),
    )


def _check_builtin(name: str, kind: str, settings: AgentSettings) -> Presence:
    if kind in _NOTES:
        return Presence(name=name, found=True, note=_NOTES[kind])
    if not settings.script:
        return Presence(name=name, found=False, note=f"agent.{name}.script names no script")
    try:
        script.load_script(Path(settings.script).expanduser())
    except SettingsError as error:
        return Presence(name=name, found=False, note=str(error))
    return Presence(name=name, found=True, note=settings.script)
