"""Check which programs punchlist can use on this machine, and what is missing."""

import asyncio
import os
import platform
import sys
import tempfile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.detect import KNOWN, detect_agents
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.registry import build_agent, merge_settings
from punchlist.adapters.analyzers.registry import detect_analyzers
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import ENVIRONMENTS
from punchlist.adapters.process.run import run
from punchlist.adapters.sandbox import support as sandbox
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.app.session import Session
from punchlist.errors import SettingsError, UsageError
from punchlist.ports.agent import AgentTrouble, Ask, Reply
from punchlist.settings import Settings
from punchlist.views.words import format_dollars, tokens

SHIPPED = ("ruff", "bandit", "ast-grep")
"""Installed with punchlist: if one of these is missing, the installation is broken."""
ROLE = "doctor"
WORD = "pong"
_PROMPT = f"Do not use any tools. Answer with the one word: {WORD}"
_LONGEST = 120.0
_SHOWN = 240
_REMEDIES = {
    AgentTrouble.MISSING: "install it, or name the program in agent.{name}.command",
    AgentTrouble.AUTH: (
        "set its key in your environment, or name its login files in agent.{name}.login"
    ),
    AgentTrouble.RATE_LIMIT: "try again later",
    AgentTrouble.OVERLOADED: "try again later",
    AgentTrouble.TIMEOUT: "see whether it answers alone; agent.{name}.timeout gives it more time",
    AgentTrouble.SILENT: "see whether it answers alone; agent.{name}.silence gives it more time",
}


class Probe(Struct, frozen=True, kw_only=True):
    name: str
    found: bool
    version: str = ""
    note: str = ""
    needed: bool = False
    mark: str = ""
    """In the place of `found` or `missing`."""


async def examine_setup(session: Session, *, ask: bool = False) -> list[Probe]:
    """Probe the machine; with `ask`, also whether the agents in use answer, which costs."""
    settings = session.settings().settings
    kit = await _build_kit(session.checkout)
    found = await run_probes(session.home, kit, settings)
    return [*found, *await ask_agents(session.home, settings)] if ask else found


async def run_probes(home: Path, kit: Kit, settings: Settings) -> list[Probe]:
    machine = [_probe_python(), await _probe_git(), _probe_home(home), _probe_sandbox()]
    return [*machine, *await _probe_analyzers(kit), *await _probe_agents(settings)]


def _probe_python() -> Probe:
    version = platform.python_version()
    return Probe(name="python", found=True, version=version, note=sys.executable, needed=True)


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
        note = f"{home}: {error.strerror}; set PUNCHLIST_HOME"
        return Probe(name="state folder", found=False, note=note, needed=True)
    return Probe(name="state folder", found=True, note=str(home), needed=True)


def _probe_sandbox() -> Probe:
    kind, lacks = sandbox.sandbox_kind(), sandbox.probe_support().weaknesses
    missing = "checks and analyzers run without a sandbox; install bubblewrap to have one"
    better = ["install bubblewrap for a complete one"] if kind == "landlock" else []
    note = "; ".join((*lacks, *better)) if kind != "none" else missing
    root = "you are root" if os.getuid() == 0 else ""
    return Probe(
        name="sandbox",
        found=kind != "none",
        version=kind,
        note="; ".join(filter(None, (note, root))),
    )


async def _build_kit(checkout: Checkout | None) -> Kit:
    if checkout is None:
        return Kit()
    return Kit(checkout=checkout.root, tracked=await checkout.list_tracked(ENVIRONMENTS))


async def _probe_analyzers(kit: Kit) -> list[Probe]:
    return [
        Probe(
            name=tool.name,
            found=tool.there,
            version=tool.version,
            note=" ".join(tool.command) if tool.there else "not installed",
            needed=tool.name in SHIPPED,
        )
        for tool in await detect_analyzers(kit=kit)
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


async def ask_agents(home: Path, settings: Settings) -> list[Probe]:
    """Ask each agent in use for one word, in parallel, which costs. The state folder `home` is
    hidden from them. Raise UsageError if there is none.
    """
    if not settings.agents.use:
        raise UsageError(
            "no agent to ask: agents.use names no agent",
            hint="punchlist doctor --ask --set agents.use=claude",
        )
    questions = (_ask_agent(name, settings, home) for name in settings.agents.use)
    return list(await asyncio.gather(*questions))


async def _ask_agent(name: str, settings: Settings, home: Path) -> Probe:
    with tempfile.TemporaryDirectory(prefix="punchlist-", ignore_cleanup_errors=True) as made:
        folder = Path(made) / "empty"
        folder.mkdir()
        place = AgentPlace(
            folder=Path(made) / "agents",
            state=home,
            user=Path.home(),
            sandbox=settings.agents.sandbox,
            hosts=settings.agents.hosts,
            wishes=settings.sandbox.wishes,
        )
        own = merge_settings(name, settings.agent, settings.agents)
        own = replace(own, timeout=min(own.timeout, _LONGEST))
        try:
            agent = build_agent(AgentSetup(name, own, place, FolderArtifacts(Path(made) / "kept")))
        except SettingsError as error:
            return _answer_probe(name, f"{error}; {error.hint}", answers=False)
        ask = Ask(role=ROLE, label=f"{ROLE} {name}", prompt=_PROMPT, folder=folder)
        return _judge_reply(name, await agent.ask(ask, lambda _: None))


def _judge_reply(name: str, reply: Reply) -> Probe:
    usage = reply.usage
    if reply.failed or not reply.text.strip():
        why = _clip_text(reply.failed) or "it ended without an answer"
        remedy = _REMEDIES.get(reply.trouble or AgentTrouble.OTHER, "").format(name=name)
        said = f"{why}; {remedy}" if remedy else why
        return _answer_probe(name, said, usage.seconds, answers=False)
    counted = tokens(usage) if usage.input_tokens else "tokens not reported"
    cost = format_dollars(usage.dollars) if usage.dollars else "cost not reported"
    said = f'said "{_clip_text(reply.text)}"; {counted}, {cost}'
    return _answer_probe(name, said, usage.seconds, answers=True)


def _answer_probe(name: str, said: str, seconds: float = 0, *, answers: bool) -> Probe:
    return Probe(
        name=f"ask {name}",
        found=answers,
        version=f"{seconds:.1f} s" if seconds else "",
        note=said,
        needed=True,
        mark="answers" if answers else "fails",
    )


def _clip_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."
