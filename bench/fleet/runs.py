"""How long the list of many finished runs takes: from the store, and through the API of a server.

python bench/fleet/runs.py [--runs 10000]

Beside it: a bare SELECT of the same rows. The goal is 200 ms for 10,000 runs.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
from events import PLACE, serve
from parts import make_started, open_fleet, percentile

from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.access import Role
from punchlist.model.ledger.events import Ended, Entry
from punchlist.model.ledger.hash_chain import encode_line, link_entry
from punchlist.ports.serving.records import RepositoryEntry
from punchlist.web.security.tokens import Tokens

GOAL = 200
TIMES = 15


def write_runs(state: PostgresState, count: int) -> None:
    started, ended = make_started(PLACE), Ended(outcome="clean")
    for number in range(count):
        run, at = f"261115-{number:06x}", 1e9 + number
        first = link_entry(
            Entry(run=run, seq=1, at=at, place="start", key="started", event=started), ""
        )
        last = Entry(run=run, seq=2, at=at + 9, place="end", key="ended", event=ended)
        lines = [encode_line(each) for each in (first, link_entry(last, first.hash))]
        state.store.import_lines(run, lines)


def measure(work: Callable[[], object]) -> list[float]:
    took = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        work()
        took.append(time.perf_counter() - begun)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    count = parser.parse_args().runs
    found = {}
    with (
        tempfile.TemporaryDirectory(prefix="punchlist-postgres-") as name,
        open_fleet(Path(name)) as (url, state),
    ):
        with psycopg.connect(url, autocommit=True) as base:
            base.execute("ALTER DATABASE bench SET synchronous_commit = off")
            write_runs(PostgresState(url, Path(name)), count)
            found["bare SELECT"] = measure(lambda: base.execute("SELECT * FROM runs").fetchall())
        found["store.runs()"] = measure(state.store.runs)
        state.repositories.add(
            RepositoryEntry(id="bench", name="bench", root="/bench", git_dir=PLACE)
        )
        headers = {"authorization": f"Bearer {Tokens(state.access).create_token(Role.READ)}"}
        with (
            serve(Path(name), url) as address,
            httpx.Client(base_url=address, headers=headers, timeout=60, trust_env=False) as client,
        ):
            assert client.get("/api/runs").json()["total"] == count
            for query in ("limit=50", "limit=500", f"limit=500&offset={count - 500}"):
                found[f"GET /api/runs?{query}"] = measure(
                    lambda query=query: client.get(f"/api/runs?{query}").raise_for_status()
                )
    for what, seconds in found.items():
        print(
            f"{what:<34}  p50 {percentile(seconds, 0.5):7.1f} ms  p95 {percentile(seconds, 0.95):7.1f} ms"
        )
    worst = max(percentile(seconds, 0.5) for seconds in found.values())
    print(f"worst p50: {worst:.0f} ms (goal for 10,000 runs: {GOAL} ms)")
    sys.exit(worst > GOAL)


if __name__ == "__main__":
    main()
