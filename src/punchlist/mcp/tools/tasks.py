"""Tools with which the client plays a role: take a task and hand in the answer."""

import json
from collections.abc import Sequence

import msgspec

from punchlist.errors import UsageError
from punchlist.mcp import inputs
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
_HANDED_IN = (
    "handed in; if it does not fit the schema it is asked for once more, with what is wrong"
)


async def next_task(app: McpSession, args: inputs.NextTaskInput, caller: Caller) -> NextTaskResult:
    """Gives you work in a role that you play: prompt, folder, items, and the shape of the answer.
    Edit files in that folder only, with your own tools; never run git there. The task is yours
    alone until you answer or give it back. Called again it gives the same task.
    """
    taken: list[Task] = []

    def take_task(run: Run) -> bool:
        task = app.tasks.take_task(run, caller.name, another=args.another)
        taken.extend([task] if task else [])
        return bool(task) or run.waits or bool(run.ended)

    run = await app.wait_until(app.find_run(args.run), args.wait_seconds, caller, take_task)
    state = app.run_state(run)
    if not taken:
        return NextTaskResult(run=run.id, state=state, task=None, next=suggest_next(run, state, 0))
    task = build_task(taken[0], run, app.tasks.prompt_file(run, taken[0]))
    how = f"work in {task.folder}, then {task.answer_with}"
    return NextTaskResult(run=run.id, state=state, task=task, next=how)


async def report_outcomes(
    app: McpSession, args: inputs.OutcomesInput, caller: Caller
) -> AnswerReceipt:
    """Hands in what became of each item of a fixer's task: fixed, deferred, blocked or contested,
    with reasons. These are claims; the change is read from the folder and judged by what is seen.
    Items you do not mention are deferred.
    """
    run, task = app.tasks.claim_task(args.task, caller.name)
    if task.role != FIXER:
        raise UsageError(
            f"task {args.task} is the {task.role}'s: it wants an answer of another shape",
            hint="answer_task takes it",
        )
    claims = _index_outcomes(args.outcomes, task)
    outcomes = [
        {**msgspec.to_builtins(each), "id": item_code(number)} for number, each in claims.items()
    ]
    app.tasks.hand_in(args.task, json.dumps({"outcomes": outcomes}), caller.name)
    missing = tuple(item_code(number) for number in task.items if number not in claims)
    return _make_receipt(run, args.task, _CLAIMED, missing)


def _make_receipt(run: Run, task: str, message: str, missing: tuple[str, ...]) -> AnswerReceipt:
    then = f'next_task of run "{run.id}"'
    return AnswerReceipt(task=task, message=message, not_mentioned=missing, next=then)


def _index_outcomes(
    outcomes: Sequence[inputs.ItemOutcome], task: Task
) -> dict[int, inputs.ItemOutcome]:
    """Return the outcomes by item number.

    Raise UsageError on unknown items, contradictions or missing reasons.
    """
    claims: dict[int, inputs.ItemOutcome] = {}
    for each in outcomes:
        parsed = parse_code(each.id)
        number = parsed[0] if parsed else 0
        code = item_code(number)
        if number not in task.items:
            hint = f"its items are {', '.join(map(item_code, task.items))}"
            raise UsageError(f'"{each.id}" is no item of this task', hint=hint)
        if claims.get(number, each).outcome is not each.outcome:
            what = f"{code} has two outcomes that contradict each other"
            raise UsageError(what, hint="say one of each item")
        if each.outcome is not ClaimOutcome.FIXED and not each.explanation.strip():
            what = f"{code} is {each.outcome}, and no reason is given"
            raise UsageError(what, hint="say what is in the way")
        claims[number] = each
    return claims


async def answer_task(
    app: McpSession, args: inputs.AnswerTaskInput, caller: Caller
) -> AnswerReceipt:
    """Hands in the answer to a task of any other role (reviewer, clarifier, planner, challenger,
    reproducer).
    """
    run, task = app.tasks.claim_task(args.task, caller.name)
    if task.role == FIXER:
        raise UsageError(
            f"task {args.task} is the fixer's", hint="report_outcomes takes its answer"
        )
    app.tasks.hand_in(args.task, json.dumps(args.answer), caller.name)
    return _make_receipt(run, args.task, _HANDED_IN, ())


async def give_back(app: McpSession, args: inputs.TaskInput, caller: Caller) -> Receipt:
    """Gives a task back unanswered, so that another client may take it."""
    mine = app.tasks.give_back(args.task)
    message = "given back: another may take it" if mine else "it was not yours"
    return Receipt(message=message, next="next_task takes a task")


TOOLS = (
    McpTool(next_task, "Take the next task", idempotent=True),
    McpTool(report_outcomes, "Report outcomes", idempotent=True),
    McpTool(answer_task, "Answer a task", idempotent=True),
    McpTool(give_back, "Give a task back", idempotent=True),
)
