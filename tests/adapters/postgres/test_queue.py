"""The queue of a fleet: what is taken next, by one worker only, and what comes back of dead ones."""

import subprocess
import sys
import threading

import psycopg
import pytest
from state_contract import started

from punchlist.errors import StoreError
from punchlist.model.ledger.events import Interrupted
from punchlist.model.ledger.hash_chain import verify_lines
from punchlist.ports.fleet.queue import Job, JobState, Priority, Room, WorkerInfo


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


def test_a_run_is_queued_with_its_first_event_and_its_workflow(state, queue):
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


def test_a_run_whose_workflow_cannot_be_written_leaves_no_trace(state, queue, fleet_url):
    with psycopg.connect(fleet_url, autocommit=True) as base:
        base.execute("ALTER TABLE dbos.workflow_status RENAME TO gone")
    with pytest.raises(StoreError, match="does not exist") as told:
        add(queue, "r1")
    assert "store upgrade" in told.value.hint
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


def test_the_runs_of_a_dead_worker_come_first_and_are_stuck_after_five_deaths(
    open_fleet, fleet_url
):
    state = open_fleet(lease=3600)
    queue = state.queue
    register(state, "alive")
    add(queue, "fine")
    add(queue, "bad")
    assert queue.take("alive", (), Room()).run == "fine"
    for death in range(1, 6):
        worker = f"w{death}"
        register(state, worker)
        add(queue, f"later{death}", priority=Priority.PULL_REQUEST if death > 1 else Priority.RUN)
        assert queue.take(worker, (), Room()).run == "bad"
        assert queue.reap().queued == ()
        die(fleet_url, worker)
        told = queue.reap()
        assert (told.queued, told.stuck) == ((("bad",), ()) if death < 5 else ((), ("bad",)))
        assert queue.find("bad").deaths == death
    assert [job.run for job in queue.list_jobs(JobState.STUCK)] == ["bad"]
    assert "bad" not in take_all(queue, "alive")
    assert queue.find("fine").worker == "alive"
    assert queue.requeue("bad", Priority.RUN)
    assert queue.find("bad").deaths == 0


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
