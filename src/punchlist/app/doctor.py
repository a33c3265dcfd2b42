"""Check which programs punchlist can use on this machine, and what is missing."""

import platform
import sys
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.agents.detect import KNOWN, detect_agents
from punchlist.adapters.analyzers.registry import detect_analyzers
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.process import sandbox
from punchlist.adapters.process.run import run
from punchlist.app.ping_agents import ping_agents
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.settings import Settings

SHIPPED = ("ruff", "bandit", "ast-grep")
"""Installed with punchlist: if one of these is missing, the installation is broken."""


class Probe(Struct, frozen=True, kw_only=True):
    name: str
    found: bool
    version: str = ""
    note: str = ""
    needed: bool = False
    mark: str = ""
    """In the place of `found` or `missing`."""


async def run_probes(home: Path, checkout: Path | None, settings: Settings) -> list[Probe]:
    machine = [_probe_python(), await _probe_git(), _probe_home(home), _probe_sandbox()]
    return [*machine, *await _probe_analyzers(checkout), *await _probe_agents(settings)]


async def ask_agents(home: Path, settings: Settings) -> list[Probe]:
    """Ask each agent in use for one word, which costs. Raise UsageError if there is none."""
    if not settings.agents.use:
        raise UsageError(
            "no agent to ask: agents.use names no agent",
            hint="punchlist doctor --ask --set agents.use=claude",
        )
    return [
        Probe(
            name=f"ask {word.name}",
            found=word.answers,
            version=f"{word.seconds:.1f} s" if word.seconds else "",
            note=word.said,
            needed=True,
            mark="answers" if word.answers else "fails",
        )
        for word in await ping_agents(settings, home)
    ]


def _probe_python() -> Probe:
    return Probe(
        name="python",
        found=True,
        version=platform.python_version(),
        note=sys.executable,
        needed=True,
    )


async def _probe_git() -> Probe:
    ran = await run(["git", "--version"], cwd=Path.cwd(), timeout=10)
    version = ran.stdout.decode("utf-8", "replace").removeprefix("git version").strip()
    return Probe(name="git", found=ran.ok, version=version, note=ran.trouble, needed=True)


def _probe_home(home: Path) -> Probe:
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".writable"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Probe(
            name="state folder",
            found=False,
            note=f"{home}: {error.strerror}; set PUNCHLIST_HOME",
            needed=True,
        )
    return Probe(name="state folder", found=True, note=str(home), needed=True)


def _probe_sandbox() -> Probe:
    kind = sandbox.sandbox_kind()
    note = (
        ""
        if kind != "none"
        else "checks and analyzers run without a sandbox; install bubblewrap to have one"
    )
    return Probe(name="sandbox", found=kind != "none", version=kind, note=note)


async def _probe_analyzers(checkout: Path | None) -> list[Probe]:
    tools = await detect_analyzers(kit=Kit(checkout=checkout))
    return [
        Probe(
            name=tool.name,
            found=tool.there,
            version=tool.version,
            note=" ".join(tool.command) if tool.there else "not installed",
            needed=tool.name in SHIPPED,
        )
        for tool in tools
    ]


async def _probe_agents(settings: Settings) -> list[Probe]:
    """Return agents in use first, then other configured ones, then known programs."""
    used = settings.agents.use
    found = await detect_agents(dict.fromkeys([*used, *settings.agent, *KNOWN]), settings.agent)
    return [
        Probe(
            name=f"agent {agent.name}",
            found=agent.found,
            version=agent.version,
            note=f"{agent.note} (in agents.use)" if agent.name in used else agent.note,
            needed=agent.name in used,
        )
        for agent in found
    ]


async def examine_setup(session: Session, *, ask: bool = False) -> list[Probe]:
    """What is there; with `ask`, also whether the agents in use answer, which costs."""
    settings = session.settings().settings
    found = await run_probes(
        session.home, session.checkout.root if session.checkout else None, settings
    )
    return [*found, *await ask_agents(session.home, settings)] if ask else found
