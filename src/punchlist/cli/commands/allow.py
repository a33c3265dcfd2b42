"""punchlist allow: let the checks found here run."""

import click

from punchlist.app import App
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import session
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import done


@click.command()
@click.option("--revoke", is_flag=True, help="Forget what was allowed here.")
@options.json_option
def command(revoke: bool, json_: bool) -> Exit:
    """Let the checks found here run, and the repository's own settings count,
    until either changes.
    """

    async def work(app: App) -> Exit:
        checks = await app.allow(revoke=revoke)
        if revoke:
            return done("Nothing is allowed here any more.", json=json_)
        lines = [
            f"allowed: {one_line(' '.join(check.command))}   ({one_line(check.origin)})"
            for check in checks
        ]
        none = (
            "No check was found here; fixes will be unverified."
            " `punchlist init` shows how to name one."
        )
        return done(*(lines or [none]), json=json_)

    return session(work)
