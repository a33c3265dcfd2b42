"""The clarifier: asks what must be known before anything is planned."""

import asyncio
from functools import partial

from punchlist.ports.roles import Doubts, Task
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import Heard, Seat, fitting, heard, items_prompt, read_only_ask
from punchlist.roles.answers.plan_answer import Asked, asked_in


class AgentClarifier:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def clarify(self, task: Task, tree: Tree) -> Doubts:
        numbers = frozenset(item.number for item in task.items)
        read = partial(asked_in, numbers=numbers, earlier=task.doubts)

        async def attempt(seat: Seat) -> tuple[Doubts, Heard[Asked]]:
            prompt = await asyncio.to_thread(items_prompt, task, seat, history=True)
            ask = read_only_ask(task, seat, prompt.text, tree, schemas.QUESTIONS)
            answer = await heard(seat, ask, read)
            said = answer.reading or Asked()
            ready = said.ready and not answer.failed
            return Doubts(**answer.about, cut=prompt.cut, doubts=said.doubts, ready=ready), answer

        return await fitting(self._seat, attempt)
