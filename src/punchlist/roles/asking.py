"""Asking an agent for an answer of a certain shape: what does not fit is asked for again once, in the same conversation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from msgspec.structs import replace

from punchlist.model.usage import Usage
from punchlist.ports.agent import Agent, Ask, Reply
from punchlist.roles.prompt import shipped

Hear = Callable[[str, str], None]
"""Is told the label of the call, and what the agent says, in pieces."""


class Reading(Protocol):
    """What was made of an answer."""

    @property
    def failed(self) -> str: ...


R = TypeVar("R", bound=Reading)


@dataclass(frozen=True, kw_only=True)
class Seat:
    """Who plays a role, with which prompt."""

    role: str
    agent: Agent
    prompt: str
    limit: int
    hear: Hear


@dataclass(frozen=True, kw_only=True)
class Heard(Generic[R]):
    """What came of asking; `reading` is None where the agent itself failed."""

    reading: R | None
    failed: str
    reply: Reply
    usage: Usage

    @property
    def about(self) -> dict[str, Any]:
        """What every answer tells of the call."""
        reply = self.reply
        return {
            "agent": reply.agent,
            "session": reply.session,
            "usage": self.usage,
            "failed": self.failed,
            "transcript": reply.transcript,
        }


async def heard(seat: Seat, ask: Ask, read: Callable[[str], R]) -> Heard[R]:
    """The answer as `read` understands it."""
    first = await seat.agent.ask(ask, lambda piece: seat.hear(ask.label, piece))
    if first.failed:
        return Heard(reading=None, failed=first.failed, reply=first, usage=first.usage)
    reading = read(first.text)
    if not reading.failed:
        return Heard(reading=reading, failed="", reply=first, usage=first.usage)
    return await _again(seat, ask, read, first, reading)


async def _again(seat: Seat, ask: Ask, read: Callable[[str], R], first: Reply, was: R) -> Heard[R]:
    wrong = shipped("_again").replace("{{ error }}", was.failed)
    # Without a conversation to go on with, the agent knows nothing of what it was asked.
    prompt = wrong if first.session else f"{ask.prompt}\n\n{wrong}"
    label = f"{ask.label} again"
    asked = replace(ask, label=label, prompt=prompt, session=first.session, fork=False)
    second = await seat.agent.ask(asked, lambda piece: seat.hear(label, piece))
    reply = replace(
        second,
        agent=second.agent or first.agent,
        session=second.session or first.session,
        transcript=second.transcript or first.transcript,
        opened=tuple(dict.fromkeys((*first.opened, *second.opened))),
    )
    usage = first.usage + second.usage
    if second.failed:
        return Heard(reading=was, failed=f"{was.failed}; asked again: {second.failed}", reply=reply, usage=usage)
    reading = read(second.text)
    return Heard(reading=reading, failed=reading.failed, reply=reply, usage=usage)
