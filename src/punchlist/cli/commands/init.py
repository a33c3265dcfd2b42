"""punchlist init: write a commented .punchlist.toml."""

import click

from punchlist.app import Session
from punchlist.app.start.set_up import write_settings_file
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_session
from punchlist.cli.terminal import show_done


@click.command()
@options.json_option
def command(json_: bool) -> Exit:
    """Write a commented .punchlist.toml into this repository; an existing one is
    never overwritten.
    """

    async def work(session: Session) -> Exit:
        path = await write_settings_file(session)
        return show_done(
            f"wrote {path}",
            "Commit it, then `punchlist allow` lets it be used: settings count as they are on the"
            " base commit.",
            json=json_,
        )

    return run_session(work)
