"""punchlist discard: drop a run's branch and work trees."""

import click

from punchlist.app.after.apply import discard_branch
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.terminal import show_done


@click.command()
@options.run_argument
@options.json_option
@with_session()
async def command(session: Session, run_id: str, json_: bool) -> None:
    """Drop a run's branch and work trees; its ledger and reports stay."""
    show_done(await discard_branch(session, run_id), json=json_)
