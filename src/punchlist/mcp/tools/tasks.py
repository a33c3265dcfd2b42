"""The tools by which the client plays a role: it comes for a task, does it in the folder, and says
what became of it.
"""

import json
from collections.abc import Sequence

import msgspec

from punchlist.errors import UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import Done, HandedIn, NextTask
from punchlist.mcp.session import Asker, Desk
from punchlist.mcp.tool import Tool
from punchlist.mcp.views import FIXER, next_of, task_whole
from punchlist.model.item.claim import Outcome
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import Task
from punchlist.roles.answers.item_codes import item_of
from punchlist.views.plan_forms import code

_CLAIMED = (
    "recorded as claims: now punchlist reads the folder, examines the change and runs the checks,"
    " and that decides"
)


async def next_task(desk: Desk, wish: wishes.NextTask, asker: Asker) -> NextTask:
    taken: list[Task] = []

    def found(run: Run) -> bool:
        task = desk.tasks.take(run, asker.name, another=wish.another)
        taken.extend([task] if task else [])
        return bool(task) or run.waits or bool(run.ended)

    run = await desk.waited(desk.run(wish.run), wish.wait_seconds, asker, found)
    state = desk.state(run)
    if not taken:
        return NextTask(run=run.id, state=state, task=None, next=next_of(run, state, 0))
    task = task_whole(taken[0], run, desk.tasks.prompt_file(run, taken[0]))
    how = f"work in {task.folder}, then {task.answer_with}"
    return NextTask(run=run.id, state=state, task=task, next=how)


async def report_outcomes(desk: Desk, wish: wishes.Reporting, asker: Asker) -> HandedIn:
    run, task = desk.tasks.task(wish.task, asker.name)
    if task.role != FIXER:
        raise UsageError(
            f"task {wish.task} is the {task.role}'s: it wants an answer of another shape",
            hint="answer_task takes it",
        )
    said = _by_item(wish.outcomes, task)
    outcomes = [{**msgspec.to_builtins(each), "id": code(number)} for number, each in said.items()]
    desk.tasks.hand_in(wish.task, json.dumps({"outcomes": outcomes}), asker.name)
    missing = tuple(code(number) for number in task.items if number not in said)
    return HandedIn(
        task=wish.task, message=_CLAIMED, not_mentioned=missing, next=f'next_task of run "{run.id}"'
    )


def _by_item(outcomes: Sequence[wishes.Said], task: Task) -> dict[int, wishes.Said]:
    """What was said of each item; what cannot be meant is refused before anything is recorded."""
    asked = ", ".join(map(code, task.items))
    said: dict[int, wishes.Said] = {}
    for each in outcomes:
        named = item_of(each.id)
        number = named[0] if named else 0
        if number not in task.items:
            raise UsageError(f'"{each.id}" is no item of this task', hint=f"its items are {asked}")
        if said.get(number, each).outcome is not each.outcome:
            raise UsageError(
                f"{code(number)} has two outcomes that contradict each other",
                hint="say one of each item",
            )
        if each.outcome is not Outcome.FIXED and not each.explanation.strip():
            raise UsageError(
                f"{code(number)} is {each.outcome}, and no reason is given",
                hint="say what is in the way",
            )
        said[number] = each
    return said


async def answer_task(desk: Desk, wish: wishes.HandingIn, asker: Asker) -> HandedIn:
    run, task = desk.tasks.task(wish.task, asker.name)
    if task.role == FIXER:
        raise UsageError(
            f"task {wish.task} is the fixer's", hint="report_outcomes takes its answer"
        )
    desk.tasks.hand_in(wish.task, json.dumps(wish.answer), asker.name)
    message = (
        "handed in; if it does not fit the schema it is asked for once more, with what is wrong"
    )
    return HandedIn(
        task=wish.task, message=message, not_mentioned=(), next=f'next_task of run "{run.id}"'
    )


async def give_back(desk: Desk, wish: wishes.OneTask, asker: Asker) -> Done:
    mine = desk.tasks.give_back(wish.task)
    message = "given back: another may take it" if mine else "it was not yours"
    return Done(message=message, next="next_task takes a task")


TOOLS = (
    Tool(
        name="next_task",
        title="Take the next task",
        about=(
            "Gives you work in a role that you play: prompt, folder, items, and the shape of the"
            " answer. Edit files in that folder only, with your own tools; never run git there. The"
            " task is yours alone until you answer or give it back. Called again it gives the same"
            " task."
        ),
        takes=wishes.NextTask,
        gives=NextTask,
        do=next_task,
        idempotent=True,
    ),
    Tool(
        name="report_outcomes",
        title="Report outcomes",
        about=(
            "Hands in what became of each item of a fixer's task: fixed, deferred, blocked or"
            " contested, with reasons. These are claims; the change is read from the folder and"
            " judged by what is seen. Items you do not mention are deferred."
        ),
        takes=wishes.Reporting,
        gives=HandedIn,
        do=report_outcomes,
        idempotent=True,
    ),
    Tool(
        name="answer_task",
        title="Answer a task",
        about=(
            "Hands in the answer to a task of any other role (reviewer, clarifier, planner,"
            " challenger, reproducer)."
        ),
        takes=wishes.HandingIn,
        gives=HandedIn,
        do=answer_task,
        idempotent=True,
    ),
    Tool(
        name="give_back",
        title="Give a task back",
        about="Gives a task back unanswered, so that another client may take it.",
        takes=wishes.OneTask,
        gives=Done,
        do=give_back,
        idempotent=True,
    ),
)
