"""The agents that a run can be started with here."""

from collections.abc import Mapping

from msgspec import Struct

from punchlist.adapters.agents.detect import KNOWN
from punchlist.adapters.agents.registry import AGENTS
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.process.programs import which
from punchlist.settings import Settings


class AgentChoice(Struct, frozen=True):
    """An agent that a run can be started with; `found`: its program is on this machine."""

    name: str
    used: bool
    found: bool


def list_agents(settings: Settings) -> list[AgentChoice]:
    """Return the agents in use, then others of the settings, then known programs that are here."""
    used, own = settings.agents.use, settings.agent
    names = dict.fromkeys((*used, *own, *KNOWN))
    choices = [AgentChoice(name, name in used, _has_program(name, own)) for name in names]
    return [each for each in choices if each.found or each.name in used or each.name in own]


def _has_program(name: str, own: Mapping[str, AgentSettings]) -> bool:
    settings = own.get(name, AgentSettings())
    kind = settings.kind or name
    command = settings.command or ((kind,) if kind in KNOWN else ())
    return kind in AGENTS and (not command or which(command[0]) is not None)
