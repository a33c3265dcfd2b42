"""punchlist fleet: what all processes of a store do."""

import time
from collections.abc import Iterator

import click

from punchlist.app.drive.fleet import load_fleet
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.drawing import Table
from punchlist.cli.session import with_session
from punchlist.cli.show.layout import make_table
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import print_json, say
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.run_state import State
from punchlist.views.tables.fleet import NO_FLEET, Fleet, FleetRun
from punchlist.views.words import format_age, format_dollars, format_duration

_WORDS = {
    State.UNDER_WAY: "running",
    State.KILLED: "stuck",
    State.WAITING: "waiting for an answer",
    State.STOPPED: "stopped",
}


@click.command()
@options.json_option
@with_session(repository=False, readonly=True)
async def command(session: Session, json_: bool) -> None:
    """The workers of the fleet, the runs that wait for one, the runs that have not ended and by
    which process each is driven, which are stuck, and what all runs cost today (UTC).

    A run is stuck that neither ended nor was stopped, and that no process drives: `punchlist
    resume` goes on with it. Workers and a queue are only in a store in PostgreSQL.
    """
    fleet = load_fleet(session, time.time())
    if json_:
        print_json(fleet)
        return
    for table in (_worker_table(fleet), _queue_table(fleet), _fleet_table(fleet)):
        if table:
            say(table)
    say(*_describe_fleet(fleet))


def _worker_table(fleet: Fleet) -> "Table | None":
    if not fleet.workers:
        return None
    table = make_table("Worker", "Host", "State", "Runs", "Labels", "Last seen", "Version")
    for each in fleet.workers:
        runs, labels = f"{each.runs} of {each.width}", one_line(", ".join(each.labels))
        seen = f"{format_duration(each.seen)} ago"
        host = one_line(each.machine)
        table.add_row(one_line(each.id), host, each.state, runs, labels, seen, each.version)
    return table


def _queue_table(fleet: Fleet) -> "Table | None":
    if not fleet.queues:
        return None
    table = make_table("Queue", "Label", "Waiting", "Oldest", "Workers")
    for each in fleet.queues:
        served = "" if each.served else "none takes these"
        label, oldest = one_line(each.label), format_duration(each.oldest)
        table.add_row(each.priority, label, str(each.waiting), oldest, served)
    return table


def _fleet_table(fleet: Fleet) -> "Table | None":
    """Return the runs that have not ended, stuck ones first; None if there are none."""
    runs = (*fleet.stuck, *fleet.running, *fleet.waiting, *fleet.stopped)
    if not runs:
        return None
    table = make_table("Run", "State", "Last event", "Driven by", "Repository")
    for run in runs:
        state, age = _WORDS[run.state], format_age(run.age)
        table.add_row(run.run, state, age, _describe_driver(run), one_line(run.repository))
    return table


def _describe_driver(run: FleetRun) -> str:
    if not run.pid:
        return ""
    lease = f", lease {run.lease:.0f} s" if run.lease else ""
    return one_line(f"process {run.pid} on {run.machine}{lease}")


def _describe_fleet(fleet: Fleet) -> Iterator[str]:
    counted = (("running", fleet.running), ("waiting", fleet.waiting), ("stuck", fleet.stuck))
    states = ", ".join(f"{len(runs)} {word}" for word, runs in counted)
    yield f"{states}; {pluralize(len(fleet.drivers), 'process', 'processes')} at work"
    if fleet.queues is None or fleet.workers is None:
        yield NO_FLEET
    else:
        alive = [each for each in fleet.workers if each.alive]
        busy, width = sum(each.runs for each in alive), sum(each.width for each in alive)
        worker = pluralize(len(alive), "worker")
        yield f"{fleet.queued} queued; {worker} alive, {busy} of {width} places taken"
    unknown = f", and {pluralize(fleet.unpriced_today, 'call')} of unknown cost"
    limit = f" of {format_dollars(fleet.daily_limit)}" if fleet.daily_limit else ""
    cost = f"{format_dollars(fleet.dollars_today)}{limit}{unknown if fleet.unpriced_today else ''}"
    yield f"today: {fleet.begun_today} begun, {fleet.ended_today} ended, {cost}"
    if fleet.stuck:
        first = fleet.stuck[0]
        how = f"punchlist resume {first.run}{' --queue' if first.given_up else ''}"
        yield f"`{how}` goes on with a stuck run"
