"""punchlist pr: answer every finding on a pull request, there."""

from typing import Any

import click

from punchlist.app.drive.drive import resume_run
from punchlist.app.pulls.answer import PullAnswer, PullResult
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import drive_run, start_and_show
from punchlist.cli.session import run_session
from punchlist.cli.show.json import exit_code
from punchlist.cli.show.words import escape_text
from punchlist.cli.terminal import print_result
from punchlist.model.ledger.run import Run
from punchlist.views.escaping import one_line


@click.command()
@click.argument("name", metavar="[NUMBER|URL]", required=False, default="")
@options.flag("--push", help="Push proven fixes to the pull request's branch, never with force.")
@options.flag("--dry-run", help="Run, and print what would be posted; post and push nothing.")
@options.findings_option
@options.workflow_option
@options.checks_options
@options.agent_options
@options.selection_options
@options.commits_option
@options.pull_run_options
def command(name: str, *, push: bool, dry_run: bool, **chosen: Any) -> Exit:
    """Answer every finding on a pull request, there: fixed with a proof, suggested, or left with
    the reason.

    Open review threads, review bodies, annotations of checks and code scanning alerts are findings,
    together with those of punchlist's own reviewers. The pull request gets one summary, one thread
    for each item, a reply in each thread of others, and a check. Nothing is posted twice. Your
    checkout is not touched. Without NUMBER it is the pull request of your branch.
    """
    output = options.parse_output(chosen)
    request = options.make_request(
        {**chosen, "base": "", "commit": "", "paths": (), "everything": False, "staged": False}
    )

    async def work(session: Session) -> Exit:
        answer = await PullAnswer.open(session, name, dry=dry_run)
        try:
            run = await _drive(session, answer, request, output)
            result = await answer.show(run, push=push)
        except Exception as error:
            await answer.fail(str(error))
            raise
        print_result(result, map(escape_text, _tell(result)), json=output.json)
        return exit_code(session.load(run.id), check=output.check)

    return run_session(work, options.parse_flags(chosen))


async def _drive(
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


def _tell(result: PullResult) -> list[str]:
    """Return what was done, in lines."""
    done = "nothing to change" if not result.updates else f"{len(result.updates)} updates"
    lines = [f"{result.pull} at {result.head[:10]}, run {result.run}: {done}"]
    lines += [f"  {one_line(each)}" for each in result.updates]
    lines += [f"pushed {result.pushed[:10]}"] if result.pushed else []
    for order in result.orders:
        what = f"not obeyed: {order.refused}" if order.refused else "obeyed"
        lines.append(one_line(f"{order.by}: {order.order}: {what}"))
    lines += [f"note: {one_line(note)}" for note in result.notes]
    for text in result.board:
        lines += ["", *text.splitlines()]
    return lines
