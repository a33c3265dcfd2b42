"""punchlist init: write a commented .punchlist.toml."""

import click

from punchlist.app.session import Session
from punchlist.app.start.set_up import write_settings_file
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.terminal import show_done


@click.command()
@options.json_option
@with_session()
async def command(session: Session, json_: bool) -> None:
    """Write a commented .punchlist.toml into this repository; an existing one is
    never overwritten.
    """
    show_done(
        f"wrote {await write_settings_file(session)}",
        "Commit it, then `punchlist allow` lets it be used: settings count as they are on the"
        " base commit.",
        json=json_,
    )
