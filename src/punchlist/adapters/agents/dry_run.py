"""An agent that is not there: what it would have been asked is kept, and nobody is asked."""

from itertools import count

from punchlist.adapters.agents.cli_agent import Seat, plain
from punchlist.ports.agent import Ask, Hear, Reply, Trouble

NOBODY = "dry run: no agent was asked"


class Dry:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    @property
    def name(self) -> str:
        return self._seat.name

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        """The prompt as an artifact, which the reply names as its transcript."""
        stem = f"prompts/{plain(ask.label)}"
        name = next(
            free for n in count(1) if self._seat.artifacts.read(free := f"{stem}.{n}.md") is None
        )
        where = self._seat.artifacts.write(name, ask.prompt.encode(errors="replace"))
        hear(f"the prompt is in {where}")
        return Reply(agent=self.name, failed=NOBODY, trouble=Trouble.OTHER, transcript=name)
