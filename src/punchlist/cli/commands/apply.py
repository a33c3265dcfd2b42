"""punchlist apply: bring a run's fixes onto your branch."""

import click

from punchlist.app.after.apply import apply_branch
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_session
from punchlist.cli.terminal import show_done


@click.command()
@options.run_argument
@click.option("--squash", is_flag=True, help="All fixes as one commit.")
@options.json_option
def command(run_id: str, squash: bool, json_: bool) -> Exit:
    """Bring a run's fixes onto your branch: the one command that changes your checkout."""
    return show_done(
        run_session(lambda session: apply_branch(session, run_id, squash=squash)), json=json_
    )
