"""punchlist list: the runs of this repository."""

import time

import click
from msgspec import Struct

from punchlist.app import Session
from punchlist.app.after.branch_state import standings_of
from punchlist.app.run_state import State, state_of_row
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_session
from punchlist.cli.show.tables import runs_table
from punchlist.cli.terminal import answer, say
from punchlist.ports.store import RunRow


class RunLine(Struct, frozen=True, kw_only=True):
    run: str
    state: State
    outcome: str
    standing: str
    """What became of its fixes: applied, discarded, or nothing yet."""
    started_at: float
    seconds: float
    entries: int
    repository: str


@click.command()
@click.option("--all", "everywhere", is_flag=True, help="The runs of all repositories.")
@click.option(
    "-n",
    "limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many; 0 for all.",
)
@options.json_option
def command(everywhere: bool, limit: int, json_: bool) -> Exit:
    """The runs of this repository, newest first."""

    async def look(session: Session) -> Exit:
        chosen = session.runs()[: limit or None]
        standings = await standings_of(session, chosen)
        rows = [_line(session, row, standings.get(row.id, "")) for row in chosen]
        if json_:
            answer(rows)
        elif rows:
            say(
                runs_table(
                    [
                        (row.run, _came_to(row), row.started_at, row.seconds, row.repository)
                        for row in rows
                    ],
                    time.time(),
                )
            )
        else:
            say("No run is recorded here yet. `punchlist run` starts one.")
        return Exit.FINE

    return run_session(look, repository=not everywhere, readonly=True)


def _came_to(row: RunLine) -> str:
    return ", ".join(filter(None, (row.outcome or row.state, row.standing)))


def _line(session: Session, row: RunRow, standing: str) -> RunLine:
    return RunLine(
        run=row.id,
        state=state_of_row(row, driven=session.driver_of(row.id) is not None),
        outcome=session.outcome_of(row),
        standing=standing,
        started_at=row.started_at,
        seconds=round(row.active, 3),
        entries=row.entries,
        repository=row.repository,
    )
