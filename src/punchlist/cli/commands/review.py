"""punchlist review: review and list; fix nothing."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click
from msgspec.structs import replace

from punchlist.app.look.saved_files import stamp_files
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import start_and_show
from punchlist.cli.session import run_session
from punchlist.cli.terminal import note
from punchlist.errors import UsageError

_PAUSE = 0.5
"""Seconds between two looks at whether a file was saved."""


@click.command()
@options.scope_options
@options.findings_option
@options.agent_options
@options.format_option
@options.flag("--statistics", help="Count the problems by rule, in the place of listing them.")
@options.selection_options
@options.run_options
@options.flag("--watch", help="Look again whenever a file is saved; Ctrl-C ends it.")
def command(**chosen: Any) -> Exit:
    """Review and list; fix nothing, file nothing, run no checks.

    Each problem is a line `file:line:col: RULE message`; [*] says that a tool can fix it, which
    `punchlist fix --from RUN` does. The same as `punchlist run --workflow review --no-checks`.
    """
    output = options.parse_output(chosen)
    request = replace(options.make_request(chosen), workflow="review")
    flags = options.parse_flags(chosen)

    def look() -> Exit:
        return run_session(
            lambda session: start_and_show(session, request, output, dry=chosen["dry_run"]), flags
        )

    if not chosen["watch"]:
        return look()
    if output.machine or output.follow:
        raise UsageError("--watch prints lines for people", hint="leave out --json or --format")
    return _watch_files(look)


def _watch_files(look: Callable[[], Exit]) -> Exit:
    """Look, and look again after each change, until Ctrl-C."""
    exit_, seen = Exit.FINE, ""
    with suppress(KeyboardInterrupt):
        while True:
            now = run_session(stamp_files, readonly=True)
            if now != seen:
                exit_, seen = look(), now
                note("waiting for a file to be saved; Ctrl-C ends it")
            time.sleep(_PAUSE)
    return exit_
