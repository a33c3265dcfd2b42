"""The planner: says of each item how it shall be fixed, and what must come first."""

import asyncio
from functools import partial

from punchlist.ports.roles import Plans, Task
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import Heard, Seat, fitting, heard, items_prompt, read_only_ask
from punchlist.roles.answers.plan_answer import Planned, planned_in


class AgentPlanner:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def plan(self, task: Task, tree: Tree) -> Plans:
        numbers = frozenset(item.number for item in task.items)
        read = partial(planned_in, numbers=numbers, root=str(tree.root))

        async def attempt(seat: Seat) -> tuple[Plans, Heard[Planned]]:
            prompt = await asyncio.to_thread(items_prompt, task, seat, history=True)
            ask = read_only_ask(task, seat, prompt.text, tree, schemas.TODOS)
            answer = await heard(seat, ask, read)
            said = answer.reading or Planned()
            return Plans(**answer.about, cut=prompt.cut, todos=said.todos, after=said.after), answer

        return await fitting(self._seat, attempt)
