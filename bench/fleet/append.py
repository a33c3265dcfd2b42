"""What it costs to append one event durably: SQLite beside PostgreSQL on the same disk, in turns.

python bench/fleet/append.py [--events 300] [--turns 4]

The PostgreSQL run has a lease, so every append is fenced. The goal is a median at most 2.5 times that of SQLite.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from parts import make_started, open_fleet, percentile

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger.events import StepDone
from punchlist.ports.store import Store

GOAL = 2.5


def append_events(store: Store, run: str, count: int) -> list[float]:
    store.append(run, "start", "started", make_started("/bench"), time.time())
    took = []
    for number in range(count):
        begun = time.perf_counter()
        store.append(run, f"0.{number}", "k", StepDone(verb="review"), time.time())
        took.append(time.perf_counter() - begun)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--turns", type=int, default=4)
    asked = parser.parse_args()
    took: dict[str, list[float]] = {"SQLite": [], "PostgreSQL": []}
    with tempfile.TemporaryDirectory(prefix="punchlist-postgres-") as name:
        home = Path(name)
        with open_fleet(home) as (_, state), SqliteStore.open(home) as plain:
            for turn in range(asked.turns):
                took["SQLite"] += append_events(plain, f"r{turn}", asked.events)
                with state.leases.acquire(f"r{turn}"):
                    took["PostgreSQL"] += append_events(state.store, f"r{turn}", asked.events)
    for store, seconds in took.items():
        p50, p95 = percentile(seconds, 0.5), percentile(seconds, 0.95)
        print(f"{store:<10}  p50 {p50:6.2f} ms  p95 {p95:6.2f} ms")
    ratio = percentile(took["PostgreSQL"], 0.5) / percentile(took["SQLite"], 0.5)
    print(f"PostgreSQL over SQLite, p50: {ratio:.2f} (goal: at most {GOAL})")
    sys.exit(ratio > GOAL)


if __name__ == "__main__":
    main()
