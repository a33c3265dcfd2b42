"""The fixer: edits the files of its tree and must report an outcome for every item."""

import asyncio
from functools import partial
from typing import Protocol

from punchlist.ports.agent import Ask
from punchlist.ports.roles import Claims, RoleTask
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import ParsedAnswer, RoleSeat, ask_and_parse, retry_shorter
from punchlist.roles.answers.fix_answer import Statements, parse_statements
from punchlist.roles.prompting import sections as brief
from punchlist.roles.prompting.fencing import clean_attribute
from punchlist.roles.prompting.template import RenderedPrompt, render_template
from punchlist.views.plans.plan_forms import item_code


class AgentFixer:
    def __init__(self, seat: RoleSeat) -> None:
        self._seat = seat

    async def fix(self, task: RoleTask, tree: Tree) -> Claims:
        return await retry_shorter(self._seat, lambda seat: _ask_fixer(seat, task, tree))


async def _ask_fixer(
    seat: RoleSeat, task: RoleTask, tree: Tree
) -> tuple[Claims, ParsedAnswer[Statements] | None]:
    prompt = await asyncio.to_thread(build_prompt, task, seat)
    shown = frozenset(prompt.shown.get("items", ()))
    asked = tuple(item.number for item in task.items if item_code(item.number) in shown)
    left_out = tuple(item.number for item in task.items if item.number not in asked)
    if not asked:
        why = f"no item fits into a prompt of {seat.limit} characters; raise agents.prompt-limit"
        return Claims(failed=why), None
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
    read = partial(parse_statements, asked=frozenset(asked), root=str(tree.root))
    answer = await ask_and_parse(seat, ask, read)
    said = answer.reading or Statements()
    claims = Claims(
        **answer.about,
        cut=prompt.cut,
        reports=said.reports,
        contradicted=said.contradicted,
        unknown=said.unknown,
        left_out=left_out,
        unread=bool(said.failed),
    )
    return claims, answer


class PromptFrame(Protocol):
    """A prompt's template, and its limit in characters."""

    @property
    def prompt(self) -> str: ...

    @property
    def limit(self) -> int: ...


def build_prompt(task: RoleTask, seat: PromptFrame) -> RenderedPrompt:
    """Return the fixer's prompt; in a retry the items carry their history."""
    project = task.told
    sections = [
        brief.build_items(task.items, seat.limit, history=True, rejected=task.rejected),
        brief.build_answers(task.doubts, 0.05),
        brief.build_todos(task.todos, 0.1),
        brief.build_near_diff(project, task.items, 0.15),
        brief.build_files("conventions", project.conventions, 0.1),
        brief.build_files("specification", project.specification, 0.05),
    ]
    values = {
        **brief.build_values(project),
        "groups": brief.render_groups(task),
        "folder": clean_attribute(task.todo_folder),
    }
    return render_template(seat.prompt, values, sections, seat.limit)
