"""Tools with which the client plays a role: take a task and hand in the answer."""

import json
from collections.abc import Sequence

import msgspec

from punchlist.errors import UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import AnswerReceipt, NextTaskResult, Receipt
from punchlist.mcp.session import Caller, McpSession
from punchlist.mcp.tool import McpTool
from punchlist.mcp.views import FIXER, build_task, suggest_next
from punchlist.model.item.claim import ClaimOutcome
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import Task
from punchlist.roles.answers.item_codes import parse_code
from punchlist.views.plans.plan_forms import item_code

_CLAIMED = (
    "recorded as claims: now punchlist reads the folder, examines the change and runs the checks,"
    " and that decides"
)


async def next_task(desk: McpSession, wish: wishes.NextTaskInput, asker: Caller) -> NextTaskResult:
    taken: list[Task] = []

    def take_task(run: Run) -> bool:
        task = desk.tasks.take_task(run, asker.name, another=wish.another)
        taken.extend([task] if task else [])
        return bool(task) or run.waits or bool(run.ended)

    run = await desk.wait_until(desk.find_run(wish.run), wish.wait_seconds, asker, take_task)
    state = desk.run_state(run)
    if not taken:
        return NextTaskResult(run=run.id, state=state, task=None, next=suggest_next(run, state, 0))
    task = build_task(taken[0], run, desk.tasks.prompt_file(run, taken[0]))
    how = f"work in {task.folder}, then {task.answer_with}"
    return NextTaskResult(run=run.id, state=state, task=task, next=how)


async def report_outcomes(
    desk: McpSession, wish: wishes.OutcomesInput, asker: Caller
) -> AnswerReceipt:
    run, task = desk.tasks.claim_task(wish.task, asker.name)
    if task.role != FIXER:
        raise UsageError(
            f"task {wish.task} is the {task.role}'s: it wants an answer of another shape",
            hint="answer_task takes it",
        )
    said = _index_outcomes(wish.outcomes, task)
    outcomes = [
        {**msgspec.to_builtins(each), "id": item_code(number)} for number, each in said.items()
    ]
    desk.tasks.hand_in(wish.task, json.dumps({"outcomes": outcomes}), asker.name)
    missing = tuple(item_code(number) for number in task.items if number not in said)
    return AnswerReceipt(
        task=wish.task, message=_CLAIMED, not_mentioned=missing, next=f'next_task of run "{run.id}"'
    )


def _index_outcomes(
    outcomes: Sequence[wishes.ItemOutcome], task: Task
) -> dict[int, wishes.ItemOutcome]:
    """Return the outcomes by item; raise UsageError on unknown items, contradictions or missing
    reasons.
    """
    asked = ", ".join(map(item_code, task.items))
    said: dict[int, wishes.ItemOutcome] = {}
    for each in outcomes:
        named = parse_code(each.id)
        number = named[0] if named else 0
        if number not in task.items:
            raise UsageError(f'"{each.id}" is no item of this task', hint=f"its items are {asked}")
        if said.get(number, each).outcome is not each.outcome:
            raise UsageError(
                f"{item_code(number)} has two outcomes that contradict each other",
                hint="say one of each item",
            )
        if each.outcome is not ClaimOutcome.FIXED and not each.explanation.strip():
            raise UsageError(
                f"{item_code(number)} is {each.outcome}, and no reason is given",
                hint="say what is in the way",
            )
        said[number] = each
    return said


async def answer_task(
    desk: McpSession, wish: wishes.AnswerTaskInput, asker: Caller
) -> AnswerReceipt:
    run, task = desk.tasks.claim_task(wish.task, asker.name)
    if task.role == FIXER:
        raise UsageError(
            f"task {wish.task} is the fixer's", hint="report_outcomes takes its answer"
        )
    desk.tasks.hand_in(wish.task, json.dumps(wish.answer), asker.name)
    message = (
        "handed in; if it does not fit the schema it is asked for once more, with what is wrong"
    )
    return AnswerReceipt(
        task=wish.task, message=message, not_mentioned=(), next=f'next_task of run "{run.id}"'
    )


async def give_back(desk: McpSession, wish: wishes.TaskInput, asker: Caller) -> Receipt:
    mine = desk.tasks.give_back(wish.task)
    message = "given back: another may take it" if mine else "it was not yours"
    return Receipt(message=message, next="next_task takes a task")


TOOLS = (
    McpTool(
        name="next_task",
        title="Take the next task",
        about=(
            "Gives you work in a role that you play: prompt, folder, items, and the shape of the"
            " answer. Edit files in that folder only, with your own tools; never run git there. The"
            " task is yours alone until you answer or give it back. Called again it gives the same"
            " task."
        ),
        takes=wishes.NextTaskInput,
        gives=NextTaskResult,
        do=next_task,
        idempotent=True,
    ),
    McpTool(
        name="report_outcomes",
        title="Report outcomes",
        about=(
            "Hands in what became of each item of a fixer's task: fixed, deferred, blocked or"
            " contested, with reasons. These are claims; the change is read from the folder and"
            " judged by what is seen. Items you do not mention are deferred."
        ),
        takes=wishes.OutcomesInput,
        gives=AnswerReceipt,
        do=report_outcomes,
        idempotent=True,
    ),
    McpTool(
        name="answer_task",
        title="Answer a task",
        about=(
            "Hands in the answer to a task of any other role (reviewer, clarifier, planner,"
            " challenger, reproducer)."
        ),
        takes=wishes.AnswerTaskInput,
        gives=AnswerReceipt,
        do=answer_task,
        idempotent=True,
    ),
    McpTool(
        name="give_back",
        title="Give a task back",
        about="Gives a task back unanswered, so that another client may take it.",
        takes=wishes.TaskInput,
        gives=Receipt,
        do=give_back,
        idempotent=True,
    ),
)
