"""Workers that help with a wide run, or drive it, are killed, stopped, paused or drained in the midst of it."""

import shutil
import signal
import sys
from pathlib import Path

import pytest

from fleet_world import find_driver, list_units, wait_for

GATED = """
import json, os, re, sys, time
role, prompt = os.environ["PUNCHLIST_ROLE"], sys.stdin.read()
if role == "technical":
    finding = {"description": "An empty list divides by zero.", "line_start": 2, "severity": "major"}
    found = [f"shop{number}" for number in range(int(os.environ["COUNT"]))]
    print(json.dumps({"findings": [
        {**finding, "title": f"mean_{name}() fails", "file_path": f"{name}.py"} for name in found]}))
    sys.exit()
name, code = re.search(r"mean_(shop\\d+)\\(\\) fails", prompt)[1], re.search(r"F\\d{3,}", prompt)[0]
with open(f"{name}.py") as file:
    text = file.read()
with open(f"{name}.py", "w") as file:
    file.write(text.replace("/ len(values)", "/ len(values) if values else 0"))
while not os.path.exists(os.environ["GATE"]):
    time.sleep(0.05)
with open(os.environ["LOG"], "a") as file:
    file.write(name + "\\n")
said = {"id": code, "outcome": "fixed", "explanation": "0 of none", "files": [f"{name}.py"]}
print(json.dumps({"outcomes": [said]}))
"""
"""An agent whose fixes end when a file is there, which each worker calls otherwise."""


class Gated:
    """A wide run whose fixes go on as the test says, on two workers."""

    def __init__(self, fleet, count=3):
        self.fleet, self.count = fleet, count
        self.program, self.log = fleet.folder / "agent.py", fleet.folder / "fixed.txt"
        self.program.write_text(GATED)
        fleet.play_wide(count)
        self.flags = {
            "agents.use": "robot",
            "agents.sandbox": "false",
            "agent.robot.kind": "command",
            "agent.robot.command": f"{sys.executable},{self.program}",
            "agent.robot.env.COUNT": str(count),
            "agent.robot.env.LOG": str(self.log),
        }
        self.workers = [self.start(name) for name in "ab"]
        assert all(worker.id for worker in self.workers)

    def start(self, name, *more):
        gate = str(self.fleet.folder / f"{name}.open")
        flags = {**self.flags, "agent.robot.env.GATE": gate}
        words = [word for pair in flags.items() for word in ("--set", "=".join(pair))]
        worker = self.fleet.start_worker(name, *words, "--drain", "0", *more)
        worker.gate = Path(gate)
        return worker

    def begin(self):
        """Queue the run; return the workers when all agents are at work: the driver comes first."""
        limits = {"limits.spread": str(self.count - 1), "limits.width": "1"}
        self.run = self.fleet.enqueue_here(**{**self.flags, "agent.robot.env.GATE": "x"}, **limits)
        driver, other = find_driver(self.fleet, self.run, self.workers)
        wait_for(lambda: len(self.agents) >= self.count)
        assert [worker for _, worker, _ in list_units(self.fleet)] == [other.id] * (self.count - 1)
        return driver, other

    @property
    def agents(self):
        """The processes of agents."""
        mark, found = f"\0{self.program}\0".encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                found += [process.name] if mark in (process / "cmdline").read_bytes() else []
            except OSError:
                continue  # it is gone by now
        return found

    def check(self, *doers):
        """All is fixed once, by these; no agent that was through is asked again."""
        fleet = self.fleet
        fleet.wait_ended(self.run)
        assert sorted(fleet.list_attempts(self.run)) == sorted(doers)
        assert sorted(self.log.read_text().split()) == [f"shop{n}" for n in range(self.count)]
        fleet.check_once(self.run, commits=self.count)
        assert list_units(fleet) == []
        assert "the ledger adds up" in fleet.command("audit", self.run)


@pytest.fixture
def gated(fleet):
    return Gated(fleet)


def test_the_driver_does_the_units_of_a_worker_that_was_killed(gated):
    driver, other = gated.begin()
    other.kill()
    driver.gate.touch()
    gated.check("", "", "")


def test_a_unit_that_was_done_before_its_worker_was_killed_is_not_paid_for_again(fleet, gated):
    driver, other = gated.begin()
    other.gate.touch()
    fleet.wait_kind(gated.run, "attempted", 2)
    other.kill()
    driver.gate.touch()
    gated.check("", other.id, other.id)


def test_units_end_with_their_driver_and_the_next_one_begins_them_again(gated):
    driver, other = gated.begin()
    driver.kill()
    wait_for(lambda: gated.fleet.job(gated.run).worker == other.id)
    wait_for(lambda: other.lines.count("the unit was given back") == 2)
    other.gate.touch()
    gated.check("", "", "")


def test_a_stop_ends_the_agents_of_all_workers(fleet, gated):
    gated.begin()
    assert "is stopped" in fleet.command("stop", gated.run, "--by", "ada")
    assert gated.agents == []
    assert list_units(fleet) == []
    assert fleet.kinds(gated.run)[-1] == "interrupted"
    for worker in gated.workers:
        worker.gate.touch()
    fleet.command("resume", gated.run, "--queue")
    fleet.wait_ended(gated.run)
    fleet.check_once(gated.run, commits=3)


def test_what_a_worker_answers_after_its_units_were_taken_back_counts_for_nothing(gated):
    driver, other = gated.begin()
    other.signal(signal.SIGSTOP)
    driver.gate.touch()
    gated.check("", "", "")
    before = gated.fleet.kinds(gated.run)
    other.gate.touch()
    other.signal(signal.SIGCONT)
    wait_for(lambda: other.lines.count("the unit was given back") == 2)
    wait_for(lambda: not gated.agents)
    assert gated.fleet.kinds(gated.run) == before
    assert other.process.poll() is None, "it goes on with other work"


def test_a_worker_that_is_drained_gives_its_units_back(gated):
    driver, other = gated.begin()
    other.signal(signal.SIGTERM)
    assert other.process.wait(timeout=30) == 0
    driver.gate.touch()
    gated.check("", "", "")


def test_fixes_are_examined_by_other_workers_where_the_checks_say_the_same(fleet):
    tests = {
        f"tests/test_shop{number}.py": f"from shop{number} import mean_shop{number} as mean\n\n\n"
        "def test_mean():\n    assert mean([1, 3]) == 2\n"
        for number in range(3)
    }
    fleet.repo.commit(
        {**tests, "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n"}
    )
    fleet.play_wide(3)
    workers = [fleet.start_worker(name, lease=15) for name in "ab"]
    assert all(worker.id for worker in workers)
    run = fleet.enqueue_wide(spread=2, checks="--yes")
    fleet.wait_ended(run)
    _, other = find_driver(fleet, run, workers)
    events = [entry.event for entry in fleet.state.store.read(run)]
    done = {event.__struct_config__.tag: event for event in events}
    assert (done["baselined"].passed, done["baselined"].worker) == (3, "")
    assert done["tried"].worker == ""
    examined = [event for event in events if event.__struct_config__.tag == "examined"]
    assert sorted(event.worker for event in examined) == ["", other.id, other.id]
    assert all("outside of the tests" in str(event.noted) for event in examined)
    fleet.check_once(run, commits=3)


@pytest.fixture
def bare_path(tmp_path):
    """The value of PATH on a machine without a program for sandboxes."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "sh", "env"):
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


def test_a_worker_without_the_sandbox_that_a_run_requires_neither_drives_it_nor_helps(
    fleet, bare_path
):
    fleet.play_wide(3)
    bare = fleet.start_worker("bare", PATH=bare_path)
    run = fleet.enqueue_wide(2, **{"sandbox.required": "true"})
    wait_for(lambda: "sandbox.required" in fleet.job(run).note)
    full = fleet.start_worker("full", lease=15)
    fleet.wait_ended(run)
    assert fleet.job(run).worker == full.id
    assert fleet.list_attempts(run) == ["", "", ""]
    assert bare.lines.count("the unit was given back: sandbox.required") >= 1
    fleet.check_once(run, commits=3)
