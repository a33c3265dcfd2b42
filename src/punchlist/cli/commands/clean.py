"""punchlist clean: remove what ended runs left in the state folder."""

import click

from punchlist.app.after.clean import clean_state
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import run_session
from punchlist.cli.terminal import show_done
from punchlist.errors import UsageError


@click.command()
@options.flag(
    "--reports", help="Also the reports of runs that ended; `punchlist report` makes them again."
)
@click.option(
    "--older-than",
    "days",
    metavar="DAYS",
    type=click.FloatRange(min=0),
    default=None,
    help="With --reports: how many days ago.",
)
@options.flag(
    "--all",
    "everywhere",
    help="Also all that is kept of repositories that are gone; works anywhere.",
)
@options.flag(
    "--refuted", help="Also forget which fixes broke tests, so that the next run tries them again."
)
@options.flag("--environments", help="Also the environments that `punchlist setup` made here.")
@options.json_option
def command(reports: bool, days: float | None, json_: bool, **also: bool) -> None:
    """Remove the work trees of this repository that no run needs; ledgers always stay.

    Trees with an agent's work stay until their run has ended: `punchlist resume` takes it up.
    """
    if reports != (days is not None):
        raise UsageError(
            "--reports and --older-than go together",
            hint="punchlist clean --reports --older-than 30",
        )

    async def work(session: Session) -> None:
        said = await clean_state(session, reports_older_than=days, **also)
        show_done(*(said or ["There was nothing to remove."]), json=json_)

    anywhere = also["everywhere"] and not also["environments"]
    run_session(work, repository=None if anywhere else True)
