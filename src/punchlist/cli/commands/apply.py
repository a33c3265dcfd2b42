"""punchlist apply: bring a run's fixes onto your branch."""

import click

from punchlist.app.after.apply import apply_branch
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.terminal import show_done
from punchlist.model.item.batch import CommitGrouping


@click.command()
@options.run_argument
@options.flag("--squash", help="All fixes as one commit.")
@click.option(
    "--by",
    type=click.Choice(["rule", "item", "one"]),
    help="Group the fixes anew: a commit per rule, per item, or one.",
)
@options.json_option
@with_session()
async def command(session: Session, run_id: str, squash: bool, by: str | None, json_: bool) -> None:
    """Bring a run's fixes onto your branch: the one command that changes your checkout."""
    grouping = CommitGrouping(by) if by else None
    show_done(await apply_branch(session, run_id, squash=squash, by=grouping), json=json_)
