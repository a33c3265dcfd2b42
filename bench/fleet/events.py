"""How soon an event that one server's process wrote is on the stream of another server.

python bench/fleet/events.py [--events 200]

Two servers on one database; the event is written into the ledger as a driving process does, and read from the event stream of a
server that does not drive the run. Beside it: the same for SQLite, where readers look once a second. The goal is 250 ms (p95).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
from parts import make_started, open_fleet, percentile

from punchlist.app.access import Role
from punchlist.app.stores import open_state
from punchlist.model.ledger.events import StepDone
from punchlist.ports.serving.records import RepositoryEntry
from punchlist.ports.state import SharedState
from punchlist.web.security.tokens import Tokens

GOAL = 250
RUN = "261115-000001"
PLACE = "/bench/.git"


@contextmanager
def serve(home: Path, url: str) -> Iterator[str]:
    """Yield the address of a server that was started as users do."""
    env = {**os.environ, "PUNCHLIST_HOME": str(home), "PUNCHLIST_STORE": url}
    command = [sys.executable, "-m", "punchlist", "serve", "--port", "0", "--not-here"]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        try:
            for line in server.stderr:
                if "listening on " in line:
                    yield line.split("listening on ")[1].split()[0]
                    break
        finally:
            server.terminate()


def measure(state: SharedState, addresses: list[str], token: str, count: int) -> list[float]:
    state.store.append(RUN, "start", "started", make_started(PLACE), time.time())
    headers = {"authorization": f"Bearer {token}"}
    took = []
    with (
        httpx.Client(headers=headers, timeout=60, trust_env=False) as client,
        client.stream("GET", f"{addresses[-1]}/api/runs/{RUN}/stream") as stream,
    ):
        lines = (line for line in stream.iter_lines() if line.startswith("id: "))
        next(lines)
        for number in range(count):
            time.sleep(0.03)
            state.store.append(RUN, str(number), "k", StepDone(verb="review"), time.time())
            written = time.perf_counter()
            next(lines)
            took.append(time.perf_counter() - written)
    return took


def measure_store(state: SharedState, url: str, homes: list[Path], count: int) -> list[float]:
    state.repositories.add(RepositoryEntry(id="bench", name="bench", root="/bench", git_dir=PLACE))
    token = Tokens(state.access).create_token(Role.READ)
    with serve(homes[0], url) as one, serve(homes[-1], url) as other:
        return measure(state, [one, other], token, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200)
    count = parser.parse_args().events
    with tempfile.TemporaryDirectory(prefix="punchlist-postgres-") as name:
        homes = [Path(name) / "one", Path(name) / "other"]
        with open_fleet(homes[0]) as (url, state):
            fleet = measure_store(state, url, homes, count)
        with closing(open_state("", homes[0])) as plain:
            polled = measure_store(plain, "", homes[:1], min(count, 20))
    for store, seconds in (("PostgreSQL", fleet), ("SQLite, polled", polled)):
        p50, p95 = percentile(seconds, 0.5), percentile(seconds, 0.95)
        print(f"{store:<14}  {len(seconds):>4} events  p50 {p50:7.1f} ms  p95 {p95:7.1f} ms")
    print(f"goal: p95 of PostgreSQL at most {GOAL} ms")
    sys.exit(percentile(fleet, 0.95) > GOAL)


if __name__ == "__main__":
    main()
