"""A fleet whose workers die: 100 runs, 4 workers, 20 kills at random and 20 at chosen points, or a database that is away.

    python bench/fleet/chaos.py [--runs 100] [--workers 4] [--random 20] [--chosen 20] [--lease 5] [--seed 1]
    python bench/fleet/chaos.py --runs 20 --random 0 --chosen 0 --away 30

Each run has a branch, a finding that is fixed, committed and pushed, and one that is filed at a stand-in for GitHub. Chosen points:
an effect is done (answer, patch, commit, push, issue) and its event is not written yet. A worker that dies is replaced by one with
an empty home. Exit code 1 if anything is lost, twice, or other than without kills.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests/adapters/trackers"))

import psycopg
from github_standin import TOKEN, Github, Standin

from fleet_world import EDIT, FINDING, WORKFLOW, WorkerProcess
from postgres_server import start_server
from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.stores import upgrade_store
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.hash_chain import verify_lines

HERE = Path(__file__).parent
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

    def __init__(self, asked, folder, url, github):
        self.asked, self.folder, self.url, self.github = asked, folder, url, github
        self.repo, self.orders = folder / "repo", folder / "orders"
        for each in (self.repo, self.orders, folder / "artifacts"):
            each.mkdir()
        (folder / "flow.yaml").write_text(FLOW)
        self.base = psycopg.connect(url, autocommit=True)
        self.workers, self.started = [], 0
        self.deaths = []
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
        if not (folder / "runs").exists():
            (folder / "runs").symlink_to(self.folder / "artifacts")
        own = {"PUNCHLIST_HOME": str(folder), "PUNCHLIST_STORE": self.url, "OUR_TOKEN": TOKEN}
        return os.environ | IDENTITY | own

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
            self.workers.pop().kill()

    def count_left(self):
        states = "('queued', 'running')"
        return self.base.execute(f"SELECT count(*) FROM jobs WHERE state IN {states}").fetchone()[0]

    def run_all(self, kill=True):
        """Drive all that is queued; kill and replace workers meanwhile. Return the seconds."""
        began, last = time.monotonic(), time.monotonic()
        left_random = self.asked.random if kill else 0
        orders = [
            f"{kind}.{n}" for n in range(-(-self.asked.chosen // len(POINTS))) for kind in POINTS
        ]
        orders = orders[: self.asked.chosen] if kill else []
        self.random.shuffle(orders)
        tick = threading.Event()
        while self.count_left() and time.monotonic() - began < self.asked.limit:
            self._replace_dead()
            if (left_random or orders) and time.monotonic() - last > self.asked.gap:
                last = time.monotonic()
                if orders:
                    (self.orders / orders.pop()).touch()
                if left_random and self._kill_one():
                    left_random -= 1
            tick.wait(0.05)
        self.unobeyed = [
            order.name for order in self.orders.glob("[a-z]*.[0-9]*") if "obeyed" not in order.name
        ]
        return time.monotonic() - began

    def _replace_dead(self):
        for worker in [each for each in self.workers if each.process.poll() is not None]:
            self.workers.remove(worker)
            self._record_death(worker)
            self.start_worker()

    def _kill_one(self):
        rows = self.base.execute(
            "SELECT DISTINCT worker FROM jobs WHERE state = 'running'"
        ).fetchall()
        busy = [each for each in self.workers if " takes runs" in each.lines and (each.id,) in rows]
        if not busy:
            return False
        victim = self.random.choice(busy)
        victim.kill()
        return True

    def _record_death(self, worker):
        held = self.base.execute(
            "SELECT run FROM jobs WHERE state = 'running' AND worker = %s", (worker.id,)
        ).fetchall()
        self.deaths.append((time.time(), tuple(run for (run,) in held)))

    def recoveries(self):
        """Seconds from each death to the first entry of each run that it interrupted."""
        found = []
        for at, runs in self.deaths:
            for run in runs:
                row = self.base.execute(
                    "SELECT min(at) FROM entries WHERE run = %s AND at > %s", (run, at)
                ).fetchone()
                found += [row[0] - at] if row[0] else []
        return sorted(found)

    def outcome(self, state, number, run):
        """What must be the same in every run, and what is wrong with this one."""
        entries = list(state.store.read(run))
        folded, kinds = fold_entries(run, entries), [e.event.__struct_config__.tag for e in entries]
        branch = f"refs/heads/punchlist/{run}"
        commits = self.git("rev-list", "--count", f"{folded.started.change.head}..{branch}")
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
        epochs = self.base.execute(
            "SELECT epoch FROM entries WHERE run = %s AND epoch IS NOT NULL ORDER BY seq", (run,)
        ).fetchall()
        faults += ["an earlier driver wrote after a later one"] if epochs != sorted(epochs) else []
        items = sorted(
            (item.current.title.split()[0], item.status.value) for item in folded.items.values()
        )
        return (folded.ended, tuple(items)), faults

    def calls(self, number):
        log = self.folder / f"calls-{number}.jsonl"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def close(self):
        self.end_workers()
        self.base.close()


def main():
    asked = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="punchlist-chaos-") as name,
        start_server() as server,
        Standin(Github(time.time)) as github,
    ):
        url = server.make_database("chaos")
        upgrade_store(url)
        chaos = Chaos(asked, Path(name), url, github)
        with closing(PostgresState(url, Path(name) / "reader")) as state, closing(chaos):
            return measure(chaos, state, server)


def measure(chaos, state, server):
    asked = chaos.asked
    calm = {n: chaos.enqueue(n) for n in range(2)}
    chaos.start_workers()
    chaos.run_all(kill=False)
    chaos.end_workers()
    expected = {chaos.outcome(state, number, run)[0] for number, run in calm.items()}
    needed = {chaos.calls(number) for number in calm}
    assert len(expected) == len(needed) == 1, (expected, needed)
    print(f"without kills: {expected.pop()}, {needed} calls of agents", flush=True)
    expected, needed = chaos.outcome(state, 0, calm[0])[0], needed.pop()

    runs = {number: chaos.enqueue(number) for number in range(2, asked.runs + 2)}
    chaos.start_workers()
    timer = threading.Timer(3, _take_away, (server, asked.away)) if asked.away else None
    if timer:
        timer.start()
    seconds = chaos.run_all()
    if timer:
        timer.join()
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
    paid = sum(chaos.calls(number) for number in runs)
    flying = sum(len(held) for _, held in chaos.deaths)
    times = chaos.recoveries()
    print(
        f"{len(runs)} runs, {chaos.asked.workers} workers, {len(chaos.deaths)} deaths ({len(list(chaos.orders.glob('obeyed-*')))} at"
        f" chosen points, {len(chaos.unobeyed)} not reached), {flying} runs interrupted, {seconds:.0f} s"
    )
    print(f"lost {len(lost)}, something twice or broken {len(wrong)}, another outcome {len(other)}")
    print(
        f"paid calls {paid}, needed {needed * len(runs)}, in flight at the deaths at most {flying}"
    )
    if times:
        print(
            f"recovery, lease {chaos.asked.lease} s: median {times[len(times) // 2]:.1f} s, worst {times[-1]:.1f} s"
        )
    for run, what in [*wrong.items(), *other.items()][:10]:
        print(f"  {run}: {what}")
    for run in lost[:10]:
        print(f"  {run}: {state.queue.find(run)}")
    return bool(lost or wrong or other or paid > needed * len(runs) + flying)


def _take_away(server, seconds):
    server.kill()
    threading.Event().wait(seconds)
    server.start()


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
        "seed": 1,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in {"lease": 5, "seconds": 0.3, "gap": 1.5, "limit": 900, "away": 0}.items():
        parser.add_argument(f"--{name}", type=float, default=value)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
