"""Registry of the kinds of agents, and how agents are built from settings."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from msgspec.structs import replace

from punchlist.adapters.agents.cli_agent import AgentSetup, CliAgent
from punchlist.adapters.agents.dialect import AgentDialect
from punchlist.adapters.agents.dialects.acp import AcpAgent
from punchlist.adapters.agents.dialects.aider import Aider
from punchlist.adapters.agents.dialects.claude import Claude
from punchlist.adapters.agents.dialects.codex import Codex
from punchlist.adapters.agents.dialects.command import CommandAgent
from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.adapters.agents.dialects.gemini import Gemini
from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.agents.dialects.qwen import Qwen
from punchlist.adapters.agents.dry_run import DryAgent
from punchlist.adapters.agents.outside.agent import OutsideAgent
from punchlist.adapters.agents.scripted.agent import ScriptedAgent
from punchlist.adapters.agents.settings import AgentSettings, AgentsSettings
from punchlist.errors import SettingsError
from punchlist.ports.agent import OUTSIDE, Agent

Make = Callable[[AgentSetup], Agent]


def cli_factory(dialect: Callable[[], AgentDialect]) -> Make:
    """Return a function that builds the CliAgent of a dialect."""
    return lambda setup: CliAgent(dialect(), setup)


AGENTS: Mapping[str, Make] = {
    "claude": cli_factory(Claude),
    "codex": cli_factory(Codex),
    "gemini": cli_factory(Gemini),
    "opencode": cli_factory(Opencode),
    "qwen": cli_factory(Qwen),
    "copilot": cli_factory(Copilot),
    "aider": cli_factory(Aider),
    "acp": AcpAgent,
    "command": CommandAgent,
    OUTSIDE: OutsideAgent,
    "scripted": ScriptedAgent.from_setup,
    "dry": DryAgent,
}


def build_agent(setup: AgentSetup) -> Agent:
    """Build the agent; its kind defaults to its name. Raise SettingsError for an unknown kind."""
    kind = setup.settings.kind or setup.name
    if kind in AGENTS:
        return AGENTS[kind](setup)
    near = get_close_matches(kind, AGENTS, 1)
    raise SettingsError(
        f"agent.{setup.name}: there is no kind of agent called {kind!r}",
        hint=f'did you mean "{near[0]}"?' if near else f"kinds are {', '.join(AGENTS)}",
    )


def merge_settings(
    name: str, own: Mapping[str, AgentSettings], shared: AgentsSettings
) -> AgentSettings:
    """Return an agent's settings, with the shared timeouts where it sets none."""
    settings = own.get(name, AgentSettings())
    return replace(
        settings,
        timeout=settings.timeout or shared.timeout,
        silence=settings.silence or shared.silence,
    )
