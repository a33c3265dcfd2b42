"""A fleet for tests: a real database, workers as processes with homes of their own, a scripted agent."""

import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import psycopg

import warm
from punchlist.model.ledger.hash_chain import verify_lines

WORKFLOW = """about: Two paid calls and a commit.
steps:
  - review: {by: [technical], analyzers: false}
  - consolidate: {rule: exact}
  - repeat:
      rounds: 1
      on_limit: go-on
      steps:
        - plan: {attempts: 3}
        - fix: {mode: fan-out}
        - verify: {}
        - commit: {needs: claim}
        - stop-when: settled
  - report: {}
"""
FINDING = {
    "title": "mean() fails for no values",
    "description": "An empty list divides by zero.",
    "file_path": "shop.py",
    "line_start": 2,
    "severity": "major",
}
EDIT = {"path": "shop.py", "replace": "/ len(values)", "with": "/ len(values) if values else 0"}
_LIMIT = 90


def wait_for(what, limit=_LIMIT):
    """Poll until `what()` is true; return it."""
    tick = threading.Event()
    for _ in range(int(limit / 0.05)):
        if found := what():
            return found
        tick.wait(0.05)
    raise AssertionError(f"{what} did not come true in {limit} s")


def find_driver(fleet, run, workers):
    """Return the worker that drives the run, then the others."""
    driver = wait_for(lambda: fleet.job(run).worker)
    return sorted(workers, key=lambda worker: worker.id != driver)


def list_units(fleet):
    return fleet.base.execute("SELECT id, worker, over FROM units").fetchall()


class WorkerProcess:
    def __init__(self, process, log, home):
        self.process, self.log, self.home = process, log, home

    @property
    def lines(self):
        return self.log.read_text()

    @property
    def id(self):
        found = wait_for(lambda: re.search(r"worker (\S+) takes runs.* health: (\S+)", self.lines))
        self.health = found[2]
        return found[1]

    def signal(self, number):
        """Send a signal to the worker and all that it started in its own group."""
        os.killpg(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()


class Fleet:
    """Starts workers, queues runs and reads what came of them."""

    def __init__(self, repo, folder, url, state):
        self.repo, self.folder, self.url, self.state = repo, folder, url, state
        self.workers = []
        self.more = {}
        """Variables that all processes get besides."""
        self.base = psycopg.connect(url, autocommit=True)
        (folder / "flow.yaml").write_text(WORKFLOW)
        (folder / "artifacts").mkdir()
        repo.commit({"shop.py": "def mean(values):\n    return 0\n"})

    def play(self, seconds=0.0, *, fixes=True):
        """Write the agent's script: what it finds and how it fixes that, each after so long."""
        fix = {"when": "mean() fails", "edits": [EDIT]}
        fix["outcome"] = {"outcome": "fixed", "explanation": "0 of none", "files": ["shop.py"]}
        lines = [
            {
                "role": "technical",
                "seconds": seconds,
                "opened": ["shop.py"],
                "answer": {"findings": [FINDING]},
            },
            {"role": "fixer", "seconds": seconds, "fixes": [fix] if fixes else []},
        ]
        script = {"log": "calls.jsonl", "lines": lines}
        (self.folder / "robot.json").write_text(json.dumps(script))

    def play_wide(self, count, seconds=1.0, usage=None):
        """Commit so many files with a defect in each on the branch `wide`; write the agent's script:
        each is a fix of its own that takes so long.
        """
        self.repo.git("checkout", "--quiet", "-B", "wide", "main")
        names = [f"shop{number}" for number in range(count)]
        text = "def mean_{0}(values):\n    return sum(values) / len(values)\n"
        self.repo.commit({f"{name}.py": text.format(name) for name in names})
        findings = [
            {**FINDING, "title": f"mean_{name}() fails", "file_path": f"{name}.py"}
            for name in names
        ]
        fixes = [
            {
                "when": f"mean_{name}() fails",
                "edits": [{**EDIT, "path": f"{name}.py"}],
                "outcome": {
                    "outcome": "fixed",
                    "explanation": "0 of none",
                    "files": [f"{name}.py"],
                },
            }
            for name in names
        ]
        found = {"answer": {"findings": findings}, "opened": [f"{name}.py" for name in names]}
        lines = [
            {"role": "technical", **found},
            {"role": "fixer", "seconds": seconds, "fixes": fixes, "usage": usage or {}},
        ]
        script = {"log": "calls.jsonl", "lines": lines}
        (self.folder / "robot.json").write_text(json.dumps(script))

    def enqueue_wide(self, spread, width=1, **more):
        limits = {"limits.spread": str(spread), "limits.width": str(width)}
        return self.enqueue_here(**self.robot, **limits, **more)

    def list_attempts(self, run):
        """Return who did each fix: the id of a helping worker, or '' for the driver."""
        events = [entry.event for entry in self.state.store.read(run)]
        return [event.worker for event in events if event.__struct_config__.tag == "attempted"]

    @property
    def calls(self):
        """The roles of the agent calls that were finished."""
        log = self.folder / "calls.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line)["role"] for line in lines]

    def environment(self, home):
        folder = self.folder / home
        folder.mkdir(exist_ok=True)
        return {
            **os.environ,
            "PUNCHLIST_HOME": str(folder),
            "PUNCHLIST_STORE": self.url,
            "PUNCHLIST_OBJECTS": str(self.folder / "artifacts"),
            **self.more,
        }

    def command(self, *words, home="client", code=0):
        ran = subprocess.run(
            warm.command(*words),
            cwd=self.repo.root,
            env=self.environment(home),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout

    def push(self, branch):
        """Commit a defect on a branch and stay there."""
        self.repo.git("checkout", "--quiet", "-B", branch, "main")
        self.repo.commit(
            {
                "shop.py": f"def mean(values):\n    return sum(values) / len(values)\n\n\n# {branch}\n"
            }
        )

    def enqueue(self, branch, *more):
        self.push(branch)
        return self.enqueue_here(*more, **self.robot)

    @property
    def robot(self):
        """The settings of the scripted agent."""
        script = str(self.folder / "robot.json")
        return {"agents.use": "robot", "agent.robot.kind": "scripted", "agent.robot.script": script}

    def enqueue_here(self, *more, checks="--no-checks", **settings):
        flags = [word for pair in settings.items() for word in ("--set", "=".join(pair))]
        flow = str(self.folder / "flow.yaml")
        words = ("run", "--queue", "--json", checks, "--workflow", flow)
        return json.loads(self.command(*words, *flags, *more))["run"]

    def start_worker(self, name, *more, lease=3, **variables):
        """Start a worker whose own settings have the scripted agent as well."""
        log = self.folder / f"{name}.log"
        known = [
            word
            for key, value in self.robot.items()
            if key.startswith("agent.")
            for word in ("--set", f"{key}={value}")
        ]
        words = ("worker", "--set", f"fleet.lease={lease}", *known, *more)
        with log.open("w") as out, Path(os.devnull).open() as nothing:
            process = warm.start(
                *words,
                cwd=self.folder,
                env={**self.environment(name), **variables},
                stdin=nothing,
                stdout=out,
                stderr=out,
                group=True,
            )
        worker = WorkerProcess(process, log, self.folder / name)
        self.workers.append(worker)
        return worker

    def kinds(self, run):
        return [entry.event.__struct_config__.tag for entry in self.state.store.read(run)]

    def job(self, run):
        return self.state.queue.find(run)

    def hold(self, kind):
        """Let the first driver of a run wait for ever when it records this kind of event: what the
        event tells is done by then, and not written.
        """
        self.base.execute(
            f"""
            CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN PERFORM pg_sleep(3600); RETURN NEW; END $$;
            CREATE TRIGGER hold BEFORE INSERT ON entries FOR EACH ROW
              WHEN (NEW.kind = '{kind}' AND NEW.epoch = 1) EXECUTE FUNCTION hold()
            """
        )

    def wait_held(self):
        asleep = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        return wait_for(lambda: self.base.execute(asleep).fetchone())[0]

    def end_session(self, pid):
        """End what a dead driver still has open in the database."""
        self.base.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))

    def wait_kind(self, run, kind, count=1):
        wait_for(lambda: self.kinds(run).count(kind) >= count)

    def wait_ended(self, *runs):
        wait_for(lambda: all(self.job(run).state == "ended" for run in runs))

    def check_once(self, run, commits=1):
        """Everything of an undisturbed run is there, and nothing twice."""
        kinds = self.kinds(run)
        assert [kinds.count(kind) for kind in ("started", "committed", "ended")] == [1, 1, 1]
        lines = [line.rstrip(b"\n") for line in self.state.store.export(run)]
        assert verify_lines(lines) == ""
        assert self.state.store.take_snapshot(run).faults == ()
        branch = f"punchlist/{run}"
        head = self.state.store.read(run)
        start = next(iter(head)).event.change.head
        assert self.repo.git("rev-list", "--count", f"{start}..refs/heads/{branch}") == str(commits)
        epochs = self.base.execute(
            "SELECT epoch FROM entries WHERE run = %s AND epoch IS NOT NULL ORDER BY seq", (run,)
        ).fetchall()
        assert epochs == sorted(epochs), "an earlier driver wrote after a later one"

    def close(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.signal(signal.SIGCONT)
                worker.kill()
        self.base.close()
