"""punchlist discard: drop a run's branch and work trees."""

import click

from punchlist.app.after.apply import discard_branch
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_session
from punchlist.cli.terminal import show_done


@click.command()
@options.run_argument
@options.json_option
def command(run_id: str, json_: bool) -> Exit:
    """Drop a run's branch and work trees; its ledger and reports stay."""
    return show_done(run_session(lambda session: discard_branch(session, run_id)), json=json_)
