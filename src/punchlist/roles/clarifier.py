"""The clarifier: asks what must be known before anything is planned."""

import asyncio
from functools import partial

from punchlist.ports.roles import Doubts, RoleTask
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import (
    ParsedAnswer,
    RoleSeat,
    ask_and_parse,
    items_prompt,
    read_only_ask,
    retry_shorter,
)
from punchlist.roles.answers.plan_answer import ClarifyAnswer, parse_questions


class AgentClarifier:
    def __init__(self, seat: RoleSeat) -> None:
        self._seat = seat

    async def clarify(self, task: RoleTask, tree: Tree) -> Doubts:
        numbers = frozenset(item.number for item in task.items)
        read = partial(parse_questions, numbers=numbers, earlier=task.doubts)

        async def ask_agent(seat: RoleSeat) -> tuple[Doubts, ParsedAnswer[ClarifyAnswer]]:
            prompt = await asyncio.to_thread(items_prompt, task, seat, history=True)
            ask = read_only_ask(task, seat, prompt.text, tree, schemas.QUESTIONS)
            answer = await ask_and_parse(seat, ask, read)
            said = answer.reading or ClarifyAnswer()
            ready = said.ready and not answer.failed
            return Doubts(**answer.about, cut=prompt.cut, doubts=said.doubts, ready=ready), answer

        return await retry_shorter(self._seat, ask_agent)
