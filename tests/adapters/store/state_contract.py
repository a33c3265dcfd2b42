"""What every state keeps, whichever machine and process asks: test modules import all of it and say which state it is.

They give the fixture `open_state`: each call opens the same state as another process would.
"""

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.adapters.store.embedded import EmbeddedState
from punchlist.errors import AlreadyRunning, UsageError
from punchlist.model.finding.finding import Context, Finding, RefusedEntry, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import (
    Answered,
    AnyEvent,
    Asked,
    Dismissed,
    Ended,
    Failed,
    Halted,
    Interrupted,
    Resumed,
    Reviewed,
    Started,
    StepDone,
)
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.hash_chain import verify_entries, verify_lines
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.state import StopRequest
from punchlist.views.run_state import State, find_state

_RUNS = (f"r{number}" for number in range(1, 10**9))


@pytest.fixture
def state(open_state):
    return open_state()


@pytest.fixture
def store(state):
    return state.store


def started(repository="/repo/a"):
    change = Change(kind=ScopeKind.ALL, base="b" * 40, head="b" * 40)
    return Started(
        repository=repository,
        change=change,
        workflow_name="proven",
        workflow="steps: []",
        settings="{}",
        checks=(),
        checks_allowed=False,
        reviewers=("ruff",),
        version="0",
    )


def finding(number, detail=""):
    return Finding(
        id=f"f{number}",
        source="ruff",
        title=f"unused import {number}",
        spot=Spot("src/a.py", number + 1, number + 1),
        severity=Severity.MINOR,
        detail=detail,
        context=Context(symbol="main", span="importos", before="x" * 60, after="y" * 60),
    )


# Odd bytes of a file are read as surrogates, and a finding quotes them.
texts = st.text(st.characters(codec=None), max_size=30)
events = st.one_of(
    st.builds(Failed, reason=texts, hint=texts),
    st.builds(Halted, limit=texts),
    st.builds(StepDone, verb=texts),
    st.builds(Asked, question=texts, choices=st.dictionaries(texts, texts, max_size=3)),
    st.builds(
        Reviewed,
        reviewer=texts,
        commit=texts,
        refused=st.lists(st.builds(RefusedEntry, texts, texts, texts), max_size=3).map(tuple),
    ),
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(written=st.lists(st.tuples(texts, events), min_size=1, max_size=8))
def test_what_is_appended_is_read_back_in_order_and_unbroken(
    open_state, store, written: list[tuple[str, AnyEvent]]
):
    run = next(_RUNS)
    appended = [
        store.append(run, f"{at}", key, event, 1.5 + at) for at, (key, event) in enumerate(written)
    ]
    entries = list(store.read(run))
    assert [entry.event for entry in entries] == [event for _, event in written]
    assert entries == appended
    assert [entry.seq for entry in entries] == list(range(1, len(written) + 1))
    assert verify_entries(entries) == ""
    assert verify_lines(line.rstrip(b"\n") for line in store.export(run)) == ""
    taken = store.take_snapshot(run)
    assert (taken.head, taken.faults) == (entries[-1].hash, ())


def test_the_lines_of_the_same_events_are_the_same_in_every_state(store, tmp_path):
    plain = EmbeddedState(tmp_path / "another").store
    for each in (store, plain):
        each.append("r1", "0", "a", started("/odd/\udcff\x00"), 1.0)
        each.append("r1", "people", "b", Dismissed(by="ada \udc80", why="no"), 2.25)
        each.append("r1", "end", "ended", Ended(outcome="clean"), 3.125)
    assert list(store.export("r1")) == list(plain.export("r1"))
    assert store.take_snapshot("r1") == plain.take_snapshot("r1")
    assert store.runs() == plain.runs()
    plain.close()


def test_the_first_event_of_an_action_wins(store):
    first = store.append("r1", "0", "check", Failed(reason="no"), 1.0)
    again = store.append("r1", "0", "check", Failed(reason="another story"), 2.0)
    assert again == first
    assert [entry.event for entry in store.read("r1")] == [Failed(reason="no")]


def test_runs_have_chains_of_their_own(store):
    for at in range(6):
        store.append(f"r{at % 2}", str(at), "k", Halted(limit=str(at)), at)
    assert [entry.seq for entry in store.read("r0")] == [1, 2, 3]
    assert verify_entries(store.read("r0")) == verify_entries(store.read("r1")) == ""


def test_reading_can_start_after_an_entry(store):
    for at in range(100):
        store.append("r1", str(at), "k", Halted(limit="x"), at)
    assert [entry.seq for entry in store.read("r1", after=97)] == [98, 99, 100]
    assert len(list(store.read("r1"))) == 100


def test_a_review_with_ten_thousand_findings_fits(store):
    event = Reviewed(
        reviewer="ruff", commit="c", findings=tuple(finding(n, "d" * 200) for n in range(10_000))
    )
    store.append("r1", "0", "ruff", event, 1.0)
    (entry,) = store.read("r1")
    assert entry.event == event


def test_runs_are_listed_newest_first_with_their_last_event(store):
    store.append("old", "0", "a", started("/repo/a"), 1.0)
    store.append("new", "0", "a", started("/repo/b"), 2.0)
    store.append("old", "1", "a", Ended(outcome="clean"), 3.0)
    assert [
        (row.id, row.repository, row.last_at, row.last_kind, row.entries) for row in store.runs()
    ] == [("new", "/repo/b", 2.0, "started", 1), ("old", "/repo/a", 3.0, "ended", 2)]
    assert [row.id for row in store.runs("/repo/a")] == ["old"]


def test_a_run_is_found_by_any_unique_part_of_its_id_or_as_the_last(store):
    for at, run in enumerate(["abc1", "abd2", "abd22"]):
        store.append(run, "0", "a", started(), at)
    for part in ("abc", "c1", "C1", "punchlist/abc1", " bc1"):
        assert store.find_run(part) == "abc1"
    assert store.find_run("last") == "abd22"
    assert store.find_run("abd2") == "abd2", "a whole id is not ambiguous"
    with pytest.raises(UsageError, match=r"2 runs have .bd. in their id: abd22, abd2$"):
        store.find_run("bd")
    with pytest.raises(
        UsageError, match=r"no run has .x. in its id; there are: abd22, abd2, abc1$"
    ):
        store.find_run("x")
    with pytest.raises(UsageError, match="no run is recorded for /elsewhere"):
        store.find_run("abc", "/elsewhere")


def test_runs_belong_to_a_repository_by_its_identity_or_to_a_path_if_they_have_none(store):
    shared, path = "example.org/team/shop", "/repo/a"
    given = {
        "here": (path, shared),
        "there": ("/elsewhere", shared),
        "fork": (path, "example.org/ada/shop"),
        "old": (path, ""),
    }
    for at, (run, (where, identity)) in enumerate(given.items()):
        store.append(run, "0", "a", replace(started(where), identity=identity), at)
        store.append(run, "1", "a", DISMISSED, at + 10)

    def found(*key):
        rows = {row.id for row in store.runs(*key)}
        assert {entry.run for entry in store.read_kind("dismissed", *key)} == rows
        return rows

    assert found(path, shared) == {"here", "there", "old"}
    assert found("/new/place", shared) == {"here", "there"}
    assert found(path, "") == {"old"}, "a repository without an identity is none that has one"
    assert found(path) == {"here", "fork", "old"}, "nothing was looked for but the path"
    assert {row.id: row.identity for row in store.runs()} == {
        run: identity for run, (_, identity) in given.items()
    }
    assert store.find_run("last", path, shared) == "old"
    assert store.find_run("last", "/elsewhere", shared) == "there", "that of this very clone"
    assert store.find_run("last", "/new/place", shared) == "there"
    assert store.take_snapshot("here").faults == ()


def test_threads_and_processes_may_append_at_once(open_state):
    stores = [open_state().store for _ in range(4)]

    def append(store, name):
        for at in range(10):
            store.append("r1", str(at), name, Halted(limit="x"), at)
            store.append("r1", str(at), "shared", Halted(limit=name), at)

    threads = [
        threading.Thread(target=append, args=(store, f"t{n}")) for n, store in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = list(stores[0].read("r1"))
    assert len(entries) == 4 * 10 + 10
    assert verify_entries(entries) == ""


def test_what_was_measured_is_kept_and_the_first_value_holds(open_state):
    store = open_state().store
    assert store.get("baseline/tree") is None
    store.put("baseline/tree", b"\x00\xff")
    store.put("baseline/tree", b"other")
    store.put("base", b"kept")
    assert open_state().store.get("baseline/tree") == b"\x00\xff"
    assert store.forget("baseline/") == 1
    assert (store.get("baseline/tree"), store.get("base")) == (None, b"kept")


def test_measurements_are_forgotten_by_how_their_key_begins_and_by_a_text(open_state):
    store = open_state().store
    for key, value in (("refuted/1", b"run a"), ("refuted/2", b"run b"), ("other/1", b"run a")):
        store.put(key, value)
    assert store.forget("refuted/", "run a") == 1
    kept = [store.get(key) for key in ("refuted/1", "refuted/2", "other/1")]
    assert kept == [None, b"run b", b"run a"]
    assert store.forget("refuted/") == 1
    assert store.get("other/1") == b"run a"


def test_the_cost_of_all_runs_since_a_moment_is_summed(open_state):
    store = open_state().store
    assert store.sum_usage(0) == Usage()
    store.append("r1", "0", "a", started(), 1.0)
    store.append("r1", "1", "a", Halted(limit='"dollars": 9', usage=Usage(dollars=0.25)), 2.0)
    store.append("r2", "1", "a", Halted(limit="x", usage=Usage(dollars=0.5, unpriced=2)), 3.0)
    store.append("r2", "1", "a", Halted(limit="x", usage=Usage(dollars=7)), 3.5)
    assert open_state().store.sum_usage(1.5) == Usage(dollars=0.75, unpriced=2)
    assert store.sum_usage(2.5) == Usage(dollars=0.5, unpriced=2)
    assert store.sum_usage(3.5) == Usage()
    assert store.sum_usage(0, ["r1"]) == Usage(dollars=0.25)
    assert store.sum_usage(0, ["r1", "r2"]) == Usage(dollars=0.75, unpriced=2)
    assert store.sum_usage(2.5, ["r1"]) == store.sum_usage(0, []) == Usage()


def test_entries_of_a_kind_are_read_over_all_runs_of_a_repository(store):
    for at, (run, repository) in enumerate((("b", "/x"), ("a", "/x"), ("c", "/y"))):
        store.append(run, "0", "a", started(repository), at)
        store.append(run, "1", "a", DISMISSED, at + 10)
    assert [entry.run for entry in store.read_kind("dismissed", "/x")] == ["b", "a"]
    assert list(store.read_kind("filed", "/x")) == []


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


def test_a_run_at_work_is_refused_with_its_id_and_the_same_request_too(open_state):
    mine, others = open_state().leases, open_state().leases
    with mine.acquire("r1", "req") as lease:
        assert others.find_holder("r1").run == "r1"
        for run, request in (("r1", ""), ("r2", "req")):
            with pytest.raises(AlreadyRunning, match=r"run r1 .* process") as told:
                others.acquire(run, request)
            assert told.value.run == "r1"
        assert not lease.lost
        others.acquire("r2", "another").release()
    assert others.find_holder("r1") is None
    others.acquire("r1", "req").release()


def test_by_force_a_request_is_begun_a_second_time_and_a_run_is_not(open_state):
    mine, others = open_state().leases, open_state().leases
    with mine.acquire("r1", "req"):
        others.acquire("r2", "req", force=True).release()
        with pytest.raises(AlreadyRunning):
            others.acquire("r1", "req", force=True)
        with pytest.raises(AlreadyRunning):
            mine.acquire("r1")


def test_a_refused_lease_leaves_nothing_taken(open_state):
    mine, others = open_state().leases, open_state().leases
    with mine.acquire("r1"):
        with pytest.raises(AlreadyRunning):
            others.acquire("r1", "fresh")
        others.acquire("r2", "fresh").release()


def test_a_request_to_stop_is_read_by_another_process_until_it_is_cleared(open_state):
    asking, driving = open_state().stops, open_state().stops
    assert driving.read("r1") is None
    asking.request("r1", StopRequest("ada"))
    asking.request("r1", StopRequest("bob \udcff"))
    assert _soon(lambda: driving.read("r1") == StopRequest("bob \udcff"))
    assert driving.read("r2") is None
    driving.clear("r1")
    driving.clear("r1")
    assert driving.read("r1") is None, "what this process cleared is gone for it at once"
    assert _soon(lambda: asking.read("r1") is None)


def _soon(look):
    """Return whether it is true within a moment: drivers poll."""
    tick = threading.Event()
    return any(look() or tick.wait(0.05) for _ in range(100))
