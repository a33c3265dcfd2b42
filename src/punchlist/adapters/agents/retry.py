"""Ask several agents as one: retry passing trouble, then go on to the next agent."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.backoff import retry_delay
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Agent, AgentTrouble, Ask, Hear, Reply

_LOST = frozenset({AgentTrouble.CRASHED, AgentTrouble.OTHER})
"""The trouble of agents that do not know the session."""


class AgentRetryPolicy(Struct, frozen=True, kw_only=True):
    """Delays double from `first` to `longest`; an agent that asks for more is not retried."""

    retries: int = 4
    first: float = 2
    longest: float = 300

    def next_delay(self, tried: int, asked_for: float, luck: float) -> float | None:
        """Return the seconds until the next try, or None. `luck` (0 to 1) is the jitter."""
        if tried > self.retries or asked_for > self.longest:
            return None
        delay = retry_delay(tried, luck, first=self.first, longest=self.longest)
        return max(asked_for, delay)


class RetryingAgent:
    """Agent made of agents. The owner of the session is asked first; the others start a new one."""

    def __init__(
        self,
        agents: Sequence[Agent],
        patience: AgentRetryPolicy,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        luck: Callable[[], float] = random.random,
    ) -> None:
        if not agents:
            raise ValueError("there is no agent to ask")
        self.name = agents[0].name
        self._agents = tuple(agents)
        self._patience = patience
        self._sleep = sleep
        self._luck = luck

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        owner, _, session = ask.session.partition(":")
        replies: list[Reply] = []
        for agent in sorted(self._agents, key=lambda agent: agent.name != owner):
            mine = agent.name == owner
            own = replace(ask, session=session if mine else "", fork=ask.fork and mine)
            replies += await self._ask_agent(agent, own, hear)
            if own.session and replies[-1].trouble in _LOST:
                replies += await self._ask_agent(agent, replace(own, session="", fork=False), hear)
            if not replies[-1].failed:
                break
        return _join_replies(replies)

    async def _ask_agent(self, agent: Agent, ask: Ask, hear: Hear) -> list[Reply]:
        """Ask one agent, retrying while its trouble is passing; return all replies."""
        replies = [await agent.ask(ask, hear)]
        while (trouble := replies[-1].trouble) and trouble.is_transient:
            wait = self._patience.next_delay(len(replies), replies[-1].retry_after, self._luck())
            if wait is None:
                break
            hear(f"({agent.name}: {trouble}; asked again in {wait:.0f} s)")
            await self._sleep(wait)
            replies.append(await agent.ask(ask, hear))
        return replies


def _join_replies(replies: Sequence[Reply]) -> Reply:
    """Return the last reply with the usage of all, and its agent's name before the session."""
    last = replies[-1]
    failures = dict.fromkeys(f"{reply.agent}: {reply.failed}" for reply in replies)
    return replace(
        last,
        session=f"{last.agent}:{last.session}" if last.session else "",
        usage=sum((reply.usage for reply in replies), Usage()),
        failed="; ".join(failures) if last.failed else "",
        tries=sum(reply.tries for reply in replies),
    )
