"""punchlist allow: let the checks found here run."""

import click

from punchlist.app import Session
from punchlist.app.start.set_up import allow_found_checks
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_session
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import show_done


@click.command()
@click.option("--revoke", is_flag=True, help="Forget what was allowed here.")
@options.json_option
def command(revoke: bool, json_: bool) -> Exit:
    """Let the checks found here run, and the repository's own settings count,
    until either changes.
    """

    async def work(session: Session) -> Exit:
        checks = await allow_found_checks(session, revoke=revoke)
        if revoke:
            return show_done("Nothing is allowed here any more.", json=json_)
        lines = [
            f"allowed: {one_line(' '.join(check.command))}   ({one_line(check.origin)})"
            for check in checks
        ]
        none = (
            "No check was found here; fixes will be unverified."
            " `punchlist init` shows how to name one."
        )
        return show_done(*(lines or [none]), json=json_)

    return run_session(work)
