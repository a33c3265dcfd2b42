"""A fleet whose workers die or are stopped, or whose database or object store is away.

    python bench/fleet/chaos.py [--runs 100] [--workers 4] [--random 20] [--chosen 20] [--stopped 5] [--lease 5] [--seed 1]
    python bench/fleet/chaos.py --runs 20 --random 0 --chosen 0 --stopped 0 --away database=30
    python bench/fleet/chaos.py --runs 20 --random 0 --chosen 0 --stopped 0 --away objects=30
    python bench/fleet/chaos.py --runs 40 --random 0 --chosen 0 --stopped 0 --full 8 --jumps 12

Each run has a branch, a finding that is fixed, committed and pushed, and one that is filed at a stand-in for GitHub. Chosen points:
an effect is done (answer, patch, commit, push, issue) and its event is not written yet. A worker that dies is replaced by one with
an empty home; one that is stopped sleeps past its lease and wakes up. A full disk is a worker's home of 128 MB that is filled for
some seconds (as root). A jump sets a worker's clock to another day (with Debian's libfaketime). Exit code 1 if anything is lost, twice, or other than without
kills.
"""

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing, nullcontext, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests/adapters/trackers"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests/adapters/forges"))

import psycopg
from github_standin import TOKEN, Github, Standin

from fleet_world import EDIT, FINDING, WORKFLOW, WorkerProcess
from postgres_server import start_server
from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.stores import upgrade_store
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.hash_chain import verify_lines
from s3_server import run_s3

HERE = Path(__file__).parent
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
POINTS = {
    "reviewed": "answer", "attempted": "patch", "committed": "commit", "published": "push", "filed": "issue",
}  # fmt: skip
CODE = "def mean(values):\n    return sum(values) / len(values)\n\n\ndef page(rows):\n    return rows[1:]\n"
FLOW = WORKFLOW.replace("report: {}", "report: {file: all}")
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}


class Chaos:
    """One fleet: its repository, queue, workers, and what was done to them."""

    def __init__(self, asked, folder, url, github, objects):
        self.asked, self.folder, self.url, self.github = asked, folder, url, github
        self.objects = {"PUNCHLIST_OBJECTS": str(folder / "objects")}
        if objects:
            self.objects = {"PUNCHLIST_OBJECTS": "s3://objects/chaos", **objects.keys}
        self.repo, self.orders = folder / "repo", folder / "orders"
        for each in (self.repo, self.orders):
            each.mkdir()
        (folder / "flow.yaml").write_text(FLOW)
        self.workers, self.started = [], 0
        self.deaths, self.slept, self.filled, self.jumped = [], 0, 0, 0
        self.troubled = 0
        """How many runs were under way where a disk ran full or a clock was set."""
        self.seen, self.moves = {}, {}
        """By run: what its row said last, and when it began to say what."""
        self.random = random.Random(asked.seed)
        self.git("init", "--quiet", "--initial-branch=main")
        (self.repo / "README.md").write_text("shop\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "shop")

    def git(self, *words):
        done = subprocess.run(
            ["git", *words], cwd=self.repo, env=os.environ | IDENTITY, capture_output=True, text=True, check=True
        )  # fmt: skip
        return done.stdout.strip()

    def environment(self, home):
        folder = self.folder / home
        folder.mkdir(exist_ok=True)
        own = {"PUNCHLIST_HOME": str(folder), "PUNCHLIST_STORE": self.url, "OUR_TOKEN": TOKEN}
        if self.asked.jumps:
            own |= self._make_clock(home)
        return os.environ | IDENTITY | self.objects | own

    def _make_clock(self, name):
        """Give a process, and what it starts, a clock that can be set by a file."""
        clock = self.folder / f"{name}.clock"
        clock.write_text("+0")
        return {
            "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1",
        }  # fmt: skip

    def ask(self, query, *values):
        """Return the rows of a query; where the database is away, wait for it."""
        while True:
            try:
                with psycopg.connect(self.url, autocommit=True) as base:
                    return base.execute(query, values).fetchall()
            except psycopg.OperationalError:
                threading.Event().wait(0.2)

    def enqueue(self, number):
        """Queue the run of a new branch; its agent has a script and a list of calls of its own."""
        path = f"shop_{number}.py"
        self.git("checkout", "--quiet", "-B", f"feature-{number}", "main")
        (self.repo / path).write_text(CODE)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", path)
        script = self.folder / f"robot-{number}.json"
        script.write_text(json.dumps(self._script(number, path)))
        settings = {
            "agents.use": "robot", "agent.robot.kind": "scripted", "agent.robot.script": script, "track.to": "github",
            "track.api": self.github.api, "track.repository": "acme/shop", "track.token": "OUR_TOKEN",
        }  # fmt: skip
        flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        words = (
            "run",
            "--queue",
            "--json",
            "--no-checks",
            "--workflow",
            str(self.folder / "flow.yaml"),
        )
        done = subprocess.run(
            [sys.executable, "-m", "punchlist", *words, *flags], cwd=self.repo, env=self.environment("client"),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["run"]

    def _script(self, number, path):
        seconds = self.asked.seconds
        bad = {**FINDING, "file_path": path}
        other = {
            **bad,
            "title": f"page() of {number} loses a row",
            "line_start": 6,
            "description": "It starts at 1.",
        }
        fixed = {"outcome": "fixed", "explanation": "0 of none", "files": [path]}
        fixes = [
            {"when": "mean() fails", "edits": [{**EDIT, "path": path}], "outcome": fixed},
            {"when": "loses a row", "edits": [], "outcome": {"outcome": "blocked", "explanation": "ask the owner"}},
        ]  # fmt: skip
        lines = [
            {"role": "technical", "seconds": seconds, "opened": [path], "answer": {"findings": [bad, other]}},
            {"role": "fixer", "seconds": seconds, "fixes": fixes},
        ]  # fmt: skip
        return {"log": f"calls-{number}.jsonl", "lines": lines}

    def start_worker(self):
        self.started += 1
        name = f"worker-{self.started}"
        if self.asked.full:
            (self.folder / name).mkdir()
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", self.folder / name], check=True
            )
        log = self.folder / f"{name}.log"
        words = (
            "worker",
            "--width",
            str(self.asked.width),
            "--set",
            f"fleet.lease={self.asked.lease}",
        )
        with log.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, str(HERE / "mortal.py"), str(self.orders), *words], cwd=self.folder,
                env=self.environment(name), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        self.workers.append(WorkerProcess(process, log, self.folder / name))

    def start_workers(self):
        for _ in range(self.asked.workers):
            self.start_worker()
        for worker in self.workers:
            assert worker.id  # it has begun to take runs

    def end_workers(self):
        while self.workers:
            worker = self.workers.pop()
            worker.kill()
            self._remove_disk(worker)

    def _remove_disk(self, worker):
        if self.asked.full:
            subprocess.run(["umount", "--lazy", worker.home], check=True)

    def count_left(self):
        states = "('queued', 'running')"
        return self.ask(f"SELECT count(*) FROM jobs WHERE state IN {states}")[0][0]

    def run_all(self, kill=True):
        """Drive all that is queued; kill and replace workers meanwhile. Return the seconds."""
        began, last = time.monotonic(), time.monotonic()
        left_random = self.asked.random if kill else 0
        left_stopped = self.asked.stopped if kill else 0
        others = [self._fill] * self.asked.full + [self._jump] * self.asked.jumps if kill else []
        self.random.shuffle(others)
        orders = [
            f"{kind}.{n}" for n in range(-(-self.asked.chosen // len(POINTS))) for kind in POINTS
        ]
        orders = orders[: self.asked.chosen] if kill else []
        self.random.shuffle(orders)
        tick = threading.Event()
        while self.count_left() and time.monotonic() - began < self.asked.limit:
            self._note_moves()
            self._replace_dead()
            if (
                left_random or left_stopped or orders or others
            ) and time.monotonic() - last > self.asked.gap:
                last = time.monotonic()
                if orders:
                    (self.orders / orders.pop()).touch()
                if left_random and (victim := self._choose_busy()):
                    victim.kill()
                    left_random -= 1
                elif left_stopped and (victim := self._choose_busy()):
                    self._put_to_sleep(victim)
                    left_stopped -= 1
                elif others and (victim := self._choose_busy()):
                    others.pop()(victim)
            tick.wait(0.05)
        self.unobeyed = [
            order.name for order in self.orders.glob("[a-z]*.[0-9]*") if "obeyed" not in order.name
        ]
        return time.monotonic() - began

    def _replace_dead(self):
        for worker in [each for each in self.workers if each.process.poll() is not None]:
            self.workers.remove(worker)
            self._record_death(worker)
            self._remove_disk(worker)
            self.start_worker()

    def _choose_busy(self):
        rows = self.ask("SELECT DISTINCT worker FROM jobs WHERE state = 'running'")
        busy = [each for each in self.workers if " takes runs" in each.lines and (each.id,) in rows]
        return self.random.choice(busy) if busy else None

    def _put_to_sleep(self, worker):
        """Stop a worker, and wake it when its lease is long over."""
        self.slept += 1
        self._record_death(worker)
        worker.signal(signal.SIGSTOP)
        timer = threading.Timer(2 * self.asked.lease, self._wake, (worker,))
        timer.start()

    def _fill(self, worker):
        """Fill a worker's disk, and make room again some seconds later."""
        self.filled += 1
        self.troubled += len(self._list_held(worker))
        filler = worker.home / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(1 << 20)):
                pass
        threading.Timer(6, filler.unlink, (True,)).start()

    def _jump(self, worker):
        """Set a worker's clock forward or back; an object store refuses one that is a day off, until it is set right."""
        self.jumped += 1
        self.troubled += len(self._list_held(worker))
        clock = self.folder / f"{worker.home.name}.clock"
        clock.write_text(self.random.choice(["+1d", "-1d", "+60s", "-60s"]))
        threading.Timer(8, clock.write_text, (self.random.choice(["+0", "+20s", "-20s"]),)).start()

    def _wake(self, worker):
        if worker.process.poll() is None:
            worker.signal(signal.SIGCONT)

    def _record_death(self, worker):
        """Note which runs it held."""
        self.deaths.append((time.time(), self._list_held(worker)))

    def _list_held(self, worker):
        held = self.ask("SELECT run FROM jobs WHERE state = 'running' AND worker = %s", worker.id)
        return tuple(run for (run,) in held)

    def _note_moves(self):
        """Note what has become of each run's row since the last look."""
        for run, state, worker in self.ask("SELECT run, state, worker FROM jobs"):
            if self.seen.get(run) != (state, worker):
                self.seen[run] = (state, worker)
                self.moves.setdefault(run, []).append(
                    (time.time(), state, worker.rpartition("-")[2])
                )

    def recoveries(self):
        """Seconds from each death to the first entry of each run that it interrupted, with the run and the time of the death; where
        the next worker died, too, before it wrote one, from that death.
        """
        deaths = sorted((run, at) for at, runs in self.deaths for run in runs)
        found = []
        for (run, at), (other, then) in itertools.pairwise([*deaths, ("", 0)]):
            query = "SELECT min(at) FROM entries WHERE run = %s AND at > %s"
            first = self.ask(query, run, at)[0][0]
            if first and not (other == run and then < first):
                found.append((first - at, run, at))
        return sorted(found)

    def explain(self, seconds, run, at):
        """What happened to a run between a death and the first entry after it."""
        words = [
            f"{when - at:+.1f} {state} {worker}"
            for when, state, worker in self.moves[run]
            if -1 < when - at < seconds + 1
        ]
        deaths = [
            f"{when - at:+.1f} death"
            for when, runs in self.deaths
            if run in runs and abs(when - at) < seconds + 10
        ]
        return f"{seconds:.1f} s, {run}: {', '.join(words)}; {', '.join(deaths)}"

    def outcome(self, state, number, run):
        """What must be the same in every run, and what is wrong with this one."""
        entries = list(state.store.read(run))
        folded, kinds = fold_entries(run, entries), [e.event.__struct_config__.tag for e in entries]
        branch = f"refs/heads/punchlist/{run}"
        commits = (
            self.git("rev-list", "--count", folded.started.change.head + ".." + branch)
            if self.git("branch", "--list", f"punchlist/{run}")
            else "0"
        )
        faults = [
            f"{kind} {kinds.count(kind)} times"
            for kind in ("started", "ended")
            if kinds.count(kind) != 1
        ]
        faults += [f"{commits} commits"] if commits != "1" else []
        lines = [line.rstrip(b"\n") for line in state.store.export(run)]
        faults += [
            str(fault)
            for fault in (verify_lines(lines), *state.store.take_snapshot(run).faults)
            if fault
        ]
        actions = Counter((e.place, e.key) for e in entries)
        faults += [f"{action} twice" for action, times in actions.items() if times > 1]
        issues = [
            each
            for each in self.github.github.issues.values()
            if f"page() of {number} " in each["title"]
        ]
        faults += [f"{len(issues)} issues"] if len(issues) != 1 else []
        epochs = self.ask(
            "SELECT epoch FROM entries WHERE run = %s AND epoch IS NOT NULL ORDER BY seq", run
        )
        faults += ["an earlier driver wrote after a later one"] if epochs != sorted(epochs) else []
        items = sorted(
            (item.current.title.split()[0], item.status.value) for item in folded.items.values()
        )
        return (folded.ended, tuple(items)), faults

    def calls(self, number):
        log = self.folder / f"calls-{number}.jsonl"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def longest(self, runs):
        """The seconds of the run that took longest, from its first entry by a worker to its last."""
        query = "SELECT max(at) - min(at) FROM entries WHERE run = %s AND seq > 1"
        return max(self.ask(query, run)[0][0] for run in runs)

    def close(self):
        self.end_workers()


def main():
    asked = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="punchlist-chaos-") as name,
        start_server(durable=True) as server,
        Standin(Github(time.time)) as github,
        nullcontext() if asked.folder else run_s3() as objects,
    ):
        url = server.make_database("chaos")
        upgrade_store(url)
        chaos = Chaos(asked, Path(name), url, github, objects)
        with closing(PostgresState(url, Path(name) / "reader")) as state, closing(chaos):
            return measure(chaos, state, {"database": server, "objects": objects})


def measure(chaos, state, servers):
    asked = chaos.asked
    calm = {n: chaos.enqueue(n) for n in range(asked.runs if asked.away else asked.calm)}
    chaos.start_workers()
    chaos.run_all(kill=False)
    chaos.end_workers()
    expected = {chaos.outcome(state, number, run)[0] for number, run in calm.items()}
    needed = {chaos.calls(number) for number in calm}
    assert len(expected) == len(needed) == 1, (expected, needed)
    print(f"without kills: {expected.pop()}, {needed} calls of agents", flush=True)
    expected, needed = chaos.outcome(state, 0, calm[0])[0], needed.pop()

    runs = {number: chaos.enqueue(number) for number in range(len(calm), asked.runs + len(calm))}
    chaos.start_workers()
    if asked.away:
        what, _, seconds = asked.away.partition("=")
        away = threading.Timer(
            1, lambda: measured.append(_take_away(servers[what], float(seconds)))
        )
        measured = []
        away.start()
    seconds = chaos.run_all()
    if asked.away:
        away.join()
        usual, longest = chaos.longest(calm.values()), chaos.longest(runs.values())
        print(
            f"{what} away for {measured[0]:.1f} s: the longest run took {longest:.1f} s, else {usual:.1f} s"
        )
    return report(chaos, state, runs, expected, needed, seconds)


def report(chaos, state, runs, expected, needed, seconds):
    lost = [run for run in runs.values() if state.queue.find(run).state != "ended"]
    wrong, other = {}, {}
    for number, run in runs.items():
        if run in lost:
            continue
        outcome, faults = chaos.outcome(state, number, run)
        wrong |= {run: faults} if faults else {}
        other |= {run: outcome} if outcome != expected else {}
    if chaos.asked.moves:
        Path(chaos.asked.moves).write_text(
            json.dumps({"moves": chaos.moves, "deaths": chaos.deaths})
        )
    paid = sum(chaos.calls(number) for number in runs)
    flying = sum(len(held) for _, held in chaos.deaths) + chaos.troubled
    times = [] if chaos.jumped else chaos.recoveries()
    print(
        f"{len(runs)} runs, {chaos.asked.workers} workers, {len(chaos.deaths) - chaos.slept} deaths ({len(list(chaos.orders.glob('obeyed-*')))} at"
        f" chosen points, {len(chaos.unobeyed)} not reached), {chaos.slept} stopped past their lease, {flying} runs interrupted, {chaos.filled} disks full, {chaos.jumped} clocks set, {seconds:.0f} s"
    )
    print(f"lost {len(lost)}, something twice or broken {len(wrong)}, another outcome {len(other)}")
    print(
        f"paid calls {paid}, needed {needed * len(runs)}, in flight at the deaths at most {flying}"
    )
    if times:
        print(
            f"recovery, lease {chaos.asked.lease} s: median {times[len(times) // 2][0]:.1f} s, worst {times[-1][0]:.1f} s"
        )
        for each in times[-chaos.asked.explain :] if chaos.asked.explain else ():
            print(f"  {chaos.explain(*each)}")
    for run, what in [*wrong.items(), *other.items()][:10]:
        print(f"  {run}: {what}")
    for run in lost[:10]:
        print(f"  {run}: {state.queue.find(run)}")
    return bool(lost or wrong or other or paid > needed * len(runs) + flying)


def _take_away(server, seconds):
    """Stop a server, and start it so that it answers after so many seconds; return how many they were."""
    began = time.monotonic()
    server.stop()
    threading.Event().wait(max(0, seconds - getattr(server, "took", 0)))
    server.start()
    return time.monotonic() - began


def _arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in {
        "runs": 100,
        "workers": 4,
        "width": 2,
        "random": 20,
        "chosen": 20,
        "stopped": 5,
        "seed": 1,
        "calm": 2,
        "explain": 3,
        "full": 0,
        "jumps": 0,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in {"lease": 5, "seconds": 1, "gap": 3, "limit": 900}.items():
        parser.add_argument(f"--{name}", type=float, default=value)
    parser.add_argument(
        "--folder", action="store_true", help="objects are in a folder, not in a real S3"
    )
    parser.add_argument(
        "--moves", default="", help="a file for what happened to each run, and when"
    )
    parser.add_argument("--away", default="", help="database=SECONDS or objects=SECONDS")
    asked = parser.parse_args()
    if asked.jumps and FAKETIME is None:
        parser.error("--jumps needs libfaketime: apt-get install libfaketime")
    return asked


if __name__ == "__main__":
    sys.exit(main())
