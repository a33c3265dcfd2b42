"""punchlist stop: stop a run that is under way."""

import click

from punchlist.app.drive.stop import StopResult, list_driven, stop_run
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import login_name, with_session
from punchlist.cli.terminal import show_done
from punchlist.errors import UsageError


@click.command()
@options.run_or_none_argument
@click.option("--by", default="", help="Who wants it. Default: your login name.")
@options.json_option
@with_session(repository=None, readonly=True)
async def command(session: Session, run_id: str, by: str, json_: bool) -> Exit:
    """Stop a run that is under way, in whatever terminal or server: between two events, as Ctrl-C
    there would.

    Nothing that was recorded is lost, and `punchlist resume` goes on. Without RUN, the run of this
    repository that is under way.
    """
    stopped = await stop_run(session, run_id or _find_driven(session), by or login_name())
    show_done(_describe_result(stopped), json=json_)
    return Exit.FINE if stopped.over else Exit.RUNNING


def _find_driven(session: Session) -> str:
    runs = list_driven(session)
    if len(runs) == 1:
        return runs[0]
    if runs:
        raise UsageError(
            f"{len(runs)} runs are under way: {', '.join(runs)}",
            hint=f"name one of them: punchlist stop {runs[0]}",
        )
    raise UsageError("no run is under way", hint="`punchlist list` shows them all")


def _describe_result(stopped: StopResult) -> str:
    run = stopped.run
    if not stopped.over:
        return f"run {run.id} was asked to stop, and stops as soon as its present step is finished"
    if run.ended:
        return f"run {run.id} ended meanwhile (punchlist status {run.id})"
    return f"run {run.id} is stopped; `punchlist resume {run.id}` goes on"
