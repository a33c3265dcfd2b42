"""Dry-run agent: saves each prompt as an artifact and never answers."""

from itertools import count

from punchlist.adapters.agents.cli_agent import AgentSetup, make_filename
from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply

NOBODY = "dry run: no agent was asked"


class DryAgent:
    def __init__(self, seat: AgentSetup) -> None:
        self._seat = seat

    @property
    def name(self) -> str:
        return self._seat.name

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        """Save the prompt as an artifact, named in the reply as its transcript."""
        stem = f"prompts/{make_filename(ask.label)}"
        name = next(
            free for n in count(1) if self._seat.artifacts.read(free := f"{stem}.{n}.md") is None
        )
        where = self._seat.artifacts.write(name, ask.prompt.encode(errors="replace"))
        hear(f"the prompt is in {where}")
        return Reply(agent=self.name, failed=NOBODY, trouble=AgentTrouble.OTHER, transcript=name)
