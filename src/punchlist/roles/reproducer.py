"""The reproducer: writes a private test that shows the fault of an item."""

import asyncio
from functools import partial

from punchlist.ports.roles import Reproduction, Reproductions, Task
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import Heard, Seat, fitting, heard, items_prompt, read_only_ask
from punchlist.roles.answers.plan_answer import Written, written_in


class AgentReproducer:
    """Never sees a fix, nor what was tried: its test is about the fault alone."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def reproduce(self, task: Task, tree: Tree) -> Reproductions:
        numbers = frozenset(item.number for item in task.items)
        read = partial(written_in, numbers=numbers, root=str(tree.root))

        async def attempt(seat: Seat) -> tuple[Reproductions, Heard[Written]]:
            prompt = await asyncio.to_thread(items_prompt, task, seat, history=False)
            ask = read_only_ask(task, seat, prompt.text, tree, schemas.TESTS)
            answer = await heard(seat, ask, read)
            said = answer.reading or Written()
            tests = tuple(Reproduction(item, path, content) for item, path, content in said.tests)
            return Reproductions(**answer.about, cut=prompt.cut, tests=tests), answer

        return await fitting(self._seat, attempt)
