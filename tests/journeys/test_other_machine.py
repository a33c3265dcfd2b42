"""A run that was killed on one machine goes on on another, which has only the ledger and the objects."""

import os

import pytest
from test_killed import drive, finished
from test_killed_and_cleaned import SCRIPT

from punchlist.adapters.agents.scripted.agent import read_calls
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.item.item import Status
from punchlist.model.ledger.fold import fold_entries


@pytest.fixture
def shared(bench, tmp_path, monkeypatch):
    """The ledger and the objects that all machines have."""
    monkeypatch.setenv("PUNCHLIST_STORE", f"sqlite:{tmp_path / 'ledger'}")
    monkeypatch.setenv("PUNCHLIST_OBJECTS", str(tmp_path / "objects"))
    bench.play(*SCRIPT)
    return tmp_path


def count_calls(bench, role):
    return sum(call.role == role for call in read_calls(bench.folder / "calls.jsonl"))


def load_run(shared):
    store = SqliteStore.open(shared / "ledger", readonly=True)
    run = fold_entries(store.find_run("last"), store.read(store.find_run("last")))
    store.close()
    return run


@pytest.mark.parametrize("written", ["answers/0-technical", "work/"])
def test_what_was_paid_for_on_one_machine_is_used_on_another(bench, shared, monkeypatch, written):
    assert drive(bench.repo, "run", "shared", written).returncode == -9
    monkeypatch.setenv("PUNCHLIST_HOME", str(shared / "another machine"))
    assert finished(bench.repo)["audit"] == []
    run = load_run(shared)
    assert run.items[1].status is Status.FIXED
    assert count_calls(bench, "fixer") == 1
    assert count_calls(bench, "technical") == 2, "one in each round"
    there = {path.name for path in (shared / "objects" / run.id).iterdir()}
    assert {"report.json", "answers", "work"} <= there
    assert not (shared / "another machine" / "runs" / run.id / "report.json").exists()


def test_an_answer_of_a_fixer_without_its_edits_is_asked_for_again_elsewhere(
    bench, shared, monkeypatch
):
    assert drive(bench.repo, "run", "written", "fixer").returncode == -9
    monkeypatch.setenv("PUNCHLIST_HOME", str(shared / "another machine"))
    finished(bench.repo)
    item = load_run(shared).items[1]
    assert item.status is Status.FIXED
    assert not any("no change was made" in attempt.why for attempt in item.attempts)
    assert count_calls(bench, "fixer") == 2, "the edits were on the machine that died"


def test_evidence_that_was_changed_is_refused(bench, shared, monkeypatch):
    assert drive(bench.repo, "run", "shared", "work/").returncode == -9
    run = load_run(shared)
    (name,) = [name for name in run.pins if name.startswith("baseline-")]
    assert os.environ["PUNCHLIST_OBJECTS"] not in run.started.settings
    (shared / "objects" / run.id / name).write_bytes(b"another story")
    monkeypatch.setenv("PUNCHLIST_HOME", str(shared / "another machine"))
    went = drive(bench.repo, "resume")
    assert f"{name} is not what the ledger recorded" in went.stderr.decode()
    assert not load_run(shared).ended
    monkeypatch.setenv("PUNCHLIST_HOME", str(shared / "state"))
    told = finished(bench.repo)
    assert told["audit"] == [f"the evidence {name} was changed after it was recorded"]
    assert load_run(shared).items[1].status is Status.FIXED, "the first machine has a true copy"
