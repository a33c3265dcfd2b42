"""Dry-run agent: saves each prompt as an artifact and never answers."""

from punchlist.adapters.agents.cli_agent import AgentSetup, free_name, make_filename
from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply

NOT_ASKED = "dry run: no agent was asked"


class DryAgent:
    def __init__(self, setup: AgentSetup) -> None:
        self.name = setup.name
        self._artifacts = setup.artifacts

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        """Save the prompt as an artifact, named in the reply as its transcript."""
        name = free_name(self._artifacts, f"prompts/{make_filename(ask.label)}", "md")
        where = self._artifacts.write(name, ask.prompt.encode(errors="replace"))
        hear(f"the prompt is in {where}")
        return Reply(agent=self.name, failed=NOT_ASKED, trouble=AgentTrouble.OTHER, transcript=name)
