"""`punchlist fleet` shows what has not ended, who drives it, what is stuck, and the cost of the day, in any store."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import closing

import pytest
from state_contract import started

from postgres_server import find_programs, start_server
from punchlist.app.stores import open_state, upgrade_store
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Asked, Ended, Halted


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
        command = [sys.executable, "-m", "punchlist", "fleet", *words]
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
        with state.leases.acquire("r-runs"):
            told, shown = json.loads(show("--json")), show()
    runs = {name: [run["run"] for run in told[name]] for name in ("running", "waiting", "stuck")}
    assert runs == {"running": ["r-runs"], "waiting": ["r-waits"], "stuck": ["r-stuck"]}
    (driver,) = told["drivers"]
    assert driver == {"machine": socket.gethostname(), "pid": os.getpid(), "runs": ["r-runs"]}
    assert (told["running"][0]["lease"] > 0) == bool(store)
    day = (told["begun_today"], told["ended_today"], told["dollars_today"], told["daily_limit"])
    assert day == (4, 1, 1.0, 2)
    assert "1 running, 1 waiting, 1 stuck; 1 process at work" in shown
    assert "today: 4 begun, 1 ended, $1.00 of $2.00" in shown
    assert "`punchlist resume r-stuck` goes on" in shown
    assert "\x1b[31m" not in shown


def test_an_empty_store_has_an_empty_fleet(store, tmp_path):
    env = {**os.environ, "PUNCHLIST_HOME": str(tmp_path / "home"), "PUNCHLIST_STORE": store}
    command = [sys.executable, "-m", "punchlist", "fleet"]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "0 running, 0 waiting, 0 stuck" in ran.stdout
