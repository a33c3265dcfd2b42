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
from punchlist.adapters.agents.network import SECRET_NAME
from punchlist.adapters.agents.outside.agent import OutsideAgent
from punchlist.adapters.agents.scripted.agent import ScriptedAgent
from punchlist.adapters.agents.settings import AgentSettings, AgentsSettings
from punchlist.adapters.process.run import named_environment
from punchlist.errors import SettingsError
from punchlist.ports.agent import OUTSIDE, Agent

Make = Callable[[AgentSetup], Agent]


def cli_factory(dialect: Callable[[], AgentDialect]) -> Make:
    """Return a function that builds the CliAgent of a dialect."""
    return lambda setup: CliAgent(dialect(), setup)


_DIALECTS: Mapping[str, Callable[[], AgentDialect]] = {
    "claude": Claude,
    "codex": Codex,
    "gemini": Gemini,
    "opencode": Opencode,
    "qwen": Qwen,
    "copilot": Copilot,
    "aider": Aider,
}
AGENTS: Mapping[str, Make] = {
    **{kind: cli_factory(dialect) for kind, dialect in _DIALECTS.items()},
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


def list_keys(kind: str) -> tuple[str, ...]:
    """Return the variables that hold a key of this kind of agent."""
    keys = _DIALECTS[kind]().keys if kind in _DIALECTS else ()
    return tuple(name for name in keys if SECRET_NAME.search(name))


def find_keys(name: str, settings: AgentSettings) -> tuple[str, ...]:
    """Return the variables with a key that are set for an agent, in its settings or around us."""
    names = (*list_keys(settings.kind or name), *settings.keys)
    given = {**named_environment(names), **settings.env}
    return tuple(each for each in given if SECRET_NAME.search(each) or each in settings.keys)


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
