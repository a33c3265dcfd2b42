"""punchlist list: the runs of this repository."""

import time

import click
from msgspec.structs import replace

from punchlist.app.after.branch_state import standings_of
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import run_session
from punchlist.cli.show.tables import runs_table
from punchlist.cli.terminal import print_json, say
from punchlist.views.run_line import RunLine, build_run_line
from punchlist.views.run_state import State

_FIELDS = "state outcome standing started_at seconds entries repository".split()


@click.command()
@options.flag("--all", "everywhere", help="The runs of all repositories.")
@options.rows_option
@options.json_option
def command(everywhere: bool, limit: int, json_: bool) -> None:
    """The runs of this repository, newest first; outside of one, those of all."""

    async def look(session: Session) -> None:
        chosen = session.runs()[: limit or None]
        standings = await standings_of(session, chosen)
        lines = [
            build_run_line(
                row,
                driven=session.driver_of(row.id) is not None,
                outcome=session.outcome_of(row),
                standing=standings.get(row.id, ""),
            )
            for row in chosen
        ]
        lines = [
            replace(line, state=State.QUEUED)
            if not line.outcome and session.is_queued(line.id)
            else line
            for line in lines
        ]
        if json_:
            print_json([_document(line) for line in lines])
        elif lines:
            say(runs_table(lines, time.time()))
        else:
            say("No run is recorded here yet. `punchlist run` starts one.")

    run_session(look, repository=False if everywhere else None, readonly=True)


def _document(line: RunLine) -> dict[str, object]:
    """Return what --json prints of a run."""
    return {"run": line.id, **{name: getattr(line, name) for name in _FIELDS}}
