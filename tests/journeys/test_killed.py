"""kill -9 anywhere, then resume: the same items, the same commits, nothing twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import shop

from machine import ENVIRONMENT
from needs import SOAK
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run

DRIVER = Path(__file__).with_name("driver.py")
KILLS = int(ENVIRONMENT.get("KILLS", "2"))
PARTS, EVERY = (4, 1) if SOAK else (1, 47)
"""`make soak` kills at every event, and 200 times at random; in between some of them will do."""
EVENTS = 66
"""As many as a run of the shop has, or a little more: a boundary past the end kills nobody."""


@pytest.fixture
def project(repo, tmp_path, monkeypatch):
    shop.written(repo.root)
    repo.commit(message="the shop")
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(shop.settings(tmp_path / "settings.toml")))
    return repo


def drive(project, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(DRIVER), str(project.root), *words],
        capture_output=True,
        check=False,
        timeout=120,
    )


def finished(project) -> dict:
    """Resumes until the run has ended, as a person would."""
    for _ in range(5):
        done = drive(project, "resume")
        assert done.returncode == 0, done.stderr.decode()
        told = json.loads(done.stdout)
        if told["ended"]:
            return told
    raise AssertionError("the run does not end")


def last_run() -> Run:
    store = SqliteStore.open(Path(os.environ["PUNCHLIST_HOME"]), readonly=True)
    run_id = store.find_run("last")
    run = fold_entries(run_id, store.read(run_id))
    store.close()
    return run


def begun() -> bool:
    store = SqliteStore.open(Path(os.environ["PUNCHLIST_HOME"]), readonly=True)
    there = bool(store.runs())
    store.close()
    return there


def story(run: Run, project) -> dict:
    """What must be the same however often the run was killed."""
    log = project.git(
        "log",
        "--format=%s|%(trailers:key=Punchlist-Items,valueonly,separator=%x2C)",
        f"main..{run.landing.branch}",
    )
    issues = sorted(
        path.name for path in Path(os.environ["PUNCHLIST_HOME"]).glob("repos/*/issues/*.md")
    )
    return {
        "items": {
            item.number: (
                item.fingerprint,
                item.status.value,
                tuple(a.fact.value for a in item.attempts),
            )
            for item in run.items.values()
        },
        "reported": run.reviewing.reported,
        "commits": log.splitlines(),
        "tree": project.git("rev-parse", f"{run.landing.branch}^{{tree}}"),
        "issues": issues,
    }


@pytest.fixture(scope="module")
def stories_in_peace() -> list[dict]:
    """The story of a run that was not killed, once there was one: it is the same for all tests."""
    return []


@pytest.fixture
def untouched(project, tmp_path, monkeypatch, stories_in_peace):
    """The story of a run that was not killed."""
    if not stories_in_peace:
        stories_in_peace.append(run_in_peace(project, tmp_path, monkeypatch))
    return stories_in_peace[0]


def run_in_peace(project, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("PUNCHLIST_HOME", str(tmp_path / "peace"))
        done = drive(project, "run")
        assert done.returncode == 0, done.stderr.decode()
        run = last_run()
        told = story(run, project)
        project.git("branch", "-D", run.landing.branch)
    assert told["commits"]
    assert run.seq < EVENTS
    return told


MOMENTS = [("before", number) for number in range(2, EVENTS)] + [
    ("after", number) for number in range(1, EVENTS, 4)
]
"""Before: the effect is done and not written down, which is the hard case. After: it is written and nothing follows."""


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_event_the_run_resumes_to_the_same_end(
    project, untouched, tmp_path, monkeypatch, part
):
    for when, number in MOMENTS[part :: PARTS * EVERY]:
        monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / f"state-{when}-{number}"))
        died = drive(project, "run", when, str(number))
        if died.returncode == 0:  # the run has no event of that number
            project.git("branch", "-D", last_run().landing.branch)
            continue
        assert died.returncode == -signal.SIGKILL, died.stderr.decode()
        assert finished(project)["audit"] == []
        run = last_run()
        assert story(run, project) == untouched, f"killed {when} event {number}"
        if run.landing.landed:
            project.git("branch", "-D", run.landing.branch)


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_random_moments_the_run_resumes_to_the_same_end(
    project, untouched, tmp_path, monkeypatch, part
):
    dice = random.Random(f"moments {part}")
    for kill in range(KILLS // PARTS):
        monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / f"state-{kill}"))
        child = subprocess.Popen(
            [sys.executable, str(DRIVER), str(project.root), "run"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(dice.uniform(0.2, 2.6))
        child.kill()
        child.wait()
        if not (tmp_path / f"state-{kill}" / "ledger.sqlite3").exists() or not begun():
            continue  # killed before there was anything to resume
        assert finished(project)["audit"] == []
        run = last_run()
        assert story(run, project) == untouched
        project.git("branch", "-D", run.landing.branch)
