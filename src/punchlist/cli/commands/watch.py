"""punchlist watch: a run in the terminal, live."""

import click

from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import follow_run
from punchlist.cli.session import run_session


@click.command()
@options.run_or_none_argument
@options.flag("--list", "choose", help="Begin with the list of runs.")
def command(run_id: str, choose: bool) -> Exit:
    """A run in the terminal, live: items, what is under way, the story, checks; answer, resume,
    stop and dismiss in place.

    Without RUN it is the last run of this repository; outside of one, the list of all runs. It may
    look on at a run that another process drives. `?` shows the keys.
    """

    async def work(session: Session) -> Exit:
        listed = choose or not (run_id or session.checkout)
        return await follow_run(session, "" if listed else run_id or "last")

    return run_session(work, repository=None, readonly=True)
