"""What a fleet costs and how soon it recovers: real PostgreSQL, real worker processes, agents that sleep.

python bench/fleet/measure.py [take] [idle] [list] [recover] [scale]      all of them take about ten minutes
"""

import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "adapters" / "store")]

from state_contract import started  # noqa: E402 - the same

from conftest import Repo  # noqa: E402 - the same
from fleet_world import Fleet, wait_for  # noqa: E402 - found by the path above
from postgres_server import run_server  # noqa: E402 - the same
from punchlist.adapters.postgres.state import PostgresState  # noqa: E402 - the same
from punchlist.app.stores import upgrade_store  # noqa: E402 - the same
from punchlist.ports.fleet.queue import Job, JobState, Room  # noqa: E402 - the same

LEASE = 5


@contextmanager
def open_fleet(server, name):
    with psycopg.connect(f"{server}/postgres", autocommit=True) as base:
        base.execute(f"CREATE DATABASE {name}")
    upgrade_store(f"{server}/{name}")
    with tempfile.TemporaryDirectory() as folder:
        for each in ("repository", "fleet"):
            (Path(folder) / each).mkdir()
        who = {
            f"GIT_{role}_{what}": "a@b"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        os.environ.update(who)
        state = PostgresState(f"{server}/{name}", Path(folder) / "home")
        fleet = Fleet(
            Repo(Path(folder) / "repository"), Path(folder) / "fleet", f"{server}/{name}", state
        )
        try:
            yield fleet
        finally:
            fleet.close()
            state.close()


def tell(name, values, unit="s"):
    values = sorted(values)
    high = values[min(len(values) - 1, int(len(values) * 0.95))]
    print(
        f"{name}: n={len(values)} median {statistics.median(values):.3f} p95 {high:.3f}"
        f" worst {values[-1]:.3f} {unit}",
        flush=True,
    )


def measure_take(server, runs=1000, takers=50):
    with open_fleet(server, "take") as fleet:
        began = time.monotonic()
        for number in range(runs):
            job = Job(run=f"r{number}", repository=f"/r/{number % 100}", branch=f"b{number}")
            fleet.state.queue.enqueue(job, started(job.repository), time.time())
        print(f"{runs} runs queued in {time.monotonic() - began:.1f} s")
        states = [PostgresState(fleet.url, fleet.folder) for _ in range(10)]
        taken, seconds = [], []

        def work(queue, name):
            while True:
                start = time.monotonic()
                job = queue.take(name, (), Room(repository=4))
                seconds.append(time.monotonic() - start)
                if job is not None:
                    taken.append(job.run)
                    queue.finish(job.run, name, JobState.ENDED)
                elif not queue.list_jobs(JobState.QUEUED):
                    return

        threads = [
            threading.Thread(target=work, args=(states[number % 10].queue, f"t{number}"))
            for number in range(takers)
        ]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        for state in states:
            state.close()
        print(
            f"{takers} takers took {len(taken)} runs in {took:.1f} s, {len(taken) - len(set(taken))} twice"
        )
        tell("one take, with 50 at it", seconds)


def measure_idle(server, runs=20):
    with open_fleet(server, "idle") as fleet:
        fleet.play()
        assert fleet.start_worker("a", "--width", "4", lease=LEASE).id
        seen = []
        for number in range(runs):
            run = fleet.enqueue(f"b{number}")
            fleet.wait_ended(run)
            first = next(
                e.at
                for e in fleet.state.store.read(run)
                if e.event.__struct_config__.tag == "resumed"
            )
            queued = "SELECT extract(epoch FROM queued_at)::float8 FROM jobs WHERE run = %s"
            seen.append(first - fleet.base.execute(queued, (run,)).fetchone()[0])
        tell("an idle worker records that it goes on with a queued run after", seen)
        waits = "SELECT extract(epoch FROM taken_at - queued_at)::float8 FROM jobs"
        tell("and takes it after", [row[0] for row in fleet.base.execute(waits)])


def measure_list(server, runs=10_000):
    with open_fleet(server, "list") as fleet:
        fleet.base.execute(
            """INSERT INTO runs (id, repository, started_at, head, entries, last_at, last_kind,
                 latest_at, active, ended_at, outcome, ended_seq)
               SELECT 'r' || n, '/r', n, '', 9, n, 'ended', n, 1, n, 'clean', 9
               FROM generate_series(1, %s) AS n""",
            (runs,),
        )
        seen = []
        for _ in range(20):
            start = time.monotonic()
            assert len(fleet.state.store.runs()) == runs
            seen.append((time.monotonic() - start) * 1000)
        tell(f"the list of {runs} finished runs", seen, "ms")


def measure_recovery(server, kills=12):
    with open_fleet(server, "recover") as fleet:
        fleet.play(seconds=600)
        workers = [fleet.start_worker(f"w{number}", lease=LEASE) for number in range(2)]
        run = fleet.enqueue("feature")
        fleet.wait_kind(run, "begun")
        seen = []
        for number in range(kills):
            holder = fleet.job(run).worker
            fleet.base.execute("UPDATE jobs SET deaths = 0")
            victim = next(each for each in workers if each.id == holder)
            threading.Event().wait(number % 4 * 0.6)
            before, killed = fleet.kinds(run).count("resumed"), time.time()
            victim.kill()
            workers = [each for each in workers if each is not victim]
            workers.append(fleet.start_worker(f"w{number + 2}", lease=LEASE))
            fleet.wait_kind(run, "resumed", before + 1)
            *_, last = (
                e.at
                for e in fleet.state.store.read(run)
                if e.event.__struct_config__.tag == "resumed"
            )
            seen.append(last - killed)
        tell(f"recovery after kill -9 with a lease of {LEASE} s", seen)


def measure_scale(server, runs=16, seconds=8):
    took = {}
    for count in (1, 2, 4):
        with open_fleet(server, f"scale{count}") as fleet:
            fleet.play(seconds=seconds)
            queued = [fleet.enqueue(f"b{number}") for number in range(runs)]
            began = time.monotonic()
            flags = ("--width", "2", "--set", "fleet.per-repository=0")
            for number in range(count):
                fleet.start_worker(f"w{number}", *flags, lease=15)
            wait_for(lambda: all(fleet.job(run).state == "ended" for run in queued), limit=900)  # noqa: B023
            took[count] = time.monotonic() - began
            for run in queued:
                fleet.check_once(run)
            for worker in fleet.workers:
                worker.signal(signal.SIGTERM)
        print(
            f"{runs} runs, {count} workers: {took[count]:.1f} s, {took[1] / took[count]:.2f}x",
            flush=True,
        )


MEASURES = {
    "take": measure_take,
    "idle": measure_idle,
    "list": measure_list,
    "recover": measure_recovery,
    "scale": measure_scale,
}

if __name__ == "__main__":
    with run_server() as url:
        for name in sys.argv[1:] or MEASURES:
            MEASURES[name](url)
