"""Asks an agent and parses its answer; on a malformed answer asks once more in the same session."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from dataclasses import replace as seated
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from msgspec.structs import replace

from punchlist.model.item.usage import Usage
from punchlist.ports.agent import FENCED, STRUCTURED, UNFENCED, Agent, AgentTrouble, Ask, Reply
from punchlist.ports.roles import Answer, RoleTask
from punchlist.ports.tree import Tree
from punchlist.roles.answers.schemas import Schema
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.template import RenderedPrompt, load_prompt, render_template

Hear = Callable[[str, str], None]
"""Receives the label of the call, and the agent's output in pieces."""


class AnswerReading(Protocol):
    """A parsed answer."""

    @property
    def failed(self) -> str: ...


R = TypeVar("R", bound=AnswerReading)
A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, kw_only=True)
class RoleSeat:
    """The agent of a role, with its prompt and limit (characters)."""

    role: str
    agent: Agent
    prompt: str
    limit: int
    hear: Hear


@dataclass(frozen=True, kw_only=True)
class ParsedAnswer(Generic[R]):
    """Result of asking; `reading` is None if the agent itself failed."""

    reading: R | None
    failed: str
    reply: Reply
    usage: Usage
    length: int
    """Characters of the prompt."""

    @property
    def about(self) -> dict[str, Any]:
        """Return the fields common to all answers."""
        reply = {
            name: getattr(self.reply, name) for name in ("agent", "session", "transcript", "denied")
        }
        trouble = self.reply.trouble if self.reading is None else None
        return {**reply, "usage": self.usage, "failed": self.failed, "trouble": trouble}


async def retry_shorter(
    seat: RoleSeat, attempt: Callable[[RoleSeat], Awaitable[tuple[A, ParsedAnswer[Any] | None]]]
) -> A:
    """Run the attempt; if the prompt is too long for the agent, retry once with half its length.

    Both have the same label, since the first got no answer.
    """
    answer, call = await attempt(seat)
    if call is None or call.reply.trouble is not AgentTrouble.TOO_LONG:
        return answer
    shorter, _ = await attempt(seated(seat, limit=call.length // 2))
    return replace(shorter, usage=answer.usage + shorter.usage)


async def ask_and_parse(seat: RoleSeat, ask: Ask, read: Callable[[str], R]) -> ParsedAnswer[R]:
    """Ask and parse; on a malformed answer ask once more in the same session."""
    first = await seat.agent.ask(ask, lambda piece: seat.hear(ask.label, piece))
    reading = None if first.failed else await _parse_reply(first, ask, read)
    if reading is not None and reading.failed:
        return await _ask_again(seat, ask, read, first, reading)
    return ParsedAnswer(
        reading=reading, failed=first.failed, reply=first, usage=first.usage, length=len(ask.prompt)
    )


async def _ask_again(
    seat: RoleSeat, ask: Ask, read: Callable[[str], R], first: Reply, was: R
) -> ParsedAnswer[R]:
    wrong = load_prompt("_again").replace("{{ form }}", FENCED).replace("{{ error }}", was.failed)
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
        denied=tuple(dict.fromkeys((*first.denied, *second.denied))),
    )
    reading = was if second.failed else await _parse_reply(second, asked, read)
    failed = f"{was.failed}; asked again: {second.failed}" if second.failed else reading.failed
    return ParsedAnswer(
        reading=reading,
        failed=failed,
        reply=reply,
        usage=first.usage + second.usage,
        length=len(ask.prompt),
    )


async def _parse_reply(reply: Reply, ask: Ask, read: Callable[[str], R]) -> R:
    """Parse in a thread, since long answers take time; a repeated prompt, whose example is no
    answer, is removed.
    """
    text, prompt = reply.text, ask.prompt.strip()
    for form in (FENCED, UNFENCED, STRUCTURED):
        text = text.replace(prompt.replace(FENCED, form), "")
    return await asyncio.to_thread(read, text)


class ItemsRole:
    """A role that is asked about items before they are fixed, and changes no files."""

    schema: Schema
    history = True
    """Whether earlier attempts are shown."""

    def __init__(self, seat: RoleSeat) -> None:
        self._seat = seat

    async def _ask(
        self,
        task: RoleTask,
        tree: Tree,
        read: Callable[..., R],
        build: Callable[[ParsedAnswer[R], dict[str, Any]], A],
    ) -> A:
        """Return the answer that `build` makes of what `read` parsed and of the common fields."""
        numbers = frozenset(item.number for item in task.items)

        async def ask_agent(seat: RoleSeat) -> tuple[A, ParsedAnswer[R]]:
            prompt = await asyncio.to_thread(self._render_prompt, task, seat)
            ask = Ask(
                role=seat.role,
                label=task.label,
                prompt=prompt.text,
                folder=tree.root,
                schema=self.schema,
                session=task.session,
                fork=task.fork,
            )
            answer = await ask_and_parse(seat, ask, partial(read, numbers=numbers))
            return build(answer, {**answer.about, "cut": prompt.cut}), answer

        return await retry_shorter(self._seat, ask_agent)

    def _render_prompt(self, task: RoleTask, seat: RoleSeat) -> RenderedPrompt:
        project = task.told
        sections = [
            brief.build_items(task.items, seat.limit, history=self.history),
            brief.build_answers(task.doubts, 0.1),
            brief.build_near_diff(project, task.items, 0.2),
            brief.build_files("conventions", project.conventions, 0.1),
            brief.build_files("specification", project.specification, 0.1),
        ]
        return render_template(seat.prompt, brief.build_values(project), sections, seat.limit)
