"""The state of a fleet keeps the contract of states, and refuses those that have lost a run."""

import queue
import re
import threading
from contextlib import ExitStack, closing
from socket import gethostname

import psycopg
import pytest
from notices_contract import *  # noqa: F403 - all tests of the contract
from notices_contract import notice, put
from serving_contract import *  # noqa: F403 - all tests of the contract
from state_contract import *  # noqa: F403 - all tests of the contract
from state_contract import started

from postgres_server import run_server, start_server
from punchlist.adapters.postgres.connection import Database
from punchlist.adapters.postgres.leases import PostgresStops
from punchlist.adapters.postgres.migrations import OLDEST, STEPS, VERSION, migrate
from punchlist.adapters.postgres.records import PostgresAllowances
from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.start.start import choose_run_id
from punchlist.errors import RunTaken, StoreAway, StoreError
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Halted
from punchlist.ports.serving.pull_notices import Taken
from punchlist.ports.state import StopRequest


@pytest.fixture(scope="module")
def server():
    with run_server() as url:
        yield url


@pytest.fixture
def url(server, request):
    """The address of an empty database."""
    name = f"test_{abs(hash(request.node.nodeid))}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as base:
        base.execute(f'CREATE DATABASE "{name}"')
    yield f"{server}/{name}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as base:
        base.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def open_state(url, tmp_path):
    with psycopg.connect(url, autocommit=True) as base:
        migrate(base)
    with ExitStack() as stack:

        def open_one(**how):
            state = PostgresState(url, tmp_path / "home", **how)
            stack.callback(state.close)
            return state

        yield open_one


def end_lease(url, run):
    """Let time pass on the database's clock until the lease is over."""
    with psycopg.connect(url, autocommit=True) as base:
        base.execute("UPDATE fences SET until = '-infinity' WHERE name = %s", (run.encode(),))


def test_a_process_that_has_lost_its_run_cannot_write_any_more(open_state, url):
    slow, fresh = open_state(lease=3600), open_state(lease=3600)
    lease = slow.leases.acquire("r1")
    slow.store.append("r1", "0", "a", started(), 1.0)
    end_lease(url, "r1")
    with fresh.leases.acquire("r1"):
        fresh.store.append("r1", "0", "b", Halted(limit="x"), 2.0)
        with pytest.raises(RunTaken, match="taken over"):
            slow.store.append("r1", "0", "c", Halted(limit="y"), 3.0)
        lease.release()
        assert fresh.leases.find_holder("r1"), "one that lost a lease does not end its successor's"
        fresh.store.append("r1", "0", "d", Halted(limit="z"), 4.0)
    assert [entry.key for entry in fresh.store.read("r1")] == ["a", "b", "d"]


def test_what_a_process_wrote_before_it_lost_the_run_is_returned_to_it(open_state, url):
    slow, fresh = open_state(lease=3600), open_state(lease=3600)
    slow.leases.acquire("r1")
    entry = slow.store.append("r1", "0", "a", started(), 1.0)
    end_lease(url, "r1")
    with fresh.leases.acquire("r1"):
        assert slow.store.append("r1", "0", "a", started(), 1.0) == entry


def test_a_heartbeat_keeps_a_lease_and_notices_that_it_was_lost(open_state, url):
    beating = open_state(lease=0.3)
    lease = beating.leases.acquire("r1")
    taken = threading.Event()
    assert not taken.wait(0.9), "three leases long"
    assert beating.leases.find_holder("r1")
    assert not lease.lost
    with psycopg.connect(url, autocommit=True) as base:
        base.execute("UPDATE fences SET epoch = epoch + 1")
    while not lease.lost:
        taken.wait(0.05)


def test_a_database_without_a_ledger_is_told_with_the_command_that_makes_one(url, tmp_path):
    with pytest.raises(StoreError, match="has no ledger yet") as told:
        PostgresState(url, tmp_path)
    assert told.value.hint == "punchlist store upgrade"


def test_a_ledger_of_a_newer_version_is_left_alone(open_state, url, tmp_path):
    open_state()
    with psycopg.connect(url, autocommit=True) as base:
        assert migrate(base) == VERSION
        base.execute("UPDATE punchlist_schema SET version = version + 1, oldest = version + 1")
    with pytest.raises(StoreError, match="newer punchlist"):
        PostgresState(url, tmp_path)


def test_what_runs_cost_before_an_upgrade_is_known_after_it(open_state, url):
    store = open_state().store
    odd = Halted(limit='\x00 "dollars": 1 \udcff', usage=Usage(dollars=1.25, unpriced=1))
    store.append("r1", "0", "a", started(), 1.0)
    store.append("r1", "1", "a", odd, 2.0)
    with psycopg.connect(url, autocommit=True) as base:
        base.execute("DROP INDEX entries_by_cost")
        base.execute("ALTER TABLE entries DROP COLUMN dollars, DROP COLUMN unpriced")
        base.execute(next(step for step in STEPS if "entries_by_cost" in step))
    assert store.sum_usage(0) == Usage(dollars=1.25, unpriced=1)


def test_a_database_of_an_older_version_is_worked_with_after_an_upgrade(url, tmp_path):
    before = OLDEST
    with psycopg.connect(url, autocommit=True) as base:
        for step in STEPS[:before]:
            base.execute(step)
        base.execute("CREATE TABLE punchlist_schema (version integer)")
        base.execute("INSERT INTO punchlist_schema VALUES (%s)", (before,))
        base.execute("INSERT INTO allowances VALUES (%s, 'allowed')", (f"{gethostname()}:r",))
        with pytest.raises(StoreError, match="older schema"):
            PostgresState(url, tmp_path)
        assert migrate(base) == before
    with closing(PostgresState(url, tmp_path)) as state:
        assert put(state, "d1", notice()) is Taken.KEPT
        state.store.append("r1", "0", "a", started(), 1.0)
        assert state.store.find_run("last") == "r1"
        state.allowances.grant("r", "more")
        assert state.allowances.list_granted("r") == {"allowed", "more"}
        state.allowances.revoke("r")
        assert not state.allowances.list_granted("r")


def test_a_database_that_cannot_be_reached_is_told_without_its_password(tmp_path):
    with pytest.raises(StoreError) as told:
        PostgresState("postgresql://ada:hunter2@127.0.0.1:1/x", tmp_path, patience=0)
    assert "hunter2" not in str(told.value)
    assert "ada" in str(told.value)


def test_an_entry_altered_in_the_tables_is_seen(open_state, url):
    store = open_state().store
    store.append("r1", "0", "a", started(), 1.0)
    with psycopg.connect(url, autocommit=True) as base:
        base.execute("UPDATE entries SET kind = 'ended'")
        base.execute("UPDATE runs SET repository = 'elsewhere'")
    assert len(store.take_snapshot("r1").faults) == 2


def test_a_new_entry_of_another_process_is_told_and_so_is_a_lost_connection(open_state, url):
    heard = queue.Queue()
    watching = open_state().watch(heard.put)
    assert heard.get(timeout=30) == "", "it begins to listen: what came before may be missed"
    assert watching.live
    store = open_state().store
    store.append("r1", "0", "a", started(), 1.0)
    store.append("r1", "0", "a", started(), 1.0)
    store.append("r2", "0", "a", started(), 1.0)
    assert [heard.get(timeout=30) for _ in range(2)] == ["r1", "r2"]
    with psycopg.connect(url, autocommit=True) as base:
        base.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert heard.get(timeout=30) == "", "it listens again"


def test_without_patience_an_absent_database_is_told_at_once_and_with_it_is_waited_for(tmp_path):
    with start_server() as server:
        url = server.make_database("gone")
        with psycopg.connect(url, autocommit=True) as base:
            migrate(base)
        state = PostgresState(url, tmp_path)
        patient = PostgresState(url, tmp_path)
        state.wait_for(0)
        back = threading.Event()
        state.watch(lambda run: run or back.set())
        assert back.wait(30)
        back.clear()
        server.stop()
        with pytest.raises(StoreAway):
            state.store.runs()
        threading.Thread(target=server.start).start()
        assert patient.store.runs() == []
        assert back.wait(30)
        assert state.store.runs() == []
        state.close()
        patient.close()


def test_what_is_allowed_on_one_machine_is_not_allowed_for_the_same_path_of_another(url):
    with psycopg.connect(url, autocommit=True) as base:
        migrate(base)
    with closing(Database(url, patience=0)) as database:
        here, there = (PostgresAllowances(database, name) for name in ("here", "there"))
        here.grant("path", "tests")
        assert here.list_granted("path") == {"tests"}
        assert there.list_granted("path") == frozenset()
        there.revoke("path")
        assert here.list_granted("path") == {"tests"}


def test_all_runs_of_a_process_share_one_look_at_the_requests_to_stop(open_state, url):
    stops = PostgresStops(Database(url), fresh=3600)
    open_state().stops.request("r1", StopRequest("ada"))
    assert stops.read("r1") == StopRequest("ada")
    with psycopg.connect(url) as base:
        base.execute("LOCK TABLE stops")  # a second look would wait
        looking = threading.Thread(target=stops.read, args=("r2",), daemon=True)
        looking.start()
        looking.join(10)
        assert not looking.is_alive()
    stops.clear("r1")
    assert stops.read("r1") is None


def test_an_id_that_two_machines_choose_at_the_same_moment_is_for_one_of_them(open_state):
    one, other = open_state(), open_state()

    def make():
        offered = iter(("261116-00000a", "261116-00000a", "261116-00000b"))
        return lambda: next(offered)

    assert choose_run_id(one, make()) == "261116-00000a"
    assert choose_run_id(other, make()) == "261116-00000b", "no event of the first is there yet"


def test_a_schema_to_which_a_newer_version_only_added_is_worked_with(open_state, url, tmp_path):
    open_state()
    with psycopg.connect(url, autocommit=True) as base:
        base.execute(
            "UPDATE punchlist_schema SET version = version + 1;"
            "ALTER TABLE jobs ADD COLUMN later text NOT NULL DEFAULT ''"
        )
        state = open_state()
        state.store.append("r1", "0", "a", started(), 1.0)
        assert migrate(base) == VERSION + 1, "an older version leaves it as it is"
        base.execute("UPDATE punchlist_schema SET oldest = version")
    with pytest.raises(StoreError, match="newer punchlist"):
        PostgresState(url, tmp_path)


def test_steps_that_older_processes_do_not_see_only_add():
    """OLDEST must be raised with a step that drops, renames or changes what was there."""
    changes = re.compile(r"\b(DROP|RENAME|SET NOT NULL|ALTER COLUMN|DELETE|TRUNCATE)\b")
    functions = re.compile(r"\$\$.*?\$\$|BEFORE [A-Z ]+ ON", re.DOTALL)
    for number, whole in enumerate(STEPS[OLDEST:], OLDEST + 1):
        step = functions.sub("", whole)
        assert not changes.search(step), f"step {number} takes something away"
        for column in re.findall(r"ADD COLUMN ([^,;]+)", step):
            assert "NOT NULL" not in column or "DEFAULT" in column, f"step {number}: {column}"
