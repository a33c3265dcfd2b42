"""Drive the run that a pull request needs, and show there what came of it."""

from contextlib import suppress

from punchlist.app.drive.drive import resume_run
from punchlist.app.pulls.answer import PullAnswer, PullResult
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.cli import options
from punchlist.cli.run_driver import drive_run, start_and_show
from punchlist.errors import ToolError
from punchlist.model.ledger.run import Run
from punchlist.ports.forge.forge import WriteRefused
from punchlist.views.escaping import one_line


async def answer_pull(
    session: Session, answer: PullAnswer, request: Request, output: options.OutputMode
) -> tuple[Run, PullResult]:
    """Return the run and what was done; a failure concludes the check on the pull request."""
    try:
        run = await drive_pull(session, answer, request, output)
        return run, await answer.show(run)
    except WriteRefused:
        raise
    except Exception as error:
        with suppress(ToolError):  # the forge may be what failed
            await answer.fail(str(error))
        raise


async def drive_pull(
    session: Session, answer: PullAnswer, request: Request, output: options.OutputMode
) -> Run:
    """Return the run that the pull request needs, driven as far as it goes; only progress is
    shown.
    """
    plan = await answer.plan(request)
    if plan.run is not None:
        return plan.run
    silent = options.OutputMode(quiet=output.quiet or output.json)
    if plan.request is not None:
        await start_and_show(session, plan.request, silent, tell=lambda run: iter(()))
    else:
        run_id = plan.resume
        await drive_run(
            session, lambda view: resume_run(session, run_id, view), silent, lambda run: iter(())
        )
    return answer.last_run()


def render_result(result: PullResult) -> list[str]:
    """Return what was done, in lines."""
    done = "nothing to change" if not result.updates else f"{len(result.updates)} updates"
    lines = [f"{result.pull} at {result.head[:10]}, run {result.run}: {done}"]
    lines += [f"  {one_line(each)}" for each in result.updates]
    lines += [f"pushed {result.pushed[:10]}"] if result.pushed else []
    lines += [f"fixes in {result.stack}"] if result.stack else []
    for order in result.orders:
        what = f"not obeyed: {order.refused}" if order.refused else "obeyed"
        lines.append(one_line(f"{order.by}: {order.order}: {what}"))
    lines += [f"note: {one_line(note)}" for note in result.notes]
    for text in result.board:
        lines += ["", *text.splitlines()]
    return lines
