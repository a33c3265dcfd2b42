"""punchlist lsp: findings, proven fixes and dismissals in editors."""

import asyncio
from typing import Any

import click

from punchlist.cli import options
from punchlist.cli.session import login_name
from punchlist.errors import SettingsError
from punchlist.installed import extra_hint
from punchlist.settings import home_folder, load_settings


@click.command()
@click.option("--stdio", is_flag=True, help="Standard input and output, as always; for clients.")
@options.set_option
def command(**chosen: Any) -> None:
    """Punchlist in editors: the Language Server Protocol, on standard input and output.

    An editor starts this by itself. It shows what the analyzers find in the files that you open and
    save, and the open items of the last run. It offers the fixes that a run has proven, if the text
    still matches; to dismiss an item, with a reason, under your name; and, where an agent is set
    up, to start a run for one item. It asks no agent unless you tell it to.
    """
    flags = options.parse_flags(chosen)
    load_settings(None, flags)
    try:
        from punchlist.lsp.server import serve
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        hint = extra_hint("lsp")
        raise SettingsError(f"{missing} is not installed", hint=hint) from error
    asyncio.run(serve(home_folder(), flags, login_name()))
