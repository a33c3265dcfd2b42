"""Asking an agent for an answer of a certain shape: what does not fit is asked for again once, in
the same conversation.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from dataclasses import replace as seated
from typing import Any, Generic, Protocol, TypeVar

from msgspec.structs import replace

from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Agent, Ask, Reply, Trouble
from punchlist.ports.roles import Answer, Task
from punchlist.ports.tree import Tree
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.template import Rendered, rendered, shipped

Hear = Callable[[str, str], None]
"""Is told the label of the call, and what the agent says, in pieces."""


class Reading(Protocol):
    """What was made of an answer."""

    @property
    def failed(self) -> str: ...


R = TypeVar("R", bound=Reading)
A = TypeVar("A", bound=Answer)


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
    length: int
    """Characters of the prompt."""

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


async def fitting(
    seat: Seat, attempt: Callable[[Seat], Awaitable[tuple[A, Heard[Any] | None]]]
) -> A:
    """The answer of an attempt; where the agent finds the prompt too long, of a second one with
    half of it.

    Both have the same label: it names the work, and a prompt that was not answered did none.
    """
    answer, call = await attempt(seat)
    if call is None or call.reply.trouble is not Trouble.TOO_LONG:
        return answer
    shorter, _ = await attempt(seated(seat, limit=call.length // 2))
    return replace(shorter, usage=answer.usage + shorter.usage)


async def heard(seat: Seat, ask: Ask, read: Callable[[str], R]) -> Heard[R]:
    """The answer as `read` understands it."""
    first = await seat.agent.ask(ask, lambda piece: seat.hear(ask.label, piece))
    # In a thread: a long answer takes its time, and others are listened to meanwhile.
    reading = None if first.failed else await asyncio.to_thread(read, _own(first.text, ask))
    if reading is not None and reading.failed:
        return await _again(seat, ask, read, first, reading)
    return Heard(
        reading=reading, failed=first.failed, reply=first, usage=first.usage, length=len(ask.prompt)
    )


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
    reading = was if second.failed else await asyncio.to_thread(read, _own(second.text, asked))
    failed = f"{was.failed}; asked again: {second.failed}" if second.failed else reading.failed
    return Heard(
        reading=reading,
        failed=failed,
        reply=reply,
        usage=first.usage + second.usage,
        length=len(ask.prompt),
    )


def _own(text: str, ask: Ask) -> str:
    """What the agent says of its own: the example in a prompt that it repeats is no answer."""
    return text.replace(ask.prompt.strip(), "")


def items_prompt(task: Task, seat: Seat, *, history: bool) -> Rendered:
    """Render the prompt of a role that works on items before they are fixed. `history`: whether
    earlier attempts are told.
    """
    told = task.told
    sections = [
        brief.items(task.items, seat.limit, history=history),
        brief.answers(task.doubts, 0.1),
        brief.change_near(told, task.items, 0.2),
        brief.files("conventions", told.conventions, 0.1),
        brief.files("specification", told.specification, 0.1),
    ]
    return rendered(seat.prompt, brief.values(told), sections, seat.limit)


def read_only_ask(task: Task, seat: Seat, prompt: str, tree: Tree, schema: dict[str, Any]) -> Ask:
    return Ask(
        role=seat.role,
        label=task.label,
        prompt=prompt,
        folder=tree.root,
        schema=schema,
        session=task.session,
        fork=task.fork,
    )
