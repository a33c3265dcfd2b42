"""The queue of a fleet: what is taken next, by one worker only, and what comes back of dead ones."""

import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from state_contract import started

from postgres_server import find_programs
from punchlist.adapters.postgres.connection import Database
from punchlist.adapters.postgres.queue import TURN, PostgresQueue
from punchlist.adapters.postgres.state import PostgresState
from punchlist.errors import StoreError
from punchlist.model.ledger.events import Ended, Failed, Interrupted, Resumed, StepDone
from punchlist.model.ledger.hash_chain import verify_lines
from punchlist.ports.fleet.queue import Job, JobState, Priority, Room, WorkerInfo
from punchlist.ports.fleet.schedule import Schedule
from punchlist.ports.fleet.units import Taker, Unit, UnitReport, UnitTask


@pytest.fixture
def state(open_fleet):
    return open_fleet()


@pytest.fixture
def queue(state):
    return state.queue


def add(queue, run, *, at=1.0, **fields):
    job = Job(run=run, repository=fields.pop("repository", "/repo/a"), **fields)
    return queue.enqueue(job, started(job.repository), at)


def register(state, *names):
    for name in names:
        state.workers.register(WorkerInfo(id=name, machine="here", pid=1, width=2))


ANY = Room()


def take_all(queue, worker="w", room=ANY, labels=()):
    taken = []
    while job := queue.take(worker, labels, room):
        taken.append(job.run)
    return taken


def reasons(store, run):
    events = [entry.event for entry in store.read(run)]
    return [event.reason for event in events if isinstance(event, Interrupted)]


def test_a_run_is_queued_with_its_first_event(state, queue):
    add(queue, "r1", branch="main")
    assert [entry.event.__struct_config__.tag for entry in state.store.read("r1")] == [
        "started",
        "interrupted",
    ]
    assert verify_lines(line.rstrip(b"\n") for line in state.store.export("r1")) == ""
    assert state.store.take_snapshot("r1").faults == ()
    job = queue.find("r1")
    assert (job.state, job.branch, job.priority) == (JobState.QUEUED, "main", Priority.RUN)
    assert 0 <= job.waited < 60


def test_a_run_whose_place_in_the_queue_cannot_be_written_leaves_no_trace(state, queue, fleet_url):
    with psycopg.connect(fleet_url, autocommit=True) as base:
        base.execute("ALTER TABLE jobs ADD CONSTRAINT no_more CHECK (run <> 'r1')")
    with pytest.raises(StoreError, match="no_more"):
        add(queue, "r1")
    assert list(state.store.read("r1")) == []
    assert queue.find("r1") is None
    assert state.store.runs() == []


def test_the_same_run_is_not_queued_twice(state, queue):
    add(queue, "r1")
    with pytest.raises(StoreError):
        add(queue, "r1")
    assert len(list(state.store.read("r1"))) == 2
    assert take_all(queue) == ["r1"]


def test_pull_requests_come_before_nightly_runs_and_interrupted_ones_before_all(state, queue):
    register(state, "w")
    add(queue, "night", priority=Priority.NIGHTLY)
    add(queue, "run")
    add(queue, "pull", priority=Priority.PULL_REQUEST)
    add(queue, "stopped", priority=Priority.NIGHTLY)
    first = queue.take("w", (), Room())
    assert first.run == "pull"
    assert queue.give_back("pull", "w")
    assert take_all(queue) == ["pull", "run", "night", "stopped"]


def test_runs_of_a_branch_go_one_at_a_time_and_those_without_a_branch_at_once(queue):
    add(queue, "a1", branch="main")
    add(queue, "a2", branch="main")
    add(queue, "b1", branch="other")
    add(queue, "c1", branch="main", repository="/repo/b")
    add(queue, "d1")
    add(queue, "d2")
    assert take_all(queue) == ["a1", "b1", "c1", "d1", "d2"]
    assert queue.finish("a1", "w", JobState.ENDED)
    assert take_all(queue) == ["a2"]


def test_a_repository_and_an_agent_have_as_many_runs_as_there_is_room(queue):
    for number in range(3):
        add(queue, f"a{number}", agents=("robot", "other"))
    add(queue, "b0", repository="/repo/b", agents=("robot",))
    add(queue, "b1", repository="/repo/b")
    assert take_all(queue, room=Room(repository=2)) == ["a0", "a1", "b0", "b1"]
    assert queue.finish("b0", "w", JobState.ENDED)
    assert take_all(queue, room=Room(agent=2)) == []
    assert take_all(queue, room=Room(agent=3)) == ["a2"]


def test_an_interrupted_run_that_waits_keeps_its_room(queue):
    for run in ("r1", "r2", "r3"):
        add(queue, run)
    two = Room(repository=2)
    assert take_all(queue, room=two) == ["r1", "r2"]
    queue.give_back("r1", "w", delay=3600)
    assert take_all(queue, room=two) == []
    queue.give_back("r2", "w")
    assert take_all(queue, room=two) == ["r2"]
    assert take_all(queue, room=Room(repository=3)) == ["r3"]


def test_a_label_keeps_a_run_for_the_workers_that_have_it(queue):
    add(queue, "gpu", label="gpu")
    add(queue, "any")
    assert take_all(queue, labels=("cpu",)) == ["any"]
    assert take_all(queue, labels=("cpu", "gpu")) == ["gpu"]


def test_a_newer_push_supersedes_what_is_queued_and_not_what_was_begun(state, queue):
    add(queue, "begun", subject="main proven")
    assert queue.take("w", (), Room()).run == "begun"
    assert queue.give_back("begun", "w")
    add(queue, "old", subject="main proven")
    add(queue, "other", subject="branch proven")
    add(queue, "elsewhere", subject="main proven", repository="/repo/b")
    told = add(queue, "new", subject="main proven")
    assert told.superseded == ("old",)
    assert reasons(state.store, "old")[-1] == "superseded by run new"
    assert queue.find("old").state is JobState.SUPERSEDED
    assert take_all(queue) == ["begun", "other", "elsewhere", "new"]


def test_runs_without_a_subject_supersede_nothing(queue):
    add(queue, "one")
    assert add(queue, "two").superseded == ()


def test_a_queued_run_is_cancelled_and_one_that_was_taken_is_not(state, queue):
    add(queue, "r1")
    add(queue, "r2")
    assert queue.take("w", (), Room()).run == "r1"
    assert not queue.cancel("r1", "ada", 2.0)
    assert queue.cancel("r2", "ada", 2.0)
    assert not queue.cancel("r2", "ada", 3.0)
    assert reasons(state.store, "r2")[-1] == "stopped by ada"
    assert take_all(queue) == []
    assert queue.requeue("r2", Priority.RUN)
    assert take_all(queue) == ["r2"]
    assert not queue.requeue("r2", Priority.RUN), "it is under way"


def die(url, worker):
    """Let time pass on the database's clock until the worker's last sign of life is too old."""
    with psycopg.connect(url, autocommit=True) as base:
        base.execute("UPDATE workers SET until = '-infinity' WHERE id = %s", (worker,))


def wait_out(url, run):
    """Let time pass until the run may be tried again; return how many seconds that takes."""
    with psycopg.connect(url, autocommit=True) as base:
        left = "extract(epoch FROM not_before - clock_timestamp())::float8"
        seconds = base.execute(f"SELECT {left} FROM jobs WHERE run = %s", (run,)).fetchone()[0]
        base.execute("UPDATE jobs SET not_before = '-infinity' WHERE run = %s", (run,))
        return seconds


def test_the_runs_of_a_dead_worker_come_first_and_are_stuck_after_ten_deaths(open_fleet, fleet_url):
    state = open_fleet(lease=3600)
    queue = state.queue
    register(state, "alive")
    add(queue, "fine")
    add(queue, "bad")
    assert queue.take("alive", (), Room()).run == "fine"
    for death in range(1, 11):
        worker = f"w{death}"
        register(state, worker)
        add(queue, f"later{death}", priority=Priority.PULL_REQUEST if death > 1 else Priority.RUN)
        assert queue.take(worker, (), Room()).run == "bad"
        assert queue.reap().queued == ()
        die(fleet_url, worker)
        told = queue.reap()
        assert (told.queued, told.stuck) == ((("bad",), ()) if death < 10 else ((), ("bad",)))
        assert queue.find("bad").deaths == death
        seconds = wait_out(fleet_url, "bad")
        assert 0 <= max(0, min(4, death - 2)) - seconds < 1
    assert [job.run for job in queue.list_jobs(JobState.STUCK)] == ["bad"]
    assert "bad" not in take_all(queue, "alive")
    assert queue.find("fine").worker == "alive"
    assert queue.requeue("bad", Priority.RUN)
    assert queue.find("bad").deaths == 0


def test_deaths_count_only_while_a_run_gets_no_further(open_fleet, fleet_url):
    state = open_fleet(lease=3600)
    add(state.queue, "r1")

    def die_after(number, *events):
        register(state, f"w{number}")
        assert state.queue.take(f"w{number}", (), Room()).run == "r1"
        for kind, event in enumerate(events):
            state.store.append("r1", "p", f"{number} {kind}", event, 1.0)
        die(fleet_url, f"w{number}")
        state.queue.reap()
        wait_out(fleet_url, "r1")
        return state.queue.find("r1").deaths

    idle = (Resumed(version="1"), Failed(reason="no network"))
    done = StepDone(verb="fix")
    assert [die_after(n, *idle) for n in range(1, 10)] == list(range(1, 10))
    assert die_after(10, *idle, done) == 1
    assert [die_after(n, *idle) for n in range(11, 20)] == list(range(2, 11))
    assert state.queue.find("r1").state is JobState.STUCK


def test_a_run_is_not_taken_back_while_its_lease_holds(open_fleet, fleet_url):
    state = open_fleet(lease=3600)
    add(state.queue, "r1")
    register(state, "w")
    state.queue.take("w", (), Room())
    with state.leases.acquire("r1"):
        die(fleet_url, "w")
        assert state.queue.reap().queued == ()
    assert state.queue.reap().queued == ("r1",)


def test_a_worker_that_lost_a_run_changes_nothing_about_it(open_fleet, fleet_url):
    state = open_fleet(lease=3600)
    queue = state.queue
    add(queue, "r1")
    register(state, "slow", "fresh")
    queue.take("slow", (), Room())
    die(fleet_url, "slow")
    queue.reap()
    assert queue.take("fresh", (), Room()).run == "r1"
    assert not queue.finish("r1", "slow", JobState.ENDED)
    assert not queue.give_back("r1", "slow", died=True)
    job = queue.find("r1")
    assert (job.worker, job.state, job.deaths) == ("fresh", JobState.RUNNING, 1)


def test_a_run_that_broke_off_waits_before_it_is_tried_again(queue):
    add(queue, "r1")
    queue.take("w", (), Room())
    assert queue.give_back("r1", "w", "no network", died=True, delay=3600)
    assert take_all(queue) == []
    assert queue.find("r1").note == "no network"


def test_a_run_whose_answer_was_lost_on_the_way_to_its_worker_is_given_to_it_again(queue):
    add(queue, "r1")
    add(queue, "r2")
    assert queue.take("w", (), ANY, []).run == "r1"
    assert queue.take("w", (), ANY, []).run == "r1", "the worker does not know that it has it"
    assert queue.take("w", (), ANY, ["r1"]).run == "r2"
    assert queue.take("w", (), ANY, ["r1", "r2"]) is None
    assert queue.take("other", (), ANY, []) is None


def test_a_worker_that_stops_while_it_takes_a_run_keeps_others_for_seconds_only(queue, fleet_url):
    """Its transaction has the lock under which runs are taken; the database ends it."""
    add(queue, "r1")
    taken = []

    def stop_while_taking(base):
        if taken:
            return "again"
        base.execute("BEGIN")
        base.execute("SELECT pg_advisory_xact_lock(%s)", (TURN,))
        assert base.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("3s",)
        base.execute("SET LOCAL idle_in_transaction_session_timeout = '50ms'")
        taken.append(queue.take("w", (), ANY).run)
        return base.execute("COMMIT")

    with closing(Database(fleet_url)) as stopped:
        assert stopped.run(stop_while_taking) == "again", "with another connection"
    assert taken == ["r1"]


def test_no_run_is_taken_twice_by_workers_that_ask_at_once(open_fleet):
    states = [open_fleet() for _ in range(4)]
    for number in range(60):
        add(states[0].queue, f"r{number}", branch=f"b{number % 7}")
    taken = []

    def work(queue, name):
        while queue.list_jobs(JobState.QUEUED):
            if job := queue.take(name, (), Room()):
                running = queue.list_jobs(JobState.RUNNING)
                busy = [each.branch for each in running if each.branch == job.branch]
                taken.append((job.run, len(busy)))
                queue.finish(job.run, name, JobState.ENDED)

    threads = [
        threading.Thread(target=work, args=(state.queue, f"w{number}-{which}"))
        for number, state in enumerate(states)
        for which in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(run for run, _ in taken) == sorted(f"r{number}" for number in range(60))
    assert {busy for _, busy in taken} == {1}, "one at a time of a branch"


def test_a_worker_gives_signs_of_life_until_it_is_removed(open_fleet):
    state = open_fleet(lease=0.3)
    state.workers.register(WorkerInfo(id="w", machine="here", pid=7, labels=("gpu",), width=3))
    waited = threading.Event()
    assert not waited.wait(0.9), "three leases long"
    (info,) = state.workers.list_all()
    assert (info.alive, info.labels, info.width, info.pid) == (True, ("gpu",), 3, 7)
    state.workers.set_draining("w")
    assert state.workers.list_all()[0].draining
    state.workers.remove("w")
    assert state.workers.list_all() == []


def test_what_looks_at_the_queue_imports_no_dbos(fleet_url, tmp_path):
    script = f"""
import sys
from pathlib import Path
from punchlist.app.stores import open_state
from punchlist.ports.fleet.queue import Room
state = open_state({fleet_url!r}, Path({str(tmp_path)!r}))
state.queue.list_jobs(); state.queue.take("w", (), Room())
state.close()
assert "dbos" not in sys.modules and "sqlalchemy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


TASK = UnitTask(seq=2, verb="fix", kind="AgentFix", input="{}")


def offer(state, unit, run="r1", *, driver="d", agents=()):
    state.units.offer(Unit(id=unit, run=run, driver=driver, version="1", agents=agents, task=TASK))


def take_unit(state, worker="w", room=ANY, **more):
    taker = Taker(**{"worker": worker, "labels": (), "version": "1", "room": room, **more})
    unit = state.units.take(taker)
    return unit.id if unit else None


def count_idle(state, room=ANY, version=""):
    return state.units.count_idle("r1", Taker(worker="d", version=version, room=room))


def drive(state, run="r1", **fields):
    """Queue a run, and drive it here."""
    add(state.queue, run, **fields)
    state.queue.take("d", (fields.get("label", ""),), ANY)
    return state.leases.acquire(run)


def test_a_unit_goes_to_one_other_worker_of_the_same_version_and_label(state):
    register(state, "d", "w")
    drive(state, label="gpu")
    offer(state, "u1")
    assert take_unit(state, "d", labels=("gpu",)) is None
    assert take_unit(state) is None
    assert take_unit(state, labels=("gpu",), version="2") is None
    assert take_unit(state, labels=("gpu",), unfit=("r1",)) is None
    assert count_idle(state) == 0, "no worker has the label"
    assert take_unit(state, labels=("gpu",)) == "u1"
    assert take_unit(state, "v", labels=("gpu",)) is None
    assert {each.id: each.units for each in state.workers.list_all()} == {"d": 0, "w": 1}


def test_a_unit_counts_as_a_run_of_its_repository_and_its_agents(state, queue):
    register(state, "d", "w")
    drive(state, agents=("robot",), branch="main")
    for unit in ("u1", "u2", "u3"):
        offer(state, unit, agents=("robot",))
    assert take_unit(state, room=Room(repository=1)) is None
    assert take_unit(state, room=Room(agent=1)) is None
    assert take_unit(state, room=Room(repository=2, agent=2)) == "u1"
    assert take_unit(state, room=Room(repository=2)) is None
    add(queue, "r2", branch="other")
    assert queue.take("w", (), Room(repository=2)) is None
    state.units.finish("u1", "w", UnitReport(why="x"))
    assert queue.take("w", (), Room(repository=2)).run == "r2"


def test_units_of_dead_workers_take_no_room(state, queue, fleet_url):
    register(state, "d", "w")
    drive(state)
    offer(state, "u1")
    assert take_unit(state) == "u1"
    assert [each.alive for each in state.units.list_states("r1")] == [True]
    with psycopg.connect(fleet_url, autocommit=True) as base:
        base.execute("UPDATE workers SET until = '-infinity' WHERE id = 'w'")
    assert [each.alive for each in state.units.list_states("r1")] == [False]
    add(queue, "r2", branch="other")
    assert queue.take("v", (), Room(repository=2)).run == "r2"


def test_a_unit_is_wanted_while_its_driver_has_the_lease_and_has_not_withdrawn_it(
    state, open_fleet
):
    register(state, "w")
    lease = drive(state)
    for unit in ("u1", "u2", "u3"):
        offer(state, unit)
        if unit != "u3":
            assert take_unit(state) == unit
    state.units.set_elsewhere("u1", 0.5)
    assert state.units.beat("u1", "w", UnitReport(dollars=0.25)) == 0.5
    assert state.units.list_states("r1")[0].report.dollars == 0.25
    state.units.withdraw("u1")
    assert state.units.beat("u1", "w", None) is None
    assert state.units.beat("u2", "w", None) == 0
    lease.release()
    assert state.units.beat("u2", "w", None) is None
    assert take_unit(state) is None, "its driver has no lease"
    with open_fleet().leases.acquire("r1"):
        assert state.units.beat("u2", "w", None) is None, "of an earlier driver"


def test_what_is_told_of_a_unit_that_was_taken_back_is_lost_and_what_is_over_stays_as_it_is(state):
    register(state, "w")
    drive(state)
    offer(state, "u1")
    offer(state, "u2")
    assert (take_unit(state), take_unit(state)) == ("u1", "u2")
    assert not state.units.remove("u1", untaken=True)
    assert state.units.remove("u1")
    assert not state.units.finish("u1", "w", UnitReport(event=Ended(outcome="clean")))
    assert state.units.finish("u2", "w", UnitReport(why="first"))
    state.units.beat("u2", "w", UnitReport(dollars=9))
    assert not state.units.finish("u2", "v", UnitReport(why="another's"))
    (left,) = state.units.list_states("r1")
    assert (left.id, left.over, left.report.why) == ("u2", True, "first")


def test_idle_places_are_those_of_living_workers_without_a_run_or_a_unit(state, fleet_url):
    register(state, "d", "w", "v", "x")
    drive(state)
    assert count_idle(state) == 6
    assert count_idle(state, Room(repository=4)) == 3
    state.workers.set_draining("x")
    add(state.queue, "r2", branch="b")
    state.queue.take("w", (), ANY)
    assert count_idle(state) == 3
    assert count_idle(state, Room(repository=1)) == 0
    assert count_idle(state, version="another") == 0


def test_a_run_that_a_newer_worker_drove_is_not_given_to_an_older_one(state, fleet_url):
    with closing(Database(fleet_url)) as database:
        old, new = PostgresQueue(database, 1), PostgresQueue(database, 2)
        add(old, "r1")
        add(new, "r2")
        assert take_all(old) == ["r1"], "what a newer version queued, it cannot read"
        old.give_back("r1", "w")
        assert take_all(new, "n") == ["r1", "r2"]
        for run in ("r1", "r2"):
            new.workflows.start(run, "n")
            assert workflow_version(fleet_url, run) == "2"
            new.give_back(run, "n")
        assert take_all(old) == []
        old.close()
        new.close()


def workflow_version(url, run):
    sql = "SELECT application_version FROM dbos.workflow_status WHERE workflow_uuid = %s"
    with psycopg.connect(url) as base:
        return base.execute(sql, (run,)).fetchone()[0]


def test_a_restored_backup_has_the_same_ledger_and_queue(state, queue, fleet_url):
    add(queue, "r1", branch="main", repository="/odd \udcff\x00")
    state.leases.acquire("r1").release()
    server, _, name = fleet_url.rpartition("/")
    dump = [find_programs() / "pg_dump", fleet_url]
    dumped = subprocess.run(dump, capture_output=True, check=True).stdout
    restored = f"{server}/{name}_restored"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as base:
        base.execute(f"CREATE DATABASE {name}_restored")
    restore = [find_programs() / "psql", "--quiet", "--set=ON_ERROR_STOP=1", restored]
    subprocess.run(restore, input=dumped, check=True, capture_output=True)
    with closing(PostgresState(restored, Path())) as again:
        assert [*again.store.export("r1")] == [*state.store.export("r1")]
        assert again.store.take_snapshot("r1").faults == ()
        job = again.queue.take("w", (), ANY)
        assert (job.run, job.repository) == ("r1", "/odd \udcff\x00")
        again.queue.workflows.start("r1", "w")


EVERY_MINUTE = Schedule(
    name="often",
    cron="* * * * *",
    timezone="Europe/Vienna",
    repository="/r",
    source="/r",
    branch="main",
)
WORKFLOWS = "SELECT workflow_uuid, status, executor_id FROM dbos.workflow_status ORDER BY 1"


@pytest.fixture
def schedules(state, fleet_url):
    """Schedules after DBOS was started once: only then it knows of a version."""
    with psycopg.connect(fleet_url, autocommit=True) as base:
        base.execute(
            "INSERT INTO dbos.application_versions (version_id, version_name, application_name)"
            " VALUES ('1', '1', 'punchlist')"
        )
    state.schedules.add(EVERY_MINUTE)
    return state.schedules


def test_the_last_time_that_no_worker_was_there_for_begins_once_and_late(schedules, fleet_url):
    now = datetime.now(UTC)
    assert schedules.begin_missed([], now) == [], "what was before it was added was not missed"
    later = now + timedelta(minutes=10)
    (name,) = schedules.begin_missed([], later)
    assert schedules.begin_missed([], later) == []
    with psycopg.connect(fleet_url, autocommit=True) as base:
        assert base.execute(WORKFLOWS).fetchall() == [(name, "ENQUEUED", None)]
    due = datetime.fromisoformat(name.removeprefix("sched-often-"))
    assert timedelta(seconds=60) <= later - due <= timedelta(seconds=121)


def test_schedules_of_a_database_that_lacks_them_are_told_as_other_trouble_is(schedules, fleet_url):
    with psycopg.connect(fleet_url, autocommit=True) as base:
        base.execute("ALTER TABLE dbos.workflow_schedules RENAME TO gone")
    with pytest.raises(StoreError, match="does not exist"):
        schedules.begin_missed([], datetime.now(UTC))


def test_a_time_whose_worker_died_before_it_queued_the_run_begins_again(schedules, fleet_url):
    (name,) = schedules.begin_missed([], datetime.now(UTC) + timedelta(minutes=10))
    later = datetime.now(UTC)
    with psycopg.connect(fleet_url, autocommit=True) as base:
        base.execute("UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = 'w1'")
        assert schedules.begin_missed(["w1"], later) == []
        assert schedules.begin_missed(["w2"], later) == [name]
        assert base.execute(WORKFLOWS).fetchone()[:2] == (name, "ENQUEUED")
