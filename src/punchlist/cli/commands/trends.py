"""punchlist trends: the repository over time."""

import time

import click

from punchlist.app.after.trends import RUNS, TrendReader
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.show.trends import claims_table, trends_table
from punchlist.cli.terminal import print_json, say
from punchlist.model.ledger.timeline import pluralize


@click.command()
@click.option(
    "-n",
    "limit",
    type=click.IntRange(min=0),
    default=RUNS,
    show_default=True,
    help="How many of the latest runs; 0 for all.",
)
@options.json_option
@with_session(readonly=True)
async def command(session: Session, limit: int, json_: bool) -> None:
    """What became of the items of each run, oldest first, what it cost, and how often an agent
    claimed a fix that was refuted.
    """
    trends = TrendReader().load_trends(session.store, session.key, limit)
    if json_:
        print_json(trends)
    elif not trends.runs:
        say("No run is recorded here yet. `punchlist run` starts one.")
    else:
        say(trends_table(trends.runs, time.time()))
        if trends.agents:
            say(claims_table(trends.agents))
        if trends.earlier:
            say(f"{pluralize(trends.earlier, 'earlier run')} not shown; -n 0 shows all.")
