"""Judging: what the checks say counts, all of them are asked, and what nobody judged is called unverified."""

import asyncio
import time

import pytest
from msgspec.structs import replace
from scripted import CHECK, MAJOR, Judge, Said, Watch, Words, finding

from punchlist.model.checks.check import CheckKind, CheckResult
from punchlist.model.checks.check import TestOutcome as Outcome
from punchlist.model.finding.finding import Fix, Safety, Splice
from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.outcome import RunOutcome
from punchlist.views.summary import find_gaps

OTHER = replace(CHECK, name="types", command=("types",))


def without(word: str, path: str = "a.py"):
    return lambda tree: word not in tree.texts[path]


def tried(bench, run) -> list[ev.Tried]:
    return [entry.event for entry in bench.store.read(run.id) if isinstance(entry.event, ev.Tried)]


@pytest.fixture
def bench(make_bench):
    return make_bench({"a.py": "bad\nworse\n"}, Words(bad=(MAJOR, "good"), worse=(MAJOR, "better")))


def test_a_red_check_does_not_keep_the_later_ones_from_running(bench):
    bench.checks = (CHECK, OTHER)
    bench.judge = Judge(test_a=without("better"))
    run = bench.run()
    assert [[verdict.check for verdict in event.verdicts] for event in tried(bench, run)] == [
        ["tests", "types"]
    ] * len(tried(bench, run))
    (culprit,) = run.find_items(Status.FILED)
    assert culprit.lead.rule == "worse"


@pytest.mark.parametrize(
    "trouble",
    [
        "command not found: tests",
        "timed out after 5 s",
        "killed by signal 11",
        "ended early: 3 of 9 tests ran",
    ],
)
def test_trouble_with_the_check_is_a_failure_with_its_reason_and_nothing_lands(bench, trouble):
    class Fails(Judge):
        async def run(self, check, tree, *, only=()):
            result = await super().run(check, tree)
            return replace(result, trouble=trouble if len(self.runs) > 1 else "")

    bench.judge = Fails()
    run = bench.run()
    assert not run.landing.landed
    assert not run.find_items(Status.FIXED)
    assert trouble in {verdict.why for event in tried(bench, run) for verdict in event.verdicts}
    assert bench.audit(run.id).ok


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ({"trouble": "command not found: tests"}, "command not found"),
        ({"blind": "a planted failure was not seen"}, "was not seen"),
    ],
)
def test_a_check_that_cannot_judge_here_is_unusable_and_the_fixes_unverified(bench, judge, said):
    for name, value in judge.items():
        setattr(bench.judge, name, value)
    run = bench.run()
    assert said in run.checks.unverified
    assert all(
        [proof.kind for proof in item.proofs] == [ProofClass.RECHECKED]
        for item in run.find_items(Status.FIXED)
    )
    assert any(gap.about == "check" and "unverified" in gap.what for gap in find_gaps(run))


def test_without_checks_fixes_are_unverified_and_never_called_checked(bench):
    bench.checks = ()
    run = bench.run()
    assert run.checks.unverified == "no checks are configured or were found"
    assert {proof.kind for item in run.find_items(Status.FIXED) for proof in item.proofs} == {
        ProofClass.RECHECKED
    }
    assert "unverified" in " ".join(gap.what for gap in find_gaps(run))
    assert tried(bench, run) == []


def test_without_checks_and_without_an_analyzer_nothing_proves_a_fix(make_bench):
    bench = make_bench({"a.py": "bad\n"})
    bench.checks = ()
    bench.documents = {"document": Said(finding(1, fix=Fix((Splice("a.py", 0, 3, "good"),))))}
    run = bench.run()
    assert not run.landing.landed
    assert "nothing could prove it" in run.items[1].attempts[1].why


def test_without_checks_a_fix_its_tool_calls_unsafe_does_not_land(make_bench):
    bench = make_bench({"a.py": "bad\n"}, Words(safety=Safety.UNSAFE, bad=(MAJOR, "good")))
    bench.checks = ()
    assert not bench.run().landing.landed


def test_a_proof_names_only_the_tools_that_were_asked_again(make_bench):
    bench = make_bench({"a.py": "bad\n"}, Words(bad=(MAJOR, "good")))
    bench.documents = {"document": Said(finding(1, title="word `bad` is not for here"))}
    run = bench.run()
    (item,) = run.find_items(Status.FIXED)
    assert {each.source for each in item.findings} == {"words", "document"}
    assert item.proofs[0].said == "no longer reported by words"


def test_the_baseline_is_measured_once_per_tree(bench):
    bench.run()
    again = bench.run()
    assert again.checks.baselines["tests"].cached
    bench.change = replace(bench.change, head="c1")
    bench.git.commits["c1"] = {"a.py": "bad\n"}
    assert not bench.run().checks.baselines["tests"].cached, "another tree is measured anew"


def test_a_test_that_failed_before_is_held_against_nobody_and_a_new_failure_is(bench):
    bench.judge = Judge(old=lambda _: False, new=without("better"))
    run = bench.run()
    assert {item.lead.rule: item.status for item in run.items.values()} == {
        "bad": Status.FIXED,
        "worse": Status.FILED,
    }
    assert run.checks.baselines["tests"].failed == 1


def test_a_flaky_test_is_run_again_before_anybody_is_blamed(bench):
    bench.judge = Judge(steady=bool, moody=bool)
    bench.judge.flaky = {"moody"}
    run = bench.run()
    assert len(run.find_items(Status.FIXED)) == 2
    assert run.checks.flaky == {"moody"}
    assert "1 test is flaky, and not counted" in [gap.what for gap in find_gaps(run)]


PLAIN = replace(CHECK, kind=CheckKind.PLAIN)


class Busy(Judge):
    """A check that tells only its exit code, and is red without a reason in the runs of these numbers."""

    def __init__(self, *red: int, trouble: str = "", passes=bool) -> None:
        super().__init__()
        self.red, self.why, self.passes = red, trouble, passes

    async def run(self, check, tree, *, only=()):
        said = await super().run(check, tree)
        bad = len(self.runs) in self.red
        code = int(bad or not self.passes(tree))
        return replace(said, tests={}, exit_code=code, trouble=self.why if bad else "")


@pytest.mark.parametrize("trouble", ["", "timed out after 5 s"])
@pytest.mark.parametrize("red", [(1,), (2,), (2, 3, 4)])
def test_a_check_that_is_red_under_load_is_run_again_and_blames_no_fix(bench, red, trouble):
    bench.checks = (PLAIN,)
    bench.judge = Busy(*red, trouble=trouble)
    run = bench.run()
    assert len(run.find_items(Status.FIXED)) == 2
    assert not run.checks.unverified
    assert len(bench.judge.runs) <= 7
    said = [gap for gap in find_gaps(run) if "flaky" in gap.what or "green when" in gap.what]
    assert bool(said) is (red != (1,))


def test_the_culprit_is_found_though_the_machine_is_busy_meanwhile(bench):
    bench.checks = (PLAIN,)
    bench.judge = Busy(5, 7, 8, passes=without("better"))
    run = bench.run()
    assert {item.lead.rule: item.status for item in run.items.values()} == {
        "bad": Status.FIXED,
        "worse": Status.FILED,
    }


def test_fewer_tests_than_before_are_a_failure(bench):
    class Shrinks(Judge):
        async def run(self, check, tree, *, only=()):
            result = await super().run(check, tree)
            gone = "better" in tree.texts["a.py"]
            return replace(
                result,
                tests={
                    name: outcome
                    for name, outcome in result.tests.items()
                    if not (gone and name == "second")
                },
            )

    bench.judge = Shrinks(first=bool, second=bool)
    run = bench.run()
    assert {item.lead.rule: item.status for item in run.items.values()} == {
        "bad": Status.FIXED,
        "worse": Status.FILED,
    }


def test_of_two_fixes_that_pass_alone_and_fail_together_one_lands_and_the_other_is_named(bench):
    bench.judge = Judge(
        test=lambda tree: not ("good" in tree.texts["a.py"] and "better" in tree.texts["a.py"])
    )
    run = bench.run()
    assert sorted(item.status for item in run.items.values()) == [Status.FILED, Status.FIXED]
    (left,) = run.find_items(Status.FILED)
    rejected = [attempt for attempt in left.attempts if attempt.fact is Fact.REJECTED]
    assert rejected[0].why == "breaks test"
    assert "said the check" in rejected[0].evidence


def test_cancelled_while_the_checks_run_nothing_has_passed(bench):
    class Slow(Judge):
        async def run(self, check, tree, *, only=()):
            if len(self.runs):
                asyncio.get_running_loop().call_soon(task.cancel)
                await asyncio.sleep(60)
            return await super().run(check, tree)

    def remember(entry, run):
        nonlocal task
        task = asyncio.current_task()

    task = None
    bench.judge = Slow()
    run = bench.run(watch=Watch(remember))
    assert run.interrupted
    assert not run.landing.landed
    assert not run.find_items(Status.FIXED)
    assert run.work.verified is None
    assert len(run.checks.baselines) == 1, "what was measured stays"
    assert bench.audit(run.id).ok


def test_a_run_whose_checks_ran_out_of_time_is_never_called_passed(bench):
    class Endless(Judge):
        async def run(self, check, tree, *, only=()):
            if self.runs:
                await asyncio.sleep(60)
            return await super().run(check, tree)

    bench.judge = Endless()
    bench.tick = time.time
    bench.limits = replace(bench.limits, seconds=1.0)
    run = bench.run()
    assert run.halted
    assert run.ended == RunOutcome.INCOMPLETE
    assert not run.landing.landed
    assert bench.audit(run.id).ok


def test_no_verdict_at_all_is_not_green():
    assert not ev.Tried(batches=(1,), verdicts=(), complete=True).green
    assert not CheckResult(check="tests", exit_code=None, seconds=0).green
    assert not CheckResult(check="tests", exit_code=0, seconds=0, trouble="timed out").green


class Shaky(Judge):
    """Its test passes on the base, then as it is told, then passes."""

    def __init__(self, *outcomes) -> None:
        super().__init__()
        self.left = [True, *outcomes]

    async def run(self, check, tree, *, only=()):
        said = await super().run(check, tree, only=only)
        passed = self.left.pop(0) if self.left else True
        outcome = Outcome.PASSED if passed else Outcome.FAILED
        return replace(said, tests={"shaky": outcome}, exit_code=int(not passed))


def test_a_fix_that_only_a_flaky_test_speaks_against_is_tried_again(make_bench):
    first, then = Words("first", one=(MAJOR, "two")), Words("then", two=(MAJOR, "three"))
    bench = make_bench({"a.py": "one\n"}, first, then)
    flaky = (False, True, True)  # of all tests, of the red one alone, of all tests again
    accused = (False, False, True, False)  # the last three: alone, without the fix, and with it
    bench.judge = Shaky(*flaky, *accused)
    run = bench.run()
    assert run.checks.flaky == {"shaky"}
    assert [item.status for item in run.items.values()] == [Status.FIXED] * 2
    second = list(run.items.values())[1]
    refused = [attempt for attempt in second.attempts if attempt.fact is Fact.REJECTED]
    assert [attempt.why for attempt in refused] == [
        "not judged: shaky: red at one time and green at another"
    ]
