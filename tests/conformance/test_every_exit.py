"""Conservation at every exit, however it is reached; and nothing is clean, passed or fixed that nobody saw."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted import CRITICAL, MAJOR, MINOR, Bench, Judge, Said, Watch, Words, finding

from punchlist.adapters.trackers.files import FilesTracker
from punchlist.engine import Limits
from punchlist.model.item.item import ENDED, Status
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.outcome import RunOutcome
from punchlist.ports.analyzer import Analysis
from punchlist.workflow.loader import load_builtin

SHOP = {"a.py": "bad = worse\nhopeless = 1\n", "b.py": "bad\n"}


def words(**more) -> Words:
    return Words(bad=(MAJOR, "good"), worse=(CRITICAL, "better"), hopeless=(MINOR, None), **more)


@pytest.fixture
def bench(make_bench):
    return make_bench(SHOP, words())


def accounted(bench, run) -> None:
    """Every reported finding is in one item, and every item of an ended run has an end or is on the list."""
    audit = bench.audit(run.id)
    assert audit.problems == ()
    assert audit.reported == audit.items + audit.merged + audit.seen_again + len(
        run.reviewing.fresh
    )
    if run.ended:
        assert audit.items == audit.fixed + audit.filed + audit.dismissed + audit.listed


def test_an_ordinary_run_accounts_for_everything(bench):
    run = bench.run()
    accounted(bench, run)
    assert run.ended == "leftovers"
    assert {item.lead.rule: item.status for item in run.items.values()} == {
        "bad": Status.FIXED, "worse": Status.FIXED, "hopeless": Status.FILED,
    }  # fmt: skip


@pytest.mark.parametrize("seconds", [1, 2, 3, 4, 6, 9, 14, 20])
def test_a_run_out_of_time_accounts_for_what_was_reported_until_then(bench, seconds):
    bench.limits = Limits(seconds=seconds)
    run = bench.run()
    assert run.halted
    assert run.ended == RunOutcome.INCOMPLETE
    accounted(bench, run)
    assert all(item.status in ENDED for item in run.items.values())


def test_findings_that_a_limit_kept_from_becoming_items_become_items_all_the_same(bench):
    bench.limits = Limits(seconds=2)
    run = bench.run(watch=Watch())
    assert run.reviewing.reported == 4
    assert [item.status for item in run.items.values()] == [Status.FILED] * 4
    accounted(bench, run)


def test_a_run_out_of_money_reports_what_is_left(bench):
    bench.limits = Limits(dollars=0.5)
    spent = ev.Reviewed(reviewer="words", commit="base", usage=Usage(dollars=1))
    bench.store.append("r9", "start", "started", bench.started(load_builtin("proven").text), 0.0)
    bench.store.append("r9", "0", "words", spent, 1.0)
    halted = bench.resume("r9")
    assert halted.halted == "money limit of $0.5 reached"
    assert halted.ended == RunOutcome.INCOMPLETE
    accounted(bench, halted)


@pytest.mark.parametrize("after", range(1, 20))
def test_interrupted_after_any_event_nothing_is_lost_and_nothing_has_passed(make_bench, after):
    bench = make_bench(SHOP, words())

    def stop(entry, run):
        if entry.seq == after + 1:
            asyncio.current_task().cancel()

    stopped = bench.run(watch=Watch(stop))
    if not stopped.interrupted:
        pytest.skip("the run was over before")
    assert not stopped.ended
    accounted(bench, stopped)
    assert all(item.proofs and item.commit for item in stopped.find_items(Status.FIXED))
    run = bench.resume(stopped.id)
    assert run.ended == "leftovers"
    accounted(bench, run)
    assert len(run.find_items(Status.FIXED)) == 3


def test_one_reviewer_fails_the_others_are_kept_and_the_run_cannot_end_clean(make_bench):
    broken = Words("broken")
    broken.broken = "no answer within 30 s"
    bench = make_bench(SHOP, words(), broken)
    run = bench.run()
    assert run.reviewing.reported >= 4
    assert run.blind == ["broken: no answer within 30 s"]
    assert run.ended == RunOutcome.INCOMPLETE
    accounted(bench, run)
    clean = make_bench({"a.py": "fine\n"}, words(), broken, name="clean")
    assert clean.run().ended == RunOutcome.INCOMPLETE, (
        "nothing was found, and that is no clean bill"
    )


def test_what_a_reviewer_said_before_it_failed_is_kept(make_bench):
    bench = make_bench(SHOP)
    bench.documents = {
        "document": Said(finding(1), finding(2, line=40), failed="the report is cut off")
    }
    run = bench.run()
    assert len(run.items) == 2
    assert run.ended == RunOutcome.INCOMPLETE
    accounted(bench, run)


def test_nobody_looked_is_never_clean(make_bench):
    class Idle(Words):
        async def analyze(self, *_):
            return Analysis(skipped="no files it looks at")

    run = make_bench({"a.txt": ""}, Idle("idle")).run()
    assert run.ended == RunOutcome.NOTHING_FOUND


def test_a_workflow_that_forgets_to_consolidate_still_loses_nothing(bench):
    run = bench.run("steps: [review, {report: {file: none}}]")
    assert len(run.filing.listed) == 4
    accounted(bench, run)


def test_a_refusing_hook_leaves_every_item_with_its_end(bench):
    bench.git.refusal = "not on a Sunday"
    run = bench.run()
    assert not run.landing.landed
    assert not run.find_items(Status.FIXED)
    assert run.ended == RunOutcome.INCOMPLETE
    assert all(item.status is Status.FILED for item in run.items.values())
    assert "not on a Sunday" in " ".join(
        attempt.evidence for item in run.items.values() for attempt in item.attempts
    )
    accounted(bench, run)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=st.dictionaries(
        st.sampled_from(["a.py", "b.py", "tests/test_c.py"]),
        st.lists(st.sampled_from(["bad", "worse", "hopeless", "fine", "bad bad"]), max_size=5).map(
            "\n".join
        ),
        min_size=1,
    ),
    broken=st.booleans(),
    red=st.booleans(),
    refusal=st.sampled_from(["", "no"]),
    tracker=st.booleans(),
    seconds=st.sampled_from([0, 0, 0, 3, 8, 15]),
)
def test_whatever_goes_wrong_together_every_finding_is_accounted_for(
    tmp_path_factory, *, files, broken, red, refusal, tracker, seconds
):
    folder = tmp_path_factory.mktemp("bench")
    bench = Bench(folder, files)
    bench.reviewers = {
        "words": words(),
        "other": Words("other", bad=(MINOR, None), fine=(MINOR, "better")),
    }
    bench.reviewers["other"].broken = "crashed" if broken else ""
    bench.judge = Judge(
        no_better=lambda tree: not red or all("better" not in text for text in tree.texts.values())
    )
    bench.git.refusal = refusal
    bench.limits = Limits(seconds=seconds)
    if not tracker:
        (folder / "file").write_text("")
        bench.tracker = FilesTracker(folder / "file" / "issues")
    run = bench.run()
    assert run.ended
    accounted(bench, run)
    if broken or run.trouble or run.filing.unfiled or run.halted:
        assert run.ended == RunOutcome.INCOMPLETE
    if red:
        assert all("better" not in text for text in bench.git.commits[run.landing.tip].values())
    bench.store.close()
