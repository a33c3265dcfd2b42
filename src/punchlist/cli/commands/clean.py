"""punchlist clean: remove what ended runs left in the state folder."""

import click

from punchlist.app import App
from punchlist.cli import options
from punchlist.cli.done import done
from punchlist.cli.exits import Exit
from punchlist.cli.session import session


@click.command()
@click.option(
    "--older-than", "days", metavar="DAYS", type=click.FloatRange(min=0), default=None, help="Only what is older than DAYS days."
)
@options.json_option
def command(days: float | None, json_: bool) -> Exit:
    """Remove work trees and caches that ended or killed runs left in the state folder; ledgers stay."""

    async def work(app: App) -> Exit:
        removed = await app.clean(older_than_days=days)
        return done(*(removed or ["There was nothing to remove."]), json=json_)

    return session(work)
