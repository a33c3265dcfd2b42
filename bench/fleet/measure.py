"""What a fleet costs and how soon it recovers: real PostgreSQL, real worker processes, agents that sleep.

python bench/fleet/measure.py [take] [idle] [load] [appends] [polls] [list] [recover] [scale] [spread] [spread-kills]

All of them take about fifteen minutes.
"""

import os
import random
import signal
import statistics
import subprocess
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
from postgres_server import find_programs, run_server  # noqa: E402 - the same
from punchlist.adapters.postgres.state import PostgresState  # noqa: E402 - the same
from punchlist.app.stores import upgrade_store  # noqa: E402 - the same
from punchlist.model.ledger.events import StepDone  # noqa: E402 - the same
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


def measure_load(server, runs=12, seconds=30):
    """What a worker asks of the database while it waits, and what a run asks of everything."""
    with open_fleet(server, "load") as fleet:
        fleet.play(seconds=4)
        worker = fleet.start_worker("a", "--width", "4", lease=15)
        assert worker.id
        threading.Event().wait(5)
        idle = _watch_database(fleet, lambda: threading.Event().wait(seconds))
        print(f"an idle worker: {idle[0] / seconds:.1f} transactions/s, {idle[1]} connections")
        before = _processor_seconds(worker.process.pid)
        queued = [fleet.enqueue(f"b{number}", "--label", "later") for number in range(runs)]
        began = time.monotonic()
        fleet.base.execute("UPDATE jobs SET label = ''")
        busy = _watch_database(fleet, lambda: fleet.wait_ended(*queued))
        took = time.monotonic() - began
        spent = _processor_seconds(worker.process.pid) - before
        entries = fleet.base.execute("SELECT count(*) FROM entries").fetchone()[0]
        files = [path for path in (fleet.folder / "artifacts").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        extra = busy[0] - idle[0] / seconds * took
        print(
            f"with {runs} runs, 4 at once, in {took:.0f} s: at most {busy[1]} connections; of each run"
            f" {extra / runs:.0f} transactions, {entries / runs:.0f} entries, {len(files) / runs:.0f} objects"
            f" with {size / runs / 1024:.0f} KB, {spent / runs:.2f} processor seconds",
            flush=True,
        )


def _watch_database(fleet, work):
    """Do the work; return the transactions meanwhile, and the most connections of others at once."""
    counted = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> ALL(%s)"
    own = [fleet.base.info.backend_pid]
    over, most = threading.Event(), [0]

    def watch():
        with psycopg.connect(fleet.url, autocommit=True) as base:
            own.append(base.info.backend_pid)
            while not over.wait(0.5):
                most[0] = max(most[0], base.execute(others, (own,)).fetchone()[0])

    thread = threading.Thread(target=watch)
    before = fleet.base.execute(counted).fetchone()[0]
    thread.start()
    work()
    over.set()
    thread.join()
    return fleet.base.execute(counted).fetchone()[0] - before, most[0]


def _processor_seconds(pid):
    """Of a process and the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def measure_appends(server, seconds=6):
    """How many fenced appends a second the database takes, of ever more runs at once."""
    for writers in (1, 4, 16, 64):
        with open_fleet(server, f"appends{writers}") as fleet:
            states = [PostgresState(fleet.url, fleet.folder) for _ in range(min(writers, 16))]
            counts, over = [0] * writers, threading.Event()

            def write(number, states=states, counts=counts, over=over):
                state, run = states[number % len(states)], f"r{number}"
                with state.leases.acquire(run):
                    state.store.append(run, "start", "started", started("/r"), time.time())
                    while not over.is_set():
                        event = StepDone(verb="review")
                        state.store.append(run, str(counts[number]), "k", event, time.time())
                        counts[number] += 1

            threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
            for thread in threads:
                thread.start()
            over.wait(seconds)
            over.set()
            for thread in threads:
                thread.join()
            for state in states:
                state.close()
            print(f"{writers} runs at once: {sum(counts) / seconds:.0f} appends/s", flush=True)


def measure_polls(server, seconds=5):
    """How many looks for a queued run a second the database answers."""
    with open_fleet(server, "polls") as fleet:
        script = fleet.folder / "poll.sql"
        script.write_text("SELECT 1 FROM jobs WHERE state = 'queued' LIMIT 1;\n")
        for clients in (4, 16, 64):
            words = ("-n", "-f", script, "-c", clients, "-j", 2, "-T", seconds, fleet.url)
            command = [find_programs() / "pgbench", *words]
            ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
            tps = next(line for line in ran.stdout.splitlines() if line.startswith("tps"))
            print(f"{clients} clients: {tps}", flush=True)


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


def measure_spread(server, fixes=24, seconds=8, width=2):
    """One run with so many fixes of so many seconds, of which a worker does `width` at once."""
    took = {}
    for count in (1, 2, 4):
        with open_fleet(server, f"spread{count}") as fleet:
            fleet.play_wide(fixes, seconds)
            flags = ("--width", str(width), "--set", "fleet.per-repository=0")
            workers = [fleet.start_worker(f"w{n}", *flags, lease=15) for n in range(count)]
            assert all(worker.id for worker in workers)
            run = fleet.enqueue_wide(spread=width * (count - 1), width=width)
            wait_for(lambda: fleet.job(run).state == "ended", limit=900)  # noqa: B023
            fleet.check_once(run, commits=fixes)
            times = [entry.at for entry in fleet.state.store.read(run)]
            took[count] = times[-1] - times[1]
            helped = sum(map(bool, fleet.list_attempts(run)))
            assert fleet.calls.count("fixer") == fixes, "paid twice"
            for worker in fleet.workers:
                worker.signal(signal.SIGTERM)
        print(
            f"1 run of {fixes} fixes, {count} workers: {took[count]:.1f} s,"
            f" {took[1] / took[count]:.2f}x; others did {helped} of them",
            flush=True,
        )


def measure_spread_kills(server, fixes=16, seconds=4, kills=6):
    """The same while workers are killed at random, the driver as well as those that help."""
    with open_fleet(server, "spreadkills") as fleet:
        fleet.play_wide(fixes, seconds)
        flags = ("--set", "fleet.per-repository=0")
        workers = [fleet.start_worker(f"w{number}", *flags, lease=LEASE) for number in range(3)]
        assert all(worker.id for worker in workers)
        run = fleet.enqueue_wide(spread=4, width=2)
        fleet.wait_kind(run, "planned")
        chance, drivers = random.Random(7), 0
        for number in range(kills):
            threading.Event().wait(chance.uniform(1, 6))
            if fleet.job(run).state == "ended":
                break
            fleet.base.execute("UPDATE jobs SET deaths = 0")
            victim = workers.pop(chance.randrange(len(workers)))
            drivers += victim.id == fleet.job(run).worker
            victim.kill()
            workers.append(fleet.start_worker(f"w{number + 3}", *flags, lease=LEASE))
        wait_for(lambda: fleet.job(run).state == "ended", limit=600)
        fleet.check_once(run, commits=fixes)
        helped, calls = sum(map(bool, fleet.list_attempts(run))), fleet.calls.count("fixer")
        print(
            f"1 run of {fixes} fixes, {kills} kills, {drivers} of them of its driver: {fixes} commits,"
            f" {calls} calls that ended, others did {helped}"
        )


MEASURES = {
    "take": measure_take,
    "idle": measure_idle,
    "load": measure_load,
    "appends": measure_appends,
    "polls": measure_polls,
    "list": measure_list,
    "recover": measure_recovery,
    "scale": measure_scale,
    "spread": measure_spread,
    "spread-kills": measure_spread_kills,
}

if __name__ == "__main__":
    with run_server(durable=True) as url:
        for name in sys.argv[1:] or MEASURES:
            MEASURES[name](url)
