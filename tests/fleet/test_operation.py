"""What operators do to a fleet, and what happens to it meanwhile: upgrades, backups, stores that are away, clocks."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from fleet_world import Fleet, wait_for
from postgres_server import find_programs
from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.stores import copy_runs, upgrade_store
from s3_server import run_s3

ROOT = Path(__file__).parents[2]
LAST = "f2bf2f8b"
"""The last version with workers: the newest tag, or this commit while there is none."""


@pytest.fixture
def last_version(tmp_path):
    """The source of the last version, in a folder of its own."""
    git = ("git", "-C", str(ROOT))
    tag = subprocess.run(
        [*git, "describe", "--tags", "--abbrev=0", "--match=v*"],
        capture_output=True,
        text=True,
        check=False,
    )
    packed = subprocess.run(
        [*git, "archive", tag.stdout.strip() or LAST, "src"], capture_output=True, check=False
    )
    if packed.returncode:
        pytest.skip("NOT TESTED HERE: this clone does not have the last version")
    folder = tmp_path / "last"
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
    return str(folder / "src")


def test_an_upgrade_lets_the_last_version_end_its_runs_and_this_one_go_on_with_others(
    fleet_server, last_version, repo, tmp_path
):
    url = f"{fleet_server}/upgraded"
    with psycopg.connect(f"{fleet_server}/postgres", autocommit=True) as base:
        base.execute("CREATE DATABASE upgraded")
    old = {"PYTHONPATH": last_version}
    env = {**os.environ, **old, "PUNCHLIST_STORE": url, "PUNCHLIST_HOME": str(tmp_path / "home")}
    upgrade = [sys.executable, "-m", "punchlist", "store", "upgrade"]
    subprocess.run(upgrade, env=env, check=True, capture_output=True)
    folder = tmp_path / "fleet"
    folder.mkdir()
    with psycopg.connect(url, autocommit=True) as base:
        made = base.execute("SELECT version FROM punchlist_schema").fetchone()[0]
    fleet = Fleet(repo, folder, url, None)
    try:
        fleet.more = old
        fleet.play(seconds=4)
        one, two = (fleet.start_worker(name, "--label", name) for name in ("one", "two"))
        ends = fleet.enqueue("ends", "--label", "two")
        moves = fleet.enqueue("moves", "--label", "one")
        begun = "SELECT 1 FROM entries WHERE kind = 'begun' AND run = %s"
        for run in (ends, moves):
            wait_for(lambda run=run: fleet.base.execute(begun, (run,)).fetchone())
        fleet.more = {}
        assert upgrade_store(url)[0] == made, "while workers of the last version are at work"
        new = fleet.start_worker("new", "--label", "new")
        fleet.base.execute("UPDATE jobs SET label = 'new' WHERE run = %s", (moves,))
        one.kill()
        with closing(PostgresState(url, tmp_path / "home")) as fleet.state:
            fleet.wait_ended(ends, moves)
            for run, worker in ((ends, two), (moves, new)):
                fleet.check_once(run)
                assert fleet.job(run).worker == worker.id
    finally:
        fleet.close()


def test_a_backup_is_the_same_fleet_again(fleet, tmp_path):
    run = fleet.enqueue("feature")
    first = fleet.start_worker("a")
    fleet.wait_ended(run)
    first.signal(signal.SIGTERM)
    assert first.process.wait(timeout=60) == 0
    waiting = fleet.enqueue("other")
    server, _, _ = fleet.url.rpartition("/")
    dump = subprocess.run(
        [find_programs() / "pg_dump", fleet.url], capture_output=True, check=True
    ).stdout
    shutil.copytree(fleet.folder / "artifacts", tmp_path / "copied")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as base:
        base.execute("CREATE DATABASE restored")
    restored = f"{server}/restored"
    psql = [find_programs() / "psql", "--quiet", "--set=ON_ERROR_STOP=1", restored]
    subprocess.run(psql, input=dump, check=True, capture_output=True)
    fleet.more = {"PUNCHLIST_STORE": restored, "PUNCHLIST_OBJECTS": str(tmp_path / "copied")}
    with closing(PostgresState(restored, tmp_path / "home")) as state:
        assert [*state.store.export(run)] == [*fleet.state.store.export(run)]
        assert json.loads(fleet.command("audit", run, "--json"))["ok"]
        assert {each.entries for each in copy_runs(fleet.state, state)} == {0}
        fleet.start_worker("b")
        wait_for(lambda: state.queue.find(waiting).state == "ended")


def test_while_the_object_store_is_away_a_run_stays_where_its_answers_are(fleet):
    with run_s3() as s3:
        fleet.more = {**s3.keys, "PUNCHLIST_OBJECTS": "s3://objects/fleet"}
        fleet.play(seconds=3)
        workers = [fleet.start_worker(name) for name in ("a", "b")]
        run = fleet.enqueue("feature")
        fleet.wait_kind(run, "begun")
        s3.stop()
        (holder,) = (worker for worker in workers if worker.id == fleet.job(run).worker)
        wait_for(lambda: f"run {run} waits" in holder.lines, limit=150)
        assert (fleet.job(run).state, fleet.job(run).deaths) == ("running", 0)
        s3.start()
        fleet.wait_ended(run)
        fleet.check_once(run)
        assert fleet.job(run).worker == holder.id
        assert fleet.calls == ["technical", "fixer"], "the answer was paid for once"


def test_what_a_schedule_missed_is_queued_once_by_the_next_worker(fleet):
    fleet.push("feature")
    settings = [word for pair in fleet.robot.items() for word in ("--set", "=".join(pair))]
    flow = ("--workflow", str(fleet.folder / "flow.yaml"))
    words = ("--cron", "0 0 1 1 *", "--branch", "feature", "--no-checks", *flow)
    fleet.command("schedule", "add", "yearly", *words, *settings)
    ((context,),) = fleet.base.execute("SELECT context FROM dbos.workflow_schedules").fetchall()
    earlier = json.dumps(json.loads(context) | {"since": 1e9})
    fleet.base.execute("UPDATE dbos.workflow_schedules SET context = %s", (earlier,))
    hidden = fleet.repo.root.rename(fleet.folder / "hidden")
    first = fleet.start_worker("a")
    wait_for(lambda: "schedule yearly is tried again" in first.lines)
    hidden.rename(fleet.repo.root)
    jobs = "SELECT run, state FROM jobs"
    wait_for(lambda: [state for _, state in fleet.base.execute(jobs).fetchall()] == ["ended"])
    assert "was missed, and begins late" in first.lines
    first.kill()
    tick = "UPDATE dbos.workflow_status SET status = 'PENDING' WHERE name = 'schedule'"
    fleet.base.execute(tick)  # as if that worker had died after it queued the run
    second = fleet.start_worker("b")
    (run, _), *more = fleet.base.execute(jobs).fetchall()
    wait_for(lambda: f"schedule yearly queued run {run}" in second.lines)
    assert (more, len(fleet.base.execute(jobs).fetchall())) == ([], 1)
    fleet.check_once(run)
