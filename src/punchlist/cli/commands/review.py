"""punchlist review: review and list; fix nothing."""

from typing import Any

import click
from msgspec.structs import replace

from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import start_and_show
from punchlist.cli.session import run_session


@click.command()
@options.scope_options
@options.findings_option
@options.agent_options
@options.format_option
@options.flag("--statistics", help="Count the problems by rule, in the place of listing them.")
@options.selection_options
@options.run_options
def command(**chosen: Any) -> Exit:
    """Review and list; fix nothing, file nothing, run no checks.

    Each problem is a line `file:line:col: RULE message`; [*] says that a tool can fix it, which
    `punchlist fix --from RUN` does. The same as `punchlist run --workflow review --no-checks`.
    """
    output = options.parse_output(chosen)
    request = replace(options.make_request(chosen), workflow="review")
    return run_session(
        lambda session: start_and_show(session, request, output, dry=chosen["dry_run"]),
        options.parse_flags(chosen),
    )
