"""Check which programs punchlist can use on this machine, and what is missing."""

import asyncio
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.detect import KNOWN, Presence, detect_agents, find_missing
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.registry import build_agent, find_keys, list_keys, merge_settings
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.analyzers.registry import detect_analyzers
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import ENVIRONMENTS
from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox import support as sandbox
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.app.agents.logins import LoginAnswers, add_logins, is_allowed, list_logins
from punchlist.app.doctor_app import examine_app
from punchlist.app.doctor_project import examine_project
from punchlist.app.probe import Probe
from punchlist.app.session import Session
from punchlist.errors import SettingsError, UsageError
from punchlist.ports.agent import AgentTrouble, Ask, Reply
from punchlist.settings import Settings
from punchlist.views.words import format_dollars, tokens

SHIPPED = ("ruff",)
"""Installed with punchlist: if it is missing, the installation is broken."""
_BUBBLEWRAP = "install bubblewrap for a complete sandbox, for example: apt install bubblewrap"
_REINSTALL = "install punchlist again, for example: pipx reinstall punchlist"
ROLE = "doctor"
WORD = "pong"
_PROMPT = f"Do not use any tools. Answer with the one word: {WORD}"
_USE_LOGINS = "agents.logins = true in your settings, or --set agents.logins=true"
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


async def examine_setup(session: Session, folder: Path, *, ask: bool = False) -> list[Probe]:
    """Probe the machine, and the project around the folder if there is one; with `ask`, also
    whether the agents in use answer, which costs.
    """
    loaded, _ = add_logins(session.settings(), session.settings().settings.agents.use, session.home)
    settings = loaded.settings
    kit = await _build_kit(session.checkout)
    found = await run_probes(session.home, kit, settings)
    found = [*found, *await examine_app(session, folder)]
    found = [*found, *await examine_project(session, folder, found)]
    return [*found, *await ask_agents(session.home, settings)] if ask else found


async def run_probes(home: Path, kit: Kit, settings: Settings) -> list[Probe]:
    machine = [_probe_python(), await _probe_git(), _probe_home(home), _probe_sandbox()]
    return [*machine, *await _probe_analyzers(kit), *await _probe_agents(settings, home)]


def _probe_python() -> Probe:
    version = platform.python_version()
    return Probe(name="python", found=True, version=version, note=sys.executable, needed=True)


async def _probe_git() -> Probe:
    ran = await run(["git", "--version"], origin=Origin.OURS, cwd=Path("/"), timeout=10)
    version = ran.stdout.decode("utf-8", "replace").removeprefix("git version").strip()
    remedy = "" if ran.ok else "install git, for example: apt install git"
    return Probe(
        name="git", found=ran.ok, version=version, note=ran.trouble, needed=True, remedy=remedy
    )


def _probe_home(home: Path) -> Probe:
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".writable"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        note, remedy = f"{home}: {error.strerror}", "export PUNCHLIST_HOME=A_FOLDER_YOU_CAN_WRITE"
        return Probe(name="state folder", found=False, note=note, needed=True, remedy=remedy)
    return Probe(name="state folder", found=True, note=str(home), needed=True)


def _probe_sandbox() -> Probe:
    kind, lacks = sandbox.sandbox_kind(), sandbox.probe_support().weaknesses
    missing = "checks, analyzers and agents run without a sandbox"
    note = "; ".join(lacks) if kind != "none" else missing
    root = "you are root" if os.getuid() == 0 else ""
    return Probe(
        name="sandbox",
        found=kind != "none",
        version=kind,
        note="; ".join(filter(None, (note, root))),
        remedy=_BUBBLEWRAP if kind in ("none", "landlock") else "",
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
            works=tool.name if tool.there else "",
            remedy=_REINSTALL if tool.name in SHIPPED and not tool.there else "",
        )
        for tool in await detect_analyzers(kit=kit)
    ]


async def _probe_agents(settings: Settings, home: Path) -> list[Probe]:
    """Return agents in use first, then other configured ones, then known programs."""
    used = settings.agents.use
    found = await detect_agents(dict.fromkeys([*used, *settings.agent, *KNOWN]), settings.agent)
    answers = LoginAnswers(home).load()
    return [_describe_agent(agent, settings, answers) for agent in found]


def _describe_agent(agent: Presence, settings: Settings, answers: Mapping[str, bool]) -> Probe:
    used = agent.name in settings.agents.use
    said, remedy = _describe_access(agent.name, settings, answers) if agent.found else ("", "")
    if used and not agent.found:
        missing = find_missing([agent.name], settings.agent)
        remedy = missing[agent.name].hint if agent.name in missing else ""
    parts = (agent.note, said, "in agents.use" if used else "")
    return Probe(
        name=f"agent {agent.name}",
        found=agent.found,
        version=agent.version,
        note="; ".join(filter(None, parts)),
        needed=used,
        remedy=remedy,
    )


def _describe_access(name: str, settings: Settings, answers: Mapping[str, bool]) -> tuple[str, str]:
    """Return by what an agent is logged in, and what to type if it is not or may not use it."""
    own = settings.agent.get(name, AgentSettings())
    if keys := find_keys(name, own):
        return f"has a key ({', '.join(keys)})", ""
    if own.login:
        return "gets a copy of its login", ""
    for login in list_logins([name], settings):
        allowed = is_allowed(login, settings, answers)
        if allowed:
            return f"gets a copy of {login.shown}", ""
        word = "you are asked before it gets" if allowed is None else "does not get"
        return f"{word} a copy of {login.shown}", "" if allowed is None else _USE_LOGINS
    usual = list_keys(own.kind or name)
    if not usual:
        return "", ""
    return "no key and no login were found", f"start `{name}` and log in, or set {usual[0]}"


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
    with temporary_folder("punchlist-") as made:
        folder = made / "empty"
        folder.mkdir()
        place = AgentPlace(
            folder=made / "agents",
            state=home,
            user=Path.home(),
            sandbox=settings.agents.sandbox,
            hosts=settings.agents.hosts,
            wishes=settings.sandbox.wishes,
        )
        own = merge_settings(name, settings.agent, settings.agents)
        own = replace(own, timeout=min(own.timeout, _LONGEST))
        try:
            agent = build_agent(AgentSetup(name, own, place, FolderArtifacts(made / "kept")))
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
