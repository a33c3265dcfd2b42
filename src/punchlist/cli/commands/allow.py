"""punchlist allow: let the checks found here run."""

import click

from punchlist.app.session import Session
from punchlist.app.start.set_up import allow_found_checks, suggest_naming_checks
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.show.words import format_check, format_code
from punchlist.cli.terminal import show_done


@click.command()
@options.flag("--revoke", help="Forget what was allowed here.")
@options.json_option
@with_session()
async def command(session: Session, revoke: bool, json_: bool) -> None:
    """Let the checks found here run, analyzers load the code that their
    configuration names, and the repository's own settings count, until any of
    it changes.
    """
    found = await allow_found_checks(session, revoke=revoke)
    if revoke:
        show_done("Nothing is allowed here any more.", json=json_)
    elif found.checks or found.configurations:
        lines = [*map(format_check, found.checks), *map(format_code, found.configurations)]
        show_done(*(f"allowed: {line}" for line in lines), json=json_)
    else:
        none = "No check was found here; fixes will be unverified. To do: "
        show_done(none + suggest_naming_checks(session.required_checkout.root), json=json_)
