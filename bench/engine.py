"""What the engine costs per action, beside what durability alone costs.

    python bench/engine.py [--actions 1000 10000]

An action here does nothing, so all of the time is the engine's: ask the step, start a task, write the event, fold it, tell the
watcher. Three shapes: "chain" is one step that names the next action after each event, "wide" one step that names all that is
left after each event, "steps" are steps of a hundred actions each. Two lower bounds: "bare append" writes the bytes of each
ledger line to a bare SQLite table (WAL, synchronous=FULL, one transaction) right after the engine wrote it, so that both meet the
same disk in the same moment, and "bare task" is an asyncio task without a ledger. "ratio" is the engine over both bounds
together. "own CPU" is the engine's processor time with a ledger that writes nothing.
"""

import argparse
import asyncio
import sqlite3
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.engine import Engine, Limits
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.hash_chain import encode_line
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.world import World
from punchlist.steps import VERBS, Action, Verb
from punchlist.steps.verb import NoOptions, select_pending
from punchlist.workflow.language import Do, Workflow

WIDTH = 4
CHANGE = Change(kind=ScopeKind.ALL, base="base", head="base")
STARTED = ev.Started(
    repository="bench", change=CHANGE, workflow_name="bench", workflow="", settings="{}", reviewers=(), checks=(),
    checks_allowed=False, version="0",
)  # fmt: skip


class Job(Struct, frozen=True):
    number: int


class Nobody:
    def handle_start(self, place, action):
        pass

    def handle_output(self, label, piece):
        pass

    def handle_event(self, entry, run):
        pass


class Forgetful:
    """A store that writes nothing: what is left is the engine's own work."""

    def __init__(self):
        self._seq = 0

    def append(self, run, place, key, event, at):
        self._seq += 1
        return ev.Entry(run=run, seq=self._seq, at=at, place=place, key=key, event=event)


class Paired:
    """The real store; after each append the same bytes go to a bare table, and the time that takes is kept apart."""

    def __init__(self, store, folder):
        self._store = store
        self.seconds = 0.0
        self._bare = sqlite3.connect(folder / "bare.sqlite3", isolation_level=None)
        self._bare.execute("PRAGMA journal_mode = WAL")
        self._bare.execute("PRAGMA synchronous = FULL")
        self._bare.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, line BLOB NOT NULL)")

    def append(self, *arguments):
        entry = self._store.append(*arguments)
        began = time.perf_counter()
        self._bare.execute("BEGIN IMMEDIATE")
        self._bare.execute("INSERT INTO entries (line) VALUES (?)", (encode_line(entry),))
        self._bare.execute("COMMIT")
        self.seconds += time.perf_counter() - began
        return entry

    def close(self):
        self._bare.close()


async def perform(job, run, world):
    return ev.Dismissed(by="bench", why=f"action {job.number}")


def chain(count):
    def step(run, options, place):
        done = len(run.position.here)
        return (Action(str(done), Job(done)),) if done < count else ()

    return step, 1


def wide(count):
    actions = tuple(Action(str(number), Job(number)) for number in range(count))

    def step(run, options, place):
        return select_pending(run, *actions)

    return step, 1


def steps(count):
    step, _ = wide(100)
    return step, count // 100


SHAPES = {"chain": chain, "wide": wide, "steps": steps}


def world():
    nothing = dict.fromkeys(
        (
            "trees",
            "repository",
            "checks",
            "tracker",
            "artifacts",
            "cache",
            "protected",
            "suppressions",
        )
    )
    tables = {name: {} for name in ("analyzers", "documents", "fixers", "reports")}
    return World(change=CHANGE, clock=time.time, **nothing, **tables)


def driven(shape, count, store, clock=time.perf_counter):
    """Seconds by that clock, and the run."""
    step, times = SHAPES[shape](count)
    VERBS["bench"] = Verb("nothing", NoOptions, step, {Job: perform})
    workflow = Workflow("bench", "", (Do("bench", NoOptions()),) * times, "")
    run = fold_entries("r", (store.append("r", "start", "started", STARTED, time.time()),))
    engine = Engine(workflow, world(), store, Limits(width=WIDTH), Nobody())
    began = clock()
    run = asyncio.run(engine.drive(run))
    return clock() - began, run


def bare_tasks(count):
    async def main():
        waiting = set()
        for number in range(count):
            waiting.add(asyncio.create_task(perform(Job(number), None, None)))
            if len(waiting) >= WIDTH:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)

    began = time.perf_counter()
    asyncio.run(main())
    return time.perf_counter() - began


def measured(shape, count):
    with tempfile.TemporaryDirectory() as folder, SqliteStore.open(Path(folder)) as store:
        pair = Paired(store, Path(folder))
        both, run = driven(shape, count, pair)
        pair.close()
        assert run.ended
        assert store.runs()[0].entries == run.seq
    own, _ = driven(shape, count, Forgetful(), time.process_time)
    return run.seq, both - pair.seconds, pair.seconds, bare_tasks(count), own


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--actions", nargs="+", type=int, default=[1_000, 10_000])
    counts = parser.parse_args().actions
    print("microseconds per action")
    print(
        f"{'shape':<7}{'actions':>9}{'events':>9}{'engine':>9}{'bare append':>13}{'bare task':>11}{'ratio':>7}{'own CPU':>9}"
    )
    for shape in SHAPES:
        for count in counts:
            events, *seconds = measured(shape, count)
            took, append, task, own = (part / count * 1e6 for part in seconds)
            ratio = took / (append + task)
            print(
                f"{shape:<7}{count:>9,}{events:>9,}{took:>9.0f}{append:>13.0f}{task:>11.0f}{ratio:>7.2f}{own:>9.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
