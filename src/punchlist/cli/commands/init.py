"""punchlist init: write a commented .punchlist.toml, or agents of your own to begin with."""

from pathlib import Path

import click

from punchlist.app.agents.examples import write_examples
from punchlist.app.session import Session
from punchlist.app.start.set_up import write_settings_file
from punchlist.cli import options
from punchlist.cli.session import run_session
from punchlist.cli.terminal import show_done

_FOLDER = "punchlist-agents"


@click.command()
@click.option(
    "--agent",
    "folder",
    is_flag=False,
    flag_value=_FOLDER,
    metavar="[FOLDER]",
    help="Write an agent of ten lines for each role instead, and the settings that use them; into"
    f" {_FOLDER} if no folder is given.",
)
@options.json_option
def command(folder: str | None, json_: bool) -> None:
    """Write a commented .punchlist.toml into this repository; an existing one is
    never overwritten.

    It names nothing of this machine, so that it can be committed.
    """
    if folder is not None:
        _write_agents(Path(folder), json=json_)
        return

    async def write(session: Session) -> Path:
        return await write_settings_file(session)

    show_done(
        f"wrote {run_session(write)}",
        "Commit it, then `punchlist allow` lets it be used: settings count as they are on the"
        " base commit.",
        json=json_,
    )


def _write_agents(folder: Path, *, json: bool) -> None:
    written = write_examples(folder)
    show_done(
        *(f"wrote {path}" for path in written),
        f"Try them: PUNCHLIST_CONFIG={written[-1]} punchlist run --all",
        "Each reads its task on standard input and answers with JSON on standard output; put your"
        " model in its place.",
        json=json,
    )
