"""Several agents asked as one: patiently where trouble passes by itself, and in order where it does
not.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.backoff import retry_delay
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Agent, Ask, Hear, Reply, Trouble

_LOST = frozenset({Trouble.CRASHED, Trouble.OTHER})
"""What agents say, each in its own words, of a session they do not have."""


class Patience(Struct, frozen=True, kw_only=True):
    """Waits double from `first` to `longest` seconds; somebody who asks for more than the longest
    is not waited for.
    """

    retries: int = 4
    first: float = 2
    longest: float = 300

    def wait(self, tried: int, asked_for: float, luck: float) -> float | None:
        """Seconds until the next try; None where there is none. `luck` (0 to 1) spreads those who
        were refused together.
        """
        if tried > self.retries or asked_for > self.longest:
            return None
        delay = retry_delay(tried, luck, first=self.first, longest=self.longest)
        return max(asked_for, delay)


class Patient:
    """An Agent made of agents. A session is its owner's: it is asked first, and the others begin
    anew.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        patience: Patience,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        luck: Callable[[], float] = random.random,
    ) -> None:
        if not agents:
            raise ValueError("there is no agent to ask")
        self._agents = tuple(agents)
        self._patience = patience
        self._sleep = sleep
        self._luck = luck

    @property
    def name(self) -> str:
        return self._agents[0].name

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        owner, _, session = ask.session.partition(":")
        replies: list[Reply] = []
        for agent in sorted(
            self._agents, key=lambda agent: agent.name != owner
        ):  # stable: the others keep their order
            mine = agent.name == owner
            own = replace(ask, session=session if mine else "", fork=ask.fork and mine)
            replies += await self._patiently(agent, own, hear)
            if own.session and replies[-1].trouble in _LOST:
                replies += await self._patiently(agent, replace(own, session="", fork=False), hear)
            if not replies[-1].failed:
                break
        return _joined(replies)

    async def _patiently(self, agent: Agent, ask: Ask, hear: Hear) -> list[Reply]:
        """All that came of asking one agent, until it answered or there was no point in waiting."""
        replies = [await agent.ask(ask, hear)]
        while (trouble := replies[-1].trouble) and trouble.passing:
            wait = self._patience.wait(len(replies), replies[-1].retry_after, self._luck())
            if wait is None:
                break
            hear(f"({agent.name}: {trouble}; asked again in {wait:.0f} s)")
            await self._sleep(wait)
            replies.append(await agent.ask(ask, hear))
        return replies


def _joined(replies: Sequence[Reply]) -> Reply:
    """The last reply, with what all of them cost, and a session that names its owner."""
    last = replies[-1]
    failures = dict.fromkeys(f"{reply.agent}: {reply.failed}" for reply in replies)
    return replace(
        last,
        session=f"{last.agent}:{last.session}" if last.session else "",
        usage=sum((reply.usage for reply in replies), Usage()),
        failed="; ".join(failures) if last.failed else "",
        tries=sum(reply.tries for reply in replies),
    )
