"""punchlist stop: stop a run that is under way."""

import click

from punchlist.app import Session
from punchlist.app.drive.stop import Stopped, stop, under_way
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import login, run_session
from punchlist.cli.terminal import done
from punchlist.errors import UsageError


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False, default="", callback=options.a_run)
@click.option("--by", default="", help="Who wants it. Default: your login name.")
@options.json_option
def command(run_id: str, by: str, json_: bool) -> Exit:
    """Stop a run that is under way, in whatever terminal or server: between two events, as Ctrl-C
    there would.

    Nothing that was recorded is lost, and `punchlist resume` goes on. Without RUN, the run of this
    repository that is under way.
    """

    async def work(session: Session) -> Exit:
        stopped = await stop(session, run_id or _only_one(session), by or login())
        done(_said(stopped), json=json_)
        return Exit.FINE if stopped.over else Exit.RUNNING

    return run_session(work, repository=None, readonly=True)


def _only_one(session: Session) -> str:
    runs = under_way(session)
    if len(runs) == 1:
        return runs[0]
    if runs:
        raise UsageError(
            f"{len(runs)} runs are under way: {', '.join(runs)}",
            hint=f"name one of them: punchlist stop {runs[0]}",
        )
    raise UsageError("no run is under way", hint="punchlist list shows them all")


def _said(stopped: Stopped) -> str:
    run = stopped.run
    if not stopped.over:
        return f"run {run.id} was asked to stop, and stops as soon as its present step is finished"
    if run.ended:
        return f"run {run.id} ended meanwhile (punchlist status {run.id})"
    return f"run {run.id} is stopped; punchlist resume {run.id} goes on"
