"""punchlist resume: go on with a run that was stopped or killed."""

from typing import Any

import click

from punchlist.app.after.branch_state import standing_of
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import resume_and_show
from punchlist.cli.session import run_session
from punchlist.cli.show.json import exit_code
from punchlist.cli.terminal import print_result, say


@click.command()
@options.run_argument
@options.format_option
@options.check_option
@options.follow_option
@options.flag("--queue", "requeue", help="Leave it to the workers of the fleet, which had it.")
@options.output_options
def command(run_id: str, **chosen: Any) -> Exit:
    """Go on with a run that was stopped or killed: nothing that was recorded is done again.

    Scope, settings and workflow are those the run was started with. RUN may be any part of an id
    that no other has; without it, the last run of this repository.
    """
    output = options.parse_output(chosen)

    async def work(session: Session) -> Exit:
        run = session.load(run_id)
        if run.ended and not output.machine:
            say(f"run {run.id} has ended; nothing to resume (punchlist status {run.id})")
            standing = await standing_of(session, run)
            return exit_code(run, check=output.check, standing=standing)
        if chosen["requeue"]:
            from punchlist.app.fleet.enqueue import requeue_run

            requeue_run(session, run)
            print_result({"run": run.id}, [f"run {run.id} is queued"], json=output.json)
            return Exit.FINE
        return await resume_and_show(session, run, output)

    return run_session(work)
