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
@options.selection_options
@options.run_options
def command(**chosen: Any) -> Exit:
    """Review and list; fix nothing, file nothing, run no checks.

    The same as `punchlist run --workflow review --no-checks`. `punchlist fix --from RUN` takes it
    from there.
    """
    output = options.parse_output(chosen)
    request = replace(options.make_request(chosen), workflow="review")
    return run_session(
        lambda session: start_and_show(session, request, output, dry=chosen["dry_run"]),
        options.parse_flags(chosen),
    )
