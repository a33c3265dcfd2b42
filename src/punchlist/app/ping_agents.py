"""Whether agents answer: each is asked for one word, in an empty folder, and what that cost is
said.
"""

import asyncio
import tempfile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import Seat
from punchlist.adapters.agents.home import Place
from punchlist.adapters.agents.registry import agent, settled
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.errors import SettingsError
from punchlist.ports.agent import Ask, Reply, Trouble
from punchlist.settings import Settings
from punchlist.views.words import dollars

ROLE = "doctor"
WORD = "pong"
_PROMPT = f"Do not use any tools. Answer with the one word: {WORD}"
_LONGEST = 120.0
_SHOWN = 60
_REMEDIES = {
    Trouble.MISSING: "install it, or name the program in agent.{name}.command",
    Trouble.AUTH: "set its key in your environment, or name its login files in agent.{name}.login",
    Trouble.RATE_LIMIT: "try again later",
    Trouble.OVERLOADED: "try again later",
    Trouble.TIMEOUT: "see whether it answers by itself; agent.{name}.timeout gives it more time",
    Trouble.SILENT: "see whether it answers by itself; agent.{name}.silence gives it more time",
}


class Word(Struct, frozen=True, kw_only=True):
    """What came of asking one agent."""

    name: str
    answers: bool
    said: str
    seconds: float = 0


async def asked(settings: Settings, home: Path) -> list[Word]:
    """Everybody in `agents.use`, side by side. `home` is punchlist's own, which they do not see."""
    return list(
        await asyncio.gather(*(_asked(name, settings, home) for name in settings.agents.use))
    )


async def _asked(name: str, settings: Settings, home: Path) -> Word:
    with tempfile.TemporaryDirectory(prefix="punchlist-", ignore_cleanup_errors=True) as made:
        folder = Path(made) / "empty"
        folder.mkdir()
        place = Place(
            folder=Path(made) / "agents",
            state=home,
            user=Path.home(),
            sandbox=settings.agents.sandbox,
        )
        own = settled(name, settings.agent, settings.agents)
        own = replace(own, timeout=min(own.timeout, _LONGEST))
        try:
            player = agent(Seat(name, own, place, FolderArtifacts(Path(made) / "kept")))
        except SettingsError as error:
            return Word(name=name, answers=False, said=f"{error}; {error.hint}")
        ask = Ask(role=ROLE, label=f"{ROLE} {name}", prompt=_PROMPT, folder=folder)
        return _word(name, await player.ask(ask, lambda _: None))


def _word(name: str, reply: Reply) -> Word:
    usage = reply.usage
    if reply.failed or not reply.text.strip():
        why = _short(reply.failed) or "it ended without an answer"
        remedy = _REMEDIES.get(reply.trouble or Trouble.OTHER, "").format(name=name)
        return Word(
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
    cost = dollars(usage.dollars) if usage.dollars else "cost not reported"
    return Word(
        name=name,
        answers=True,
        said=f'said "{_short(reply.text)}"; {counted}, {cost}',
        seconds=usage.seconds,
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN * 4 else f"{line[: _SHOWN * 4]} ..."
