"""The tools that steer a run: answer it, stop it, go on with it, bring its fixes home."""

from punchlist.app.access import Role
from punchlist.app.after.apply import apply_branch
from punchlist.errors import UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import Done, RunNow
from punchlist.mcp.session import Asker, Desk
from punchlist.mcp.tool import Tool
from punchlist.mcp.tools.read import shown
from punchlist.model.ledger.run import Run

_ON_A_PERSONS_WORD = "dismissed"


async def answer_question(desk: Desk, wish: wishes.Answering, asker: Asker) -> RunNow:
    run = desk.run(wish.run)
    if bool(wish.choice) == bool(wish.answers):
        raise UsageError(
            "an answer is either a choice or texts by their ids",
            hint='choice: "a", or answers: {"F001-q1": "..."}',
        )
    _may_decide(desk, run, wish.choice)
    said = wish.choice or wish.answers
    await desk.answer_question(run.id, said, f"{asker.name} (MCP)", len(run.asking.questions))
    run = desk.load(run.id)
    return shown(desk, run if run.waits else await desk.resume(run))


def _may_decide(desk: Desk, run: Run, choice: str) -> None:
    """What dismisses items is for somebody who may; an agent's client is not, unless it was started
    as one.
    """
    question = run.waiting_for
    text = question.choices.get(choice, "") if question else ""
    if _ON_A_PERSONS_WORD in text and not desk.options.role.may(Role.ADMIN):
        raise UsageError(
            f"choice {choice} dismisses items, which takes a person's word or the role admin",
            hint=f"let your user type: punchlist answer {run.id} {choice}",
        )


async def cancel_run(desk: Desk, wish: wishes.OneRun, asker: Asker) -> RunNow:
    run = desk.run(wish.run)
    return shown(desk, await desk.stop(run, f"{asker.name} (MCP)") if desk.driven(run.id) else run)


async def resume_run(desk: Desk, wish: wishes.OneRun, asker: Asker) -> RunNow:
    run = desk.run(wish.run)
    if run.ended:
        raise UsageError(f"run {run.id} has ended", hint="start_run starts another")
    if desk.driving.drives(run.id):
        return shown(desk, run)
    return shown(desk, await desk.resume(run))


async def apply_run(desk: Desk, wish: wishes.Applying, asker: Asker) -> Done:
    run = desk.run(wish.run)
    async with desk.session_of(run.id) as session:
        message = await apply_branch(session, run.id, squash=wish.squash)
    return Done(message=message, next="the fixes are on the checked-out branch")


TOOLS = (
    Tool(
        name="answer_question",
        title="Answer a question",
        about=(
            "Answers what a run waits for, as your user told you, and lets it go on. Recorded under"
            " your name."
        ),
        takes=wishes.Answering,
        gives=RunNow,
        do=answer_question,
    ),
    Tool(
        name="cancel_run",
        title="Stop a run",
        about=(
            "Stops a run between two events. Nothing that was recorded is lost; resume_run goes on."
        ),
        takes=wishes.OneRun,
        gives=RunNow,
        do=cancel_run,
        idempotent=True,
    ),
    Tool(
        name="resume_run",
        title="Go on with a run",
        about=(
            "Goes on with a run that was stopped or killed: nothing that was recorded is done"
            " again, and a task that was out lies there again, with what you had done in its"
            " folder."
        ),
        takes=wishes.OneRun,
        gives=RunNow,
        do=resume_run,
        idempotent=True,
    ),
    Tool(
        name="apply_run",
        title="Apply the fixes",
        about=(
            "Merges a run's proven fixes into the checked-out branch. This changes the user's"
            " checkout."
        ),
        takes=wishes.Applying,
        gives=Done,
        do=apply_run,
        role=Role.ADMIN,
        idempotent=True,
        destructive=True,
    ),
)
