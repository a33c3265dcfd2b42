"""punchlist discard: drop a run's branch and work trees."""

import click

from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import session
from punchlist.cli.terminal import done


@click.command()
@options.run_argument
@options.json_option
def command(run_id: str, json_: bool) -> Exit:
    """Drop a run's branch and work trees; its ledger and reports stay."""
    return done(session(lambda app: app.discard(run_id)), json=json_)
