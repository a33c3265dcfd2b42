"""`punchlist fleet` shows what has not ended, who drives it, what is stuck, and the cost of the day, in any store."""

import json
import os
import socket
import subprocess
import time
from contextlib import closing

import psycopg
import pytest
from state_contract import started

import warm
from postgres_server import find_programs, start_server
from punchlist.app.stores import open_state, upgrade_store
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Asked, Ended, Halted
from punchlist.ports.fleet.queue import Job, Priority


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def store(request):
    if request.param == "SQLite":
        yield ""
        return
    pytest.importorskip("psycopg")
    assert find_programs(), "PostgreSQL is missing: apt-get install postgresql"
    with start_server() as server:
        url = server.make_database("fleet")
        upgrade_store(url)
        yield url


def test_it_tells_running_waiting_and_stuck_runs_and_the_cost_of_the_day(store, tmp_path):
    home, now = tmp_path / "home", time.time()

    def show(*words):
        env = {**os.environ, "PUNCHLIST_HOME": str(home), "PUNCHLIST_STORE": store}
        env["PUNCHLIST_LIMITS__DAILY"] = "2"
        command = warm.command("fleet", *words)
        ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    with closing(open_state(store, home)) as state:
        write = state.store.append
        for run in ("r-stuck", "r-runs", "r-waits", "r-ended", "r-old"):
            at = now - 9 * 86400 if run == "r-old" else now
            write(run, "0", "a", started("/srv/\x1b[31mshop/.git"), at)
            write(run, "1", "a", Halted(limit="x", usage=Usage(dollars=0.25)), at)
        write("r-waits", "2", "a", Asked(question="on?", choices={"a": "yes"}), now)
        write("r-ended", "2", "a", Ended(outcome="clean"), now)
        write("r-old", "2", "a", Ended(outcome="clean"), now - 9 * 86400)
        if store:
            fill_queue(state, store)
        with state.leases.acquire("r-runs"):
            told, shown = json.loads(show("--json")), show()
    runs = {name: [run["run"] for run in told[name]] for name in ("running", "waiting", "stuck")}
    assert runs == {"running": ["r-runs"], "waiting": ["r-waits"], "stuck": ["r-stuck"]}
    (driver,) = told["drivers"]
    assert driver == {"machine": socket.gethostname(), "pid": os.getpid(), "runs": ["r-runs"]}
    assert (told["running"][0]["lease"] > 0) == bool(store)
    day = (told["begun_today"], told["ended_today"], told["dollars_today"], told["daily_limit"])
    assert day == (7 if store else 4, 1, 1.0, 2)
    assert "1 running, 1 waiting, 1 stuck; 1 process at work" in shown
    assert "begun, 1 ended, $1.00 of $2.00" in shown
    assert "`punchlist resume r-stuck` goes on" in shown
    assert "\x1b[31m" not in shown

    check_queue(told, shown) if store else check_embedded(told, shown)


def fill_queue(state, url):
    """Three workers, three runs that wait for one, and one that a worker has."""
    for name, label, priority in (
        ("q-1", "", Priority.NIGHTLY),
        ("q-2", "", Priority.NIGHTLY),
        ("q-3", "gpu", Priority.PULL_REQUEST),
    ):
        job = Job(run=name, repository="/srv/shop/.git", label=label, priority=priority)
        state.queue.enqueue(job, started("/srv/shop/.git"), time.time())
    with psycopg.connect(url, autocommit=True) as base:
        base.execute(
            """
            UPDATE jobs SET queued_at = queued_at - interval '2 h' WHERE run = 'q-2';
            INSERT INTO jobs (run, repository, branch, source, label, agents, subject, priority,
              state, worker) VALUES ('r-runs', '', '', '', '', '{}', '', 3, 'running', 'w-1');
            INSERT INTO workers (id, machine, pid, labels, width, version, draining, beat_at, until)
            VALUES ('w-1', 'rome', 7, '{big,eu}', 4, '9.9', false, now(), now() + interval '1 h'),
              ('w-2', 'oslo', 8, '{gpu}', 2, '9.8', true, now(), now() + interval '1 h'),
              ('w-3', E'bonn\\x1b[31m', 9, '{}', 1, '9.9', false, now() - interval '90 s', now());
            """
        )


def check_queue(told, shown):
    workers = {each["id"]: each for each in told["workers"]}
    names = ("machine", "labels", "width", "runs", "alive", "draining", "version")
    assert [workers["w-1"][name] for name in names] == [
        *("rome", ["big", "eu"], 4, 1, True, False, "9.9")
    ]
    assert (workers["w-2"]["draining"], workers["w-2"]["runs"]) == (True, 0)
    assert (workers["w-3"]["alive"], workers["w-3"]["seen"] >= 90) == (False, True)
    queues = [
        (each["priority"], each["label"], each["waiting"], each["served"])
        for each in told["queues"]
    ]
    assert queues == [("pull-request", "gpu", 1, False), ("nightly", "", 2, True)]
    assert 7200 <= told["queues"][1]["oldest"] < 7300
    assert told["stopped"] == [], "what is queued was not stopped"
    words = " ".join(shown.split())
    for part in (
        "w-1 rome working 1 of 4 big, eu",
        "w-2 oslo draining 0 of 2 gpu",
        "dead 0 of 1",
        "pull-request gpu 1",
        "none takes these",
        "nightly 2 2 h 00 min",
        "3 queued; 2 workers alive, 1 of 6 places taken",
    ):
        assert part in words, (part, words)


def check_embedded(told, shown):
    assert (told["workers"], told["queues"]) == (None, None)
    assert "no workers and no queue: the ledger is in SQLite" in shown


def test_an_empty_store_has_an_empty_fleet(store, tmp_path):
    env = {**os.environ, "PUNCHLIST_HOME": str(tmp_path / "home"), "PUNCHLIST_STORE": store}
    command = warm.command("fleet")
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "0 running, 0 waiting, 0 stuck" in ran.stdout


def test_a_run_is_not_spread_where_there_are_no_other_workers_or_because_a_repository_says_so(
    cart, punchlist
):
    ran = punchlist("run", "--all", "--set", "limits.spread=2")
    assert ran.returncode == 6
    assert "limits.spread: there are no other workers: the ledger is in SQLite" in ran.stderr
    assert "--store postgresql://USER@HOST/NAME" in ran.stderr
    cart.commit({".punchlist.toml": "[limits]\nspread = 2\n"})
    ran = punchlist("run", "--all", "--yes")
    assert ran.returncode == 6
    assert "limits.spread: a repository does not choose who works on it" in ran.stderr
