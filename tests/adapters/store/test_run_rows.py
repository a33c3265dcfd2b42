"""What a list knows of runs without reading them whole: how they ended, how long they took, and what people added."""

import pytest

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger.events import (
    Answered,
    Asked,
    Dismissed,
    Ended,
    Interrupted,
    Resumed,
    Started,
    StepDone,
)
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.views.run_state import State, find_state

STARTED = Started(
    repository="/repo",
    change=Change(kind=ScopeKind.ALL, base="a", head="a"),
    workflow_name="w",
    workflow="",
    settings="{}",
    reviewers=(),
    checks=(),
    checks_allowed=False,
    version="1",
)
DISMISSED = Dismissed(by="ada", why="no")


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "home") as opened:
        yield opened


def written(store, *entries):
    for at, place, event in entries:
        store.append("r1", place, f"k{at}", event, at)
    (row,) = store.runs()
    return row


def test_what_people_add_after_the_end_changes_neither_state_nor_duration(store):
    row = written(
        store,
        (10.0, "start", STARTED),
        (14.0, "end", Ended(outcome="leftovers")),
        (9000.0, "people", DISMISSED),
    )
    assert (row.outcome, row.ended_at, row.last_at, row.last_kind, row.entries) == (
        "leftovers",
        14.0,
        14.0,
        "ended",
        3,
    )
    assert (row.active, row.amended) == (4.0, True)
    assert find_state(row, driven=False) is State.ENDED


def test_a_run_that_waits_still_waits_after_a_dismissal(store):
    asked = Asked(question="on?", choices={"a": "yes"})
    row = written(store, (1.0, "start", STARTED), (2.0, "0", asked), (3.0, "people", DISMISSED))
    assert find_state(row, driven=False) is State.WAITING
    assert (row.outcome, row.ended_at, row.amended) == ("", 0, False)


def test_a_run_that_was_answered_and_not_let_go_on_is_stopped_and_was_not_killed(store):
    asked, answered = Asked(question="on?", choices={"a": "yes"}), Answered(choice="a", by="ada")
    row = written(store, (1.0, "start", STARTED), (2.0, "0", asked), (3.0, "0", answered))
    assert find_state(row, driven=False) is State.STOPPED
    assert find_state(fold_entries("r1", store.read("r1")), driven=False) is State.STOPPED


def test_pauses_do_not_count_as_they_do_not_in_the_fold(store):
    row = written(
        store,
        (1.0, "start", STARTED),
        (3.0, "signal", Interrupted(reason="^C")),
        (500.0, "signal", Resumed(version="1")),
        (501.0, "0", Asked(question="on?", choices={"a": "yes"})),
        (900.0, "0", Answered(choice="a", by="ada")),
        (901.5, "0", StepDone(verb="review")),
        (950.0, "people", DISMISSED),
        (951.0, "end", Ended(outcome="clean")),
    )
    assert row.active == pytest.approx(fold_entries("r1", store.read("r1")).active)
    assert row.active == pytest.approx(5.5)
    assert not row.amended
