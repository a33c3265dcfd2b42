"""Tools that steer a run: answer, stop, resume, apply."""

from punchlist.app.access import Role
from punchlist.app.after.apply import apply_branch
from punchlist.errors import UsageError
from punchlist.mcp import inputs
from punchlist.mcp.outputs import Receipt, RunStatus
from punchlist.mcp.session import Caller, McpSession
from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools.read import load_status
from punchlist.model.ledger.run import Run

_DISMISSES = "dismissed"
"""In the text of a choice: it dismisses items, which only a person decides."""


async def answer_question(app: McpSession, args: inputs.AnswerInput, caller: Caller) -> RunStatus:
    """Answers what a run waits for, as your user told you, and lets it go on. Recorded under your
    name.
    """
    run = app.find_run(args.run)
    if bool(args.choice) == bool(args.answers):
        raise UsageError(
            "an answer is either a choice or texts by their ids",
            hint='choice: "a", or answers: {"F001-q1": "..."}',
        )
    _check_authority(app, run, args.choice)
    answer = args.choice or args.answers
    await app.answer_question(run.id, answer, f"{caller.name} (MCP)", len(run.asking.questions))
    run = app.load(run.id)
    return load_status(app, run if run.waits else await app.resume(run))


def _check_authority(app: McpSession, run: Run, choice: str) -> None:
    """Raise UsageError if the choice dismisses items and the role is not admin."""
    question = run.waiting_for
    text = question.choices.get(choice, "") if question else ""
    if _DISMISSES in text and not app.options.role.includes(Role.ADMIN):
        raise UsageError(
            f"choice {choice} dismisses items, which takes a person's word or the role admin",
            hint=f"let your user type: punchlist answer {run.id} {choice}",
        )


async def cancel_run(app: McpSession, args: inputs.RunInput, caller: Caller) -> RunStatus:
    """Stops a run between two events. Nothing that was recorded is lost; resume_run goes on."""
    run = app.find_run(args.run)
    if app.is_driven(run.id):
        run = await app.stop(run, f"{caller.name} (MCP)")
    return load_status(app, run)


async def resume_run(app: McpSession, args: inputs.RunInput, caller: Caller) -> RunStatus:
    """Goes on with a run that was stopped or killed: nothing that was recorded is done again, and a
    task that was out lies there again, with what you had done in its folder.
    """
    run = app.find_run(args.run)
    if run.ended:
        raise UsageError(f"run {run.id} has ended", hint="start_run starts another")
    if not app.driving.is_driving(run.id):
        run = await app.resume(run)
    return load_status(app, run)


async def apply_run(app: McpSession, args: inputs.ApplyInput, caller: Caller) -> Receipt:
    """Merges a run's proven fixes into the checked-out branch. This changes the user's checkout."""
    run = app.find_run(args.run)
    async with app.session_of(run.id) as session:
        message = await apply_branch(session, run.id, squash=args.squash)
    return Receipt(message=message, next="the fixes are on the checked-out branch")


TOOLS = (
    McpTool(answer_question, "Answer a question"),
    McpTool(cancel_run, "Stop a run", idempotent=True),
    McpTool(resume_run, "Go on with a run", idempotent=True),
    McpTool(apply_run, "Apply the fixes", Role.ADMIN, idempotent=True, destructive=True),
)
