"""Those who read and write nothing before a fix: the clarifier, the planner, and the reproducer
with its private tests.
"""

import asyncio
from functools import partial

from punchlist.ports.agent import Ask
from punchlist.ports.roles import Doubts, Plans, Reproduction, Reproductions, Task
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import Heard, Seat, fitting, heard
from punchlist.roles.answers.plan_answer import (
    Asked,
    Planned,
    Written,
    asked_in,
    planned_in,
    written_in,
)
from punchlist.roles.answers.schemas import Schema
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.template import Rendered, rendered


class AgentClarifier:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def clarify(self, task: Task, tree: Tree) -> Doubts:
        async def attempt(seat: Seat) -> tuple[Doubts, Heard[Asked]]:
            prompt = await asyncio.to_thread(_prompt, task, seat, history=True)
            read = partial(asked_in, numbers=_numbers(task), earlier=task.doubts)
            answer = await heard(seat, _ask(task, seat, prompt, tree, schemas.QUESTIONS), read)
            said = answer.reading or Asked()
            ready = said.ready and not answer.failed
            return Doubts(**answer.about, cut=prompt.cut, doubts=said.doubts, ready=ready), answer

        return await fitting(self._seat, attempt)


class AgentPlanner:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def plan(self, task: Task, tree: Tree) -> Plans:
        async def attempt(seat: Seat) -> tuple[Plans, Heard[Planned]]:
            prompt = await asyncio.to_thread(_prompt, task, seat, history=True)
            read = partial(planned_in, numbers=_numbers(task), root=str(tree.root))
            answer = await heard(seat, _ask(task, seat, prompt, tree, schemas.TODOS), read)
            said = answer.reading or Planned()
            return Plans(**answer.about, cut=prompt.cut, todos=said.todos, after=said.after), answer

        return await fitting(self._seat, attempt)


class AgentReproducer:
    """Never sees a fix, nor what was tried: its test is about the fault alone."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def reproduce(self, task: Task, tree: Tree) -> Reproductions:
        async def attempt(seat: Seat) -> tuple[Reproductions, Heard[Written]]:
            prompt = await asyncio.to_thread(_prompt, task, seat, history=False)
            read = partial(written_in, numbers=_numbers(task), root=str(tree.root))
            answer = await heard(seat, _ask(task, seat, prompt, tree, schemas.TESTS), read)
            said = answer.reading or Written()
            tests = tuple(Reproduction(item, path, content) for item, path, content in said.tests)
            return Reproductions(**answer.about, cut=prompt.cut, tests=tests), answer

        return await fitting(self._seat, attempt)


def _numbers(task: Task) -> frozenset[int]:
    return frozenset(item.number for item in task.items)


def _ask(task: Task, seat: Seat, prompt: Rendered, tree: Tree, schema: Schema) -> Ask:
    return Ask(
        role=seat.role,
        label=task.label,
        prompt=prompt.text,
        folder=tree.root,
        schema=schema,
        session=task.session,
        fork=task.fork,
    )


def _prompt(task: Task, seat: Seat, *, history: bool) -> Rendered:
    told = task.told
    sections = [
        brief.items(task.items, seat.limit, history=history),
        brief.answers(task.doubts, 0.1),
        brief.change_near(told, task.items, 0.2),
        brief.files("conventions", told.conventions, 0.1),
        brief.files("specification", told.specification, 0.1),
    ]
    return rendered(seat.prompt, brief.values(told), sections, seat.limit)
