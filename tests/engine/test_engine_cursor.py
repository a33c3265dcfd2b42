"""Where a run is, is computed from its ledger alone: going on after any line of it is the same as never having stopped."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from probes import Lines, Stage, action, all_of, dismiss_one

from made import made_run
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.engine import PendingDecision, PendingStep, find_position
from punchlist.model.item.item import Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.append_only import AppendOnlyMap
from punchlist.model.ledger.fold import fold, fold_entries
from punchlist.model.ledger.outcome import RunOutcome
from punchlist.model.ledger.run import Run
from punchlist.ports.analyzer import Analysis
from punchlist.steps.consolidate import Options as Consolidate
from punchlist.steps.report import Options as Report
from punchlist.steps.review import Options as Review
from punchlist.steps.verb import NoOptions
from punchlist.workflow.language import Do, OnLimit, Repeat, StopWhen, Until

quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

DO = st.sampled_from([Do(verb, NoOptions()) for verb in ("idle", "three", "chain", "dismiss")])


def bodies(stop: Until):
    """Verbs before the stop and, now and then, after it."""
    return st.tuples(st.lists(DO, max_size=3), st.lists(DO, max_size=2)).map(
        lambda both: (*both[0], StopWhen(stop), *both[1])
    )


LOOP = st.builds(
    Repeat,
    rounds=st.integers(1, 3),
    on_limit=st.sampled_from(OnLimit),
    hard_cap=st.integers(3, 4),
    steps=st.sampled_from([Until.NO_MUST_FIX, Until.CONVERGED]).flatmap(bodies),
)
STEPS = st.lists(st.one_of(DO, LOOP), min_size=1, max_size=4)


def prepared(monkeypatch, tmp_path, steps, entries=()) -> Stage:
    stage = Stage(tmp_path, monkeypatch, Lines(entries))
    stage.add_items(1, 2, 3)
    stage.knows("idle", all_of())
    stage.knows("three", all_of("a", "b", "c"))
    stage.knows(
        "chain",
        lambda run, options, place: (
            (action(str(len(run.position.here))),) if len(run.position.here) < 3 else ()
        ),
    )
    stage.knows(
        "dismiss",
        lambda run, options, place: (
            (action("one"),) if run.find_items(Status.OPEN) and not run.position.here else ()
        ),
        dismiss_one,
    )
    stage.then(*steps)
    return stage


def ended(stage: Stage, answers: list[str]) -> Run:
    """Driven to the end, with these answers to whatever is asked; always one of those on offer."""
    run = stage.drive() if not stage.run.ended else stage.run
    while run.waiting_for is not None:
        wanted = answers[
            len([question for question in run.asking.questions if question.answer]) % len(answers)
        ]
        stage.answer(wanted if wanted in run.waiting_for.choices else "a")
        run = stage.drive()
    return run


def story(stage: Stage) -> list[tuple[str, str, ev.AnyEvent]]:
    return [
        (entry.place, entry.key, entry.event) for entry in stage.entries if entry.place != "signal"
    ]


@quick
@given(steps=STEPS, answers=st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
def test_after_every_line_the_next_thing_to_do_is_what_the_ledger_shows_next(
    monkeypatch, tmp_path, steps, answers
):
    stage = prepared(monkeypatch, tmp_path, steps)
    ended(stage, answers)
    run = made_run(id="r")
    for entry, following in pairwise(stage.entries):
        run = fold(run, entry)
        if following.place == "signal":
            continue
        here = find_position(stage.workflow, run)
        assert here == find_position(stage.workflow, run)
        assert following.place == ("end" if here is None else here.place)
        assert isinstance(here, PendingDecision) == isinstance(
            following.event, ev.RoundEnded | ev.Asked | ev.Answered
        )
    assert find_position(stage.workflow, fold(run, stage.entries[-1])) is None


@quick
@given(
    steps=STEPS, answers=st.lists(st.sampled_from("abc"), min_size=1, max_size=3), data=st.data()
)
def test_going_on_from_any_line_ends_as_if_nobody_had_stopped(
    monkeypatch, tmp_path, steps, answers, data
):
    whole = prepared(monkeypatch, tmp_path, steps)
    ended(whole, answers)
    cut = data.draw(st.integers(1, len(whole.entries)))
    again = prepared(monkeypatch, tmp_path, steps, whole.entries[:cut])
    ended(again, answers)
    assert story(again) == story(whole)


@quick
@given(steps=STEPS, answers=st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
def test_the_run_that_was_driven_is_the_fold_of_its_ledger(monkeypatch, tmp_path, steps, answers):
    stage = prepared(monkeypatch, tmp_path, steps)
    run = ended(stage, answers)
    assert fold_entries("r", stage.entries) == run
    assert fold_entries("r", stage.entries) == fold_entries("r", stage.entries)


def test_a_ledger_read_from_disk_gives_the_identical_run(stage):
    stage.add_items(1, 2)
    stage.verb(all_of("a", "b"))
    stage.then(Do("report", Report()))
    assert stage.drive() == stage.run


def test_after_a_halt_only_what_must_run_last_is_due(paper_stage):
    stage = paper_stage
    stage.verb(all_of("a"))
    stage.verb(all_of("told"), last=True)
    stage.verb(all_of("b"))
    stage.begun()
    assert find_position(stage.workflow, stage.run) == PendingStep("0", stage.workflow.steps[0])
    stage.store.append("r", "limit", "halted", ev.Halted(limit="time"), 0.0)
    assert find_position(stage.workflow, stage.run) == PendingStep("1", stage.workflow.steps[1])
    stage.store.append("r", "1", "", ev.StepDone(verb="probe 1"), 0.0)
    assert find_position(stage.workflow, stage.run) is None


def test_what_comes_after_the_stop_is_left_out_in_the_last_round_only(paper_stage):
    stage = paper_stage
    stage.add_items(1, 2)
    stage.knows("dismiss", all_of("one"), dismiss_one)
    stage.knows("after", all_of("after"))
    stage.then(
        Repeat(
            3,
            OnLimit.GO_ON,
            5,
            (Do("dismiss", NoOptions()), StopWhen(Until.NO_MUST_FIX), Do("after", NoOptions())),
        )
    )
    stage.drive()
    assert [entry.place for entry in stage.entries if entry.key == "after"] == ["1.1.2"]


@pytest.mark.parametrize("kind", ["disk", "memory"])
def test_a_ledger_keeps_what_it_was_given_first_in_order_and_chained(kind, tmp_path):
    """The one in memory is used in place of the real one, so both keep one contract."""
    store = SqliteStore.open(tmp_path) if kind == "disk" else Lines()
    first = store.append("r", "0", "a", ev.StepDone(verb="x"), 1.0)
    store.append("other", "0", "a", ev.StepDone(verb="z"), 1.0)
    second = store.append("r", "0", "b", ev.StepDone(verb="y"), 2.0)
    assert store.append("r", "0", "a", ev.StepDone(verb="something else"), 3.0) == first
    assert list(store.read("r")) == [first, second]
    assert list(store.read("r", 1)) == [second]
    assert (first.seq, second.seq, first.prev, second.prev) == (1, 2, "", first.hash)
    if kind == "disk":
        store.close()


class Reviewer:
    confined = True

    def __init__(self, **said) -> None:
        self.name = "reviewer"
        self._said = Analysis(**said)

    async def analyze(self, tree, paths):
        return self._said


@pytest.mark.parametrize(
    ("reviewers", "outcome"),
    [
        ({}, RunOutcome.INCOMPLETE),
        ({"a": Reviewer(failed="crashed")}, RunOutcome.INCOMPLETE),
        ({"a": Reviewer(skipped="no files of its language")}, RunOutcome.NOTHING_FOUND),
        ({"a": Reviewer(looked_at=3), "b": Reviewer(failed="crashed")}, RunOutcome.INCOMPLETE),
        (
            {"a": Reviewer(looked_at=3), "b": Reviewer(skipped="no files of its language")},
            RunOutcome.CLEAN,
        ),
    ],
)
def test_nothing_is_clean_that_nobody_looked_at(stage, reviewers, outcome):
    stage.analyzers = reviewers
    stage.then(Do("review", Review()), Do("consolidate", Consolidate()), Do("report", Report()))
    assert stage.drive().ended == outcome


@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from("abcdef"), st.integers()), max_size=30)
)
def test_a_growing_mapping_never_changes_for_whoever_holds_it(growth):
    """Each grows from any earlier one, beside plain dicts that are copied."""
    held, plain = [AppendOnlyMap()], [{}]
    for parent, key, value in growth:
        at = parent % len(held)
        held.append(held[at].with_entry(key, value))
        plain.append({**plain[at], key: value})
    for ours, theirs in zip(held, plain, strict=True):
        assert list(ours.items()) == list(theirs.items())
        assert (len(ours), ours.get("a"), "b" in ours) == (
            len(theirs),
            theirs.get("a"),
            "b" in theirs,
        )
