"""punchlist allow: let the checks found here run."""

import click

from punchlist.app.session import Session
from punchlist.app.start.set_up import allow_found_checks
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.show.words import format_check
from punchlist.cli.terminal import show_done


@click.command()
@options.flag("--revoke", help="Forget what was allowed here.")
@options.json_option
@with_session()
async def command(session: Session, revoke: bool, json_: bool) -> None:
    """Let the checks found here run, and the repository's own settings count,
    until either changes.
    """
    checks = await allow_found_checks(session, revoke=revoke)
    if revoke:
        show_done("Nothing is allowed here any more.", json=json_)
    elif checks:
        show_done(*(f"allowed: {format_check(check)}" for check in checks), json=json_)
    else:
        none = "No check was found here; fixes will be unverified."
        show_done(f"{none} `punchlist init` shows how to name one.", json=json_)
