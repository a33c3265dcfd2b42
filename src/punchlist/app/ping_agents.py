"""Ask each agent for one word in an empty folder, and say what it cost."""

import asyncio
import tempfile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.registry import build_agent, merge_settings
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.errors import SettingsError
from punchlist.ports.agent import AgentTrouble, Ask, Reply
from punchlist.settings import Settings
from punchlist.views.words import format_dollars

ROLE = "doctor"
WORD = "pong"
_PROMPT = f"Do not use any tools. Answer with the one word: {WORD}"
_LONGEST = 120.0
_SHOWN = 60
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


class PingResult(Struct, frozen=True, kw_only=True):
    name: str
    answers: bool
    said: str
    seconds: float = 0


async def ping_agents(settings: Settings, home: Path) -> list[PingResult]:
    """Ask all of `agents.use` in parallel. `home` is the state folder, hidden from them."""
    return list(
        await asyncio.gather(*(_ping_agent(name, settings, home) for name in settings.agents.use))
    )


async def _ping_agent(name: str, settings: Settings, home: Path) -> PingResult:
    with tempfile.TemporaryDirectory(prefix="punchlist-", ignore_cleanup_errors=True) as made:
        folder = Path(made) / "empty"
        folder.mkdir()
        place = AgentPlace(
            folder=Path(made) / "agents",
            state=home,
            user=Path.home(),
            sandbox=settings.agents.sandbox,
        )
        own = merge_settings(name, settings.agent, settings.agents)
        own = replace(own, timeout=min(own.timeout, _LONGEST))
        try:
            player = build_agent(AgentSetup(name, own, place, FolderArtifacts(Path(made) / "kept")))
        except SettingsError as error:
            return PingResult(name=name, answers=False, said=f"{error}; {error.hint}")
        ask = Ask(role=ROLE, label=f"{ROLE} {name}", prompt=_PROMPT, folder=folder)
        return _make_result(name, await player.ask(ask, lambda _: None))


def _make_result(name: str, reply: Reply) -> PingResult:
    usage = reply.usage
    if reply.failed or not reply.text.strip():
        why = _clip_text(reply.failed) or "it ended without an answer"
        remedy = _REMEDIES.get(reply.trouble or AgentTrouble.OTHER, "").format(name=name)
        return PingResult(
            name=name,
            answers=False,
            said=f"{why}; {remedy}" if remedy else why,
            seconds=usage.seconds,
        )
    counted = (
        f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
        if usage.input_tokens
        else "tokens not reported"
    )
    cost = format_dollars(usage.dollars) if usage.dollars else "cost not reported"
    return PingResult(
        name=name,
        answers=True,
        said=f'said "{_clip_text(reply.text)}"; {counted}, {cost}',
        seconds=usage.seconds,
    )


def _clip_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN * 4 else f"{line[: _SHOWN * 4]} ..."
