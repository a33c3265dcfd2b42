"""The reproducer: writes a private test that shows the fault of an item."""

import asyncio
from functools import partial

from punchlist.ports.roles import Reproduction, Reproductions, RoleTask
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
from punchlist.roles.answers.plan_answer import ReproduceAnswer, parse_tests


class AgentReproducer:
    """Never sees a fix or an earlier attempt, only the finding."""

    def __init__(self, seat: RoleSeat) -> None:
        self._seat = seat

    async def reproduce(self, task: RoleTask, tree: Tree) -> Reproductions:
        numbers = frozenset(item.number for item in task.items)
        read = partial(parse_tests, numbers=numbers, root=str(tree.root))

        async def ask_agent(seat: RoleSeat) -> tuple[Reproductions, ParsedAnswer[ReproduceAnswer]]:
            prompt = await asyncio.to_thread(items_prompt, task, seat, history=False)
            ask = read_only_ask(task, seat, prompt.text, tree, schemas.TESTS)
            answer = await ask_and_parse(seat, ask, read)
            said = answer.reading or ReproduceAnswer()
            tests = tuple(Reproduction(item, path, content) for item, path, content in said.tests)
            return Reproductions(**answer.about, cut=prompt.cut, tests=tests), answer

        return await retry_shorter(self._seat, ask_agent)
