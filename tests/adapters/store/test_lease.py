"""Two processes never drive one run."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from punchlist.adapters.store.lease import FileLease, FileLeases
from punchlist.errors import AlreadyRunning, StoreError
from punchlist.ports.state import LeaseHolder

SRC = Path(__file__).parents[3] / "src"


def another_process(home, run, request=""):
    """Takes the lease, says so, and keeps it until it is killed."""
    code = """
import sys, time; from pathlib import Path
from punchlist.adapters.store.lease import FileLease
lease = FileLease.acquire(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
print("taken", flush=True); time.sleep(60)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code, home, run, request],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(SRC)},
    )
    assert child.stdout.readline() == b"taken\n"
    return child


@pytest.fixture
def other(tmp_path):
    child = another_process(tmp_path, "r1", "req")
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def test_a_run_at_work_in_another_process_is_refused_with_its_id(tmp_path, other):
    with pytest.raises(AlreadyRunning, match=f"run r1 .* process {other.pid}") as told:
        FileLease.acquire(tmp_path, "r1")
    assert told.value.run == "r1"
    assert told.value.hint == "punchlist status r1"
    assert FileLeases(tmp_path).find_holder("r1") == LeaseHolder(other.pid, "r1")


def test_the_same_request_is_refused_with_the_id_of_the_run_that_has_it(tmp_path, other):
    with pytest.raises(AlreadyRunning, match=f"process {other.pid}") as told:
        FileLease.acquire(tmp_path, "r2", "req")
    assert told.value.run == "r1"
    FileLease.acquire(tmp_path, "r2", "another request").release()


def test_by_force_a_request_is_begun_a_second_time_and_had_where_it_is_free(tmp_path, other):
    FileLease.acquire(tmp_path, "r2", "req", force=True).release()
    with FileLease.acquire(tmp_path, "r3", "another", force=True), pytest.raises(AlreadyRunning):
        FileLease.acquire(tmp_path, "r4", "another")


def test_a_killed_process_holds_nothing(tmp_path, other):
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert FileLeases(tmp_path).find_holder("r1") is None
    with FileLease.acquire(tmp_path, "r1", "req"):
        assert FileLeases(tmp_path).find_holder("r1") == LeaseHolder(os.getpid(), "r1")
    assert FileLeases(tmp_path).find_holder("r1") is None


def test_a_refused_lease_leaves_nothing_locked(tmp_path, other):
    with pytest.raises(AlreadyRunning):
        FileLease.acquire(tmp_path, "r1", "fresh")
    FileLease.acquire(tmp_path, "r2", "fresh").release()


def test_one_process_cannot_take_a_run_twice(tmp_path):
    with FileLease.acquire(tmp_path, "r1"), pytest.raises(AlreadyRunning):
        FileLease.acquire(tmp_path, "r1")


def test_a_child_started_meanwhile_does_not_keep_the_lease(tmp_path):
    lease = FileLease.acquire(tmp_path, "r1")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False)
    lease.release()
    assert FileLeases(tmp_path).find_holder("r1") is None
    child.kill()
    child.wait()


def test_names_never_lead_out_of_the_home(tmp_path):
    home = tmp_path / "home"
    with FileLease.acquire(home, "../../r", "/etc/x\udc80"):
        assert {path.name for path in tmp_path.iterdir()} == {"home"}


def test_a_home_that_cannot_be_locked_is_told(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(StoreError, match="cannot be locked"):
        FileLease.acquire(tmp_path, "r1")
