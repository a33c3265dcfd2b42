"""punchlist run: the whole loop."""

from typing import Any

import click

from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import start_and_show
from punchlist.cli.session import run_session


@click.command()
@options.scope_options
@options.findings_option
@options.workflow_option
@options.checks_options
@options.agent_options
@options.selection_options
@options.commits_option
@options.format_option
@options.run_options
@options.queue_options
def command(**chosen: Any) -> Exit:
    """Review, fix, prove, file: the whole loop.

    By default it is about what this branch changed against its base; PATHS limit it to files and
    folders. Fixes land on the branch punchlist/RUN, never in your checkout. Progress is on stderr,
    the result on stdout.
    """
    output = options.parse_output(chosen)
    request = options.make_request(chosen)
    return run_session(
        lambda session: start_and_show(session, request, output, dry=chosen["dry_run"]),
        options.parse_flags(chosen),
    )
