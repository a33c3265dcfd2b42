"""Every kind of agent there is, and how the ones a user named are made."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import CliAgent, Dialect, Seat
from punchlist.adapters.agents.dialects.acp import AcpAgent
from punchlist.adapters.agents.dialects.aider import Aider
from punchlist.adapters.agents.dialects.claude import Claude
from punchlist.adapters.agents.dialects.codex import Codex
from punchlist.adapters.agents.dialects.command import Command
from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.adapters.agents.dialects.gemini import Gemini
from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.agents.dialects.qwen import Qwen
from punchlist.adapters.agents.dry_run import Dry
from punchlist.adapters.agents.home import Place
from punchlist.adapters.agents.outside.agent import Outside
from punchlist.adapters.agents.scripted.agent import Scripted
from punchlist.adapters.agents.settings import AgentSettings, AgentsSettings
from punchlist.errors import SettingsError
from punchlist.ports.agent import OUTSIDE, Agent
from punchlist.ports.artifacts import Artifacts

Make = Callable[[Seat], Agent]


def command(dialect: Callable[[], Dialect]) -> Make:
    """How an agent of a dialect is made."""
    return lambda seat: CliAgent(dialect(), seat)


AGENTS: Mapping[str, Make] = MappingProxyType(
    {
        "claude": command(Claude),
        "codex": command(Codex),
        "gemini": command(Gemini),
        "opencode": command(Opencode),
        "qwen": command(Qwen),
        "copilot": command(Copilot),
        "aider": command(Aider),
        "acp": AcpAgent,
        "command": Command,
        OUTSIDE: Outside,
        "scripted": Scripted.seated,
        "dry": Dry,
    }
)
"""By kind. One line for each."""


def agent(seat: Seat) -> Agent:
    """The agent of a seat; its kind is its name where the settings give none."""
    kind = seat.settings.kind or seat.name
    if kind in AGENTS:
        return AGENTS[kind](seat)
    near = get_close_matches(kind, AGENTS, 1)
    raise SettingsError(
        f"agent.{seat.name}: there is no kind of agent called {kind!r}",
        hint=f'did you mean "{near[0]}"?' if near else f"kinds are {', '.join(AGENTS)}",
    )


def settled(name: str, own: Mapping[str, AgentSettings], shared: AgentsSettings) -> AgentSettings:
    """An agent's settings with the shared ones where it has none of its own."""
    settings = own.get(name, AgentSettings())
    return replace(
        settings,
        timeout=settings.timeout or shared.timeout,
        silence=settings.silence or shared.silence,
    )


def agents(
    names: Iterable[str],
    own: Mapping[str, AgentSettings],
    shared: AgentsSettings,
    place: Place,
    artifacts: Artifacts,
) -> dict[str, Agent]:
    """The named agents, in order."""
    return {name: agent(Seat(name, settled(name, own, shared), place, artifacts)) for name in names}
