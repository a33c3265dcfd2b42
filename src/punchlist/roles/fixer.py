"""The fixer: edits the files of its tree for one batch or for all, and must say of every item what
became of it.
"""

import asyncio

from punchlist.ports.agent import Ask
from punchlist.ports.roles import Claims, Task
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import Heard, Seat, fitting, heard
from punchlist.roles.answers.fix_answer import Statements, statements_of
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.fencing import attribute
from punchlist.roles.prompting.template import Rendered, rendered
from punchlist.views.plan_forms import code


class AgentFixer:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def fix(self, task: Task, tree: Tree) -> Claims:
        return await fitting(self._seat, lambda seat: _fixed(seat, task, tree))


async def _fixed(seat: Seat, task: Task, tree: Tree) -> tuple[Claims, Heard[Statements] | None]:
    prompt = await asyncio.to_thread(prompt_for, task, seat)
    shown = frozenset(prompt.shown.get("items", ()))
    asked = tuple(item.number for item in task.items if code(item.number) in shown)
    left_out = tuple(item.number for item in task.items if item.number not in asked)
    if not asked:
        return (
            Claims(
                failed=(
                    f"no item fits into a prompt of {seat.limit} characters; raise"
                    " agents.prompt-limit"
                )
            ),
            None,
        )
    ask = Ask(
        role=seat.role,
        label=task.label,
        prompt=prompt.text,
        folder=tree.root,
        writes=True,
        schema=schemas.OUTCOMES,
        items=asked,
        session=task.session,
        fork=task.fork,
    )
    answer = await heard(
        seat, ask, lambda text: statements_of(text, frozenset(asked), str(tree.root))
    )
    said = answer.reading or Statements()
    claims = Claims(
        **answer.about,
        cut=prompt.cut,
        reports=said.reports,
        contradicted=said.contradicted,
        unknown=said.unknown,
        left_out=left_out,
    )
    return claims, answer


def prompt_for(task: Task, seat: Seat) -> Rendered:
    """The fixer's prompt: the first try and the next ones differ by the history
    their items have.
    """
    told = task.told
    sections = [
        brief.items(task.items, seat.limit, history=True),
        brief.answers(task.doubts, 0.05),
        brief.todos(task.todos, 0.1),
        brief.change_near(told, task.items, 0.15),
        brief.files("conventions", told.conventions, 0.1),
        brief.files("specification", told.specification, 0.05),
    ]
    values = {
        **brief.values(told),
        "groups": brief.groups(task),
        "folder": attribute(task.todo_folder),
    }
    return rendered(seat.prompt, values, sections, seat.limit)
