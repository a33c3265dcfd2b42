"""The planner: says of each item how it shall be fixed, and what must come first."""

import asyncio
from functools import partial

from punchlist.ports.roles import Plans, RoleTask
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
from punchlist.roles.answers.plan_answer import PlanAnswer, parse_plan


class AgentPlanner:
    def __init__(self, seat: RoleSeat) -> None:
        self._seat = seat

    async def plan(self, task: RoleTask, tree: Tree) -> Plans:
        numbers = frozenset(item.number for item in task.items)
        read = partial(parse_plan, numbers=numbers, root=str(tree.root))

        async def ask_agent(seat: RoleSeat) -> tuple[Plans, ParsedAnswer[PlanAnswer]]:
            prompt = await asyncio.to_thread(items_prompt, task, seat, history=True)
            ask = read_only_ask(task, seat, prompt.text, tree, schemas.TODOS)
            answer = await ask_and_parse(seat, ask, read)
            said = answer.reading or PlanAnswer()
            return Plans(**answer.about, cut=prompt.cut, todos=said.todos, after=said.after), answer

        return await retry_shorter(self._seat, ask_agent)
