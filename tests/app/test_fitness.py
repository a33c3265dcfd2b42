"""A worker that breaks off every run pauses; one that meets a bad run does not."""

import pytest

from punchlist.app.fleet import fitness
from punchlist.app.fleet.fitness import Fitness


class Worker(Fitness):
    """Its clock is set by hand, and what it says is kept."""

    def __init__(self, home):
        self.lines, self.now = [], 0.0
        super().__init__(home, self.lines.append, clock=lambda: self.now)


@pytest.fixture
def worker(tmp_path):
    return Worker(tmp_path)


def test_the_same_run_that_breaks_off_again_and_again_is_the_one_to_blame(worker):
    assert [worker.note_broken("r1", "it is bad") for _ in range(9)] == [True] * 9
    assert (worker.why, worker.on_trial) == ("", False)


def test_after_two_different_runs_the_worker_pauses_longer_each_time_and_tries_one(worker):
    assert worker.note_broken("r1", "403")
    pauses = []
    for number in range(2, 8):
        assert not worker.note_broken(f"r{number}", "403 Forbidden")
        assert "403 Forbidden" in worker.why
        began = worker.now
        while worker.why:
            worker.now += 1
        pauses.append(worker.now - began)
        assert worker.on_trial
    assert pauses == [5, 10, 20, 40, 60, 60]
    assert not worker.note_broken("r1", "403"), "also a run that broke off here before"


def test_a_run_that_gets_on_ends_the_trial(worker):
    worker.note_broken("r1", "403")
    worker.note_broken("r2", "403")
    worker.note_progress()
    assert (worker.why, worker.on_trial) == ("", False)
    assert worker.note_broken("r3", "it is bad")


def test_while_the_disk_is_full_no_run_is_taken_and_none_is_blamed(worker, monkeypatch):
    monkeypatch.setattr(fitness, "LEAST_ROOM", 1 << 62)
    worker.look_for_room()
    worker.look_for_room()
    assert "64 MB" in worker.why
    assert not worker.note_broken("r1", "No space left on device")
    monkeypatch.setattr(fitness, "LEAST_ROOM", 1)
    worker.look_for_room()
    assert worker.why == ""
    assert [line.partition(": ")[2] or line for line in worker.lines] == [
        "no more runs are taken",
        "there is room again",
    ]
