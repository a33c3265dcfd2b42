"""Dry-run agent: saves each prompt as an artifact and never answers."""

from punchlist.adapters.agents.cli_agent import AgentSetup, make_filename, save_new
from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply

NOT_ASKED = "dry run: no agent was asked"


class DryAgent:
    def __init__(self, setup: AgentSetup) -> None:
        self.name = setup.name
        self._artifacts = setup.artifacts

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        """Save the prompt as an artifact, named in the reply as its transcript."""
        prompt = ask.prompt.encode(errors="replace")
        name = save_new(self._artifacts, f"prompts/{make_filename(ask.label)}", "md", prompt)
        hear(f"the prompt is in {self._artifacts.locate(name)}")
        return Reply(agent=self.name, failed=NOT_ASKED, trouble=AgentTrouble.OTHER, transcript=name)
