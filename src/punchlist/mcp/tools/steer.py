"""Tools that steer a run: answer, stop, resume, apply."""

from punchlist.app.access import Role
from punchlist.app.after.apply import apply_branch
from punchlist.errors import UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import Receipt, RunStatus
from punchlist.mcp.session import Caller, McpSession
from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools.read import load_status
from punchlist.model.ledger.run import Run

_ON_A_PERSONS_WORD = "dismissed"


async def answer_question(desk: McpSession, wish: wishes.AnswerInput, asker: Caller) -> RunStatus:
    run = desk.find_run(wish.run)
    if bool(wish.choice) == bool(wish.answers):
        raise UsageError(
            "an answer is either a choice or texts by their ids",
            hint='choice: "a", or answers: {"F001-q1": "..."}',
        )
    _check_authority(desk, run, wish.choice)
    said = wish.choice or wish.answers
    await desk.answer_question(run.id, said, f"{asker.name} (MCP)", len(run.asking.questions))
    run = desk.load(run.id)
    return load_status(desk, run if run.waits else await desk.resume(run))


def _check_authority(desk: McpSession, run: Run, choice: str) -> None:
    """Raise UsageError if the choice dismisses items and the role is not admin."""
    question = run.waiting_for
    text = question.choices.get(choice, "") if question else ""
    if _ON_A_PERSONS_WORD in text and not desk.options.role.includes(Role.ADMIN):
        raise UsageError(
            f"choice {choice} dismisses items, which takes a person's word or the role admin",
            hint=f"let your user type: punchlist answer {run.id} {choice}",
        )


async def cancel_run(desk: McpSession, wish: wishes.RunInput, asker: Caller) -> RunStatus:
    run = desk.find_run(wish.run)
    return load_status(
        desk, await desk.stop(run, f"{asker.name} (MCP)") if desk.is_driven(run.id) else run
    )


async def resume_run(desk: McpSession, wish: wishes.RunInput, asker: Caller) -> RunStatus:
    run = desk.find_run(wish.run)
    if run.ended:
        raise UsageError(f"run {run.id} has ended", hint="start_run starts another")
    if desk.driving.is_driving(run.id):
        return load_status(desk, run)
    return load_status(desk, await desk.resume(run))


async def apply_run(desk: McpSession, wish: wishes.ApplyInput, asker: Caller) -> Receipt:
    run = desk.find_run(wish.run)
    async with desk.session_of(run.id) as session:
        message = await apply_branch(session, run.id, squash=wish.squash)
    return Receipt(message=message, next="the fixes are on the checked-out branch")


TOOLS = (
    McpTool(
        name="answer_question",
        title="Answer a question",
        about=(
            "Answers what a run waits for, as your user told you, and lets it go on. Recorded under"
            " your name."
        ),
        takes=wishes.AnswerInput,
        gives=RunStatus,
        do=answer_question,
    ),
    McpTool(
        name="cancel_run",
        title="Stop a run",
        about=(
            "Stops a run between two events. Nothing that was recorded is lost; resume_run goes on."
        ),
        takes=wishes.RunInput,
        gives=RunStatus,
        do=cancel_run,
        idempotent=True,
    ),
    McpTool(
        name="resume_run",
        title="Go on with a run",
        about=(
            "Goes on with a run that was stopped or killed: nothing that was recorded is done"
            " again, and a task that was out lies there again, with what you had done in its"
            " folder."
        ),
        takes=wishes.RunInput,
        gives=RunStatus,
        do=resume_run,
        idempotent=True,
    ),
    McpTool(
        name="apply_run",
        title="Apply the fixes",
        about=(
            "Merges a run's proven fixes into the checked-out branch. This changes the user's"
            " checkout."
        ),
        takes=wishes.ApplyInput,
        gives=Receipt,
        do=apply_run,
        role=Role.ADMIN,
        idempotent=True,
        destructive=True,
    ),
)
