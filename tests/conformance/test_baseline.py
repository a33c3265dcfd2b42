"""The baseline excuses old failures only: it is measured with care, kept only while it holds, and speaks for its own languages."""

import pytest
from msgspec.structs import replace
from scripted import CHECK, MAJOR, Judge, Words

from punchlist.model.checks.changed_lines import ExecutedLines
from punchlist.model.checks.check import CheckResult
from punchlist.model.checks.check import TestOutcome as Outcome
from punchlist.model.finding.finding import Safety
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.steps.judging.baseline import merge_results
from punchlist.views.summary import find_gaps

PASSED, FAILED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED


class Moody(Judge):
    """A judge whose test `moody` fails in the runs of these numbers, and, once a fix is in, always."""

    def __init__(self, *bad: int, alone: Outcome | None = None) -> None:
        super().__init__(steady=bool, moody=lambda tree: "good" not in tree.texts["a.py"])
        self.bad, self.alone, self.limits = bad, alone, []

    async def run(self, check, tree, *, only=()):
        self.limits.append(tuple(only))
        result = await super().run(check, tree)
        tests = dict(result.tests)
        if len(self.runs) in self.bad:
            tests["moody"] = FAILED
        if only and self.alone is not None:
            tests = {"moody": self.alone}
        return replace(result, tests=tests, exit_code=int(FAILED in tests.values()))


@pytest.fixture
def bench(make_bench):
    return make_bench({"a.py": "bad\n"}, Words(bad=(MAJOR, "good")))


def result(*, exit_code=0, trouble="", **tests) -> CheckResult:
    return CheckResult(check="tests", exit_code=exit_code, seconds=0, tests=tests, trouble=trouble)


def test_one_unlucky_failure_on_the_base_does_not_excuse_a_fix_that_breaks_the_test(bench):
    bench.judge = Moody(1)
    run = bench.run()
    assert (run.checks.baselines["tests"].passed, run.checks.baselines["tests"].failed) == (2, 0)
    assert not run.landing.landed


def test_a_test_that_passes_alone_is_believed_only_in_a_whole_run(bench):
    bench.judge = Moody(1, alone=PASSED)
    run = bench.run()
    assert bench.judge.limits[:3] == [(), ("moody",), ()]
    assert run.checks.baselines["tests"].failed == 0
    assert not run.landing.landed


def test_a_test_that_passes_only_alone_counts_as_failing(bench):
    bench.judge = Moody(1, 3, 5, alone=PASSED)
    run = bench.run()
    assert bench.judge.limits[:5] == [(), ("moody",), (), ("moody",), ()]
    assert run.checks.baselines["tests"].failed == 1
    assert run.landing.landed, "what fails without the fix is not held against it"


def test_a_test_that_always_fails_costs_no_whole_run_more(bench):
    bench.judge = Moody(1, 2, 3, alone=FAILED)
    run = bench.run()
    assert bench.judge.limits[:3] == [(), ("moody",), ("moody",)]
    assert run.checks.baselines["tests"].usage.checks == 4, "three runs and the sentinel"
    assert run.checks.baselines["tests"].failed == 1


def test_a_failure_on_the_base_is_not_remembered(bench):
    bench.judge = Moody(1, 2, 3, alone=FAILED)
    assert bench.run().checks.baselines["tests"].failed == 1
    bench.judge = Moody()
    again = bench.run()
    assert not again.checks.baselines["tests"].cached
    assert again.checks.baselines["tests"].failed == 0
    assert not again.landing.landed, "the test passes now, so the fix that breaks it is to blame"


def test_of_a_red_base_only_the_tests_that_failed_are_run_again(bench):
    bench.judge = Moody(1, 2, 3, alone=FAILED)
    first = bench.run().checks.baselines["tests"]
    bench.judge = Moody(1, 2, 3, alone=FAILED)
    again = bench.run().checks.baselines["tests"]
    assert bench.judge.limits[0] == ("moody",)
    assert again.cached
    assert again.usage.checks == 1
    assert (again.passed, again.failed, again.judges) == (first.passed, 1, first.judges)


def test_a_red_base_whose_failing_tests_cannot_be_run_again_is_measured_anew(bench):
    class Stuck(Moody):
        async def run(self, check, tree, *, only=()):
            seen = await super().run(check, tree, only=only)
            return replace(seen, trouble="it hangs") if only and len(self.limits) == 1 else seen

    bench.judge = Moody(1, 2, 3, alone=FAILED)
    bench.run()
    bench.judge = Stuck(2, 3, 4, alone=FAILED)
    again = bench.run().checks.baselines["tests"]
    assert bench.judge.limits[:2] == [("moody",), ()]
    assert not again.cached
    assert again.failed == 1


class NonePasses(Judge):
    """A judge none of whose tests pass: they fail, are skipped, or cannot be imported."""

    def __init__(self, *unloaded: str, **outcomes: Outcome) -> None:
        super().__init__()
        self.outcomes, self.unloaded = outcomes, unloaded

    async def run(self, check, tree, *, only=()):
        said = await super().run(check, tree)
        code = int(FAILED in self.outcomes.values())
        return replace(said, tests=self.outcomes, exit_code=code, unloaded=self.unloaded)


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (NonePasses(a=FAILED, b=FAILED), "2 failed"),
        (NonePasses(a=SKIPPED), "1 skipped"),
        (NonePasses("a", a=FAILED, b=SKIPPED), "1 could not be loaded, 1 skipped"),
    ],
)
def test_a_check_in_which_no_test_passed_judges_nothing(make_bench, judge, why):
    unsafe = Words("unsafe", Safety.UNSAFE, worse=(MAJOR, "better"))
    bench = make_bench({"a.py": "bad\nworse\n"}, Words(bad=(MAJOR, "good")), unsafe)
    bench.judge = judge
    run = bench.run()
    assert run.checks.baselines["tests"].unusable == f"no test passed on the base ({why})"
    assert {
        item.lead.rule: [proof.kind for proof in item.proofs] for item in run.items.values()
    } == {"bad": [ProofClass.RECHECKED], "worse": []}
    assert run.ended == "incomplete"
    first = next(find_gaps(run))
    assert first.what == "tests could not judge"
    assert "To repair it: see what `tests` says in your checkout" in first.why


def test_files_that_cannot_be_imported_are_named_and_are_no_tests_that_failed(bench):
    bench.judge = NonePasses("broken", "worn", broken=FAILED, worn=FAILED, a=PASSED, b=FAILED)
    bench.judge.lines = ExecutedLines({"a.py": (1,)})
    run = bench.run()
    baseline = run.checks.baselines["tests"]
    assert (baseline.passed, baseline.failed, baseline.unusable) == (1, 1, "")
    gap = next(find_gaps(run))
    assert gap.what == "tests could not load 2 test files"
    assert gap.why.startswith("broken, worn. To repair it: ")
    (item,) = run.find_items(Status.FIXED)
    failed = "1 tests as on the base, where 1 failed already; 2 test files could not be loaded"
    assert item.proofs[-1].said == f"tests: {failed}, executing 1 of its 1 changed line"


class LacksPackage(NonePasses):
    async def run(self, check, tree, *, only=()):
        said = await super().run(check, tree)
        line = "\x1b[1m\x1b[31mE   ModuleNotFoundError: No module named 'text_folding'\x1b[0m\n"
        return replace(said, output=f"{line}b: assert 1 == 2\n")


def test_tests_that_fail_for_want_of_a_package_are_said_with_the_remedy(bench):
    bench.judge = LacksPackage(a=PASSED, b=FAILED)
    run = bench.run()
    gap = next(find_gaps(run))
    assert gap.what == "A package is missing for tests, and 1 test failed before any fix"
    assert gap.why.startswith("ModuleNotFoundError: No module named 'text_folding'. To repair it: ")
    (item,) = run.find_items(Status.FIXED)
    assert item.proofs[-1].kind is ProofClass.CHECKED, "the tests that pass judge"


def test_where_a_package_is_missing_that_the_project_s_files_name_nothing_is_checked(bench):
    bench.judge = LacksPackage(a=PASSED, b=FAILED)
    bench.checks = (replace(CHECK, lacks=("text-folding",), python_from="on PATH"),)
    run = bench.run()
    gap = next(find_gaps(run))
    assert gap.what == "tests could not judge"
    lacks = "its Python lacks text-folding, which the project's files name"
    assert gap.why.startswith(f"{lacks}, and 1 test failed on the base: ModuleNotFoundError: ")
    assert "To repair it: `punchlist setup`" in gap.why
    (item,) = run.find_items(Status.FIXED)
    assert [proof.kind for proof in item.proofs] == [ProofClass.RECHECKED]


def test_on_other_ground_the_base_is_measured_again(bench):
    bench.run()
    assert bench.run().checks.baselines["tests"].cached
    bench.judge.stands_on = "a new interpreter"
    assert not bench.run().checks.baselines["tests"].cached


class HalfLoaded(Judge):
    """A file of tests cannot be imported; the others pass."""

    async def run(self, check, tree, *, only=()):
        said = await super().run(check, tree, only=only)
        tests = {"always": PASSED, "tests/b.py": FAILED}
        return replace(said, tests=tests, exit_code=1, unloaded=("tests/b.py",))


def test_a_base_with_a_file_that_did_not_load_is_remembered(bench):
    bench.judge = HalfLoaded()
    first, again = bench.run().checks.baselines["tests"], bench.run().checks.baselines["tests"]
    assert (first.cached, again.cached) == (False, True)
    assert again.usage.checks == 1, "the file that did not load is tried again"
    assert again.unloaded == first.unloaded == ("tests/b.py",)


def test_what_is_remembered_says_what_it_judges(bench):
    first, again = bench.run().checks.baselines["tests"], bench.run().checks.baselines["tests"]
    assert again.cached
    assert (first.judges, again.judges) == ((".py",), (".py",))


class OnlyScripts(Judge):
    """Notices failures in JavaScript alone."""

    asked: tuple = ()

    async def run_sentinel(self, check, tree, kinds):
        self.asked += (tuple(kinds),)
        return "" if ".js" in kinds else "still green"


def test_a_check_is_tried_with_one_language_after_the_other_and_vouches_for_what_it_noticed(
    make_bench,
):
    bench = make_bench({"a.py": "bad\n", "a.js": "bad\n"}, Words(bad=(MAJOR, "good")))
    bench.judge = OnlyScripts()
    run = bench.run()
    baseline = run.checks.baselines["tests"]
    assert bench.judge.asked == ((".py",), (".js",))
    assert (baseline.unusable, baseline.judges) == ("", (".js",))
    assert baseline.sentinel == "a planted failure was seen in .js files only"
    proven = {
        item.lead.spot.path: {proof.kind for proof in item.proofs}
        for item in run.find_items(Status.FIXED)
    }
    assert proven == {
        "a.py": {ProofClass.RECHECKED},
        "a.js": {ProofClass.RECHECKED, ProofClass.CHECKED},
    }


def test_a_proof_names_the_checks_that_judged_it_and_no_others(make_bench):
    class Specialists(Judge):
        async def run_sentinel(self, check, tree, kinds):
            return "" if check.name in kinds else "still green"

    bench = make_bench({"a.py": "bad\n", "a.js": "bad\n"}, Words(bad=(MAJOR, "good")))
    bench.checks = (replace(CHECK, name=".py"), replace(CHECK, name=".js"))
    bench.judge = Specialists()
    run = bench.run()
    said = {item.lead.spot.path: item.proofs[-1].said for item in run.find_items(Status.FIXED)}
    assert said == {"a.py": ".py: 1 tests as on the base", "a.js": ".js: 1 tests as on the base"}


def test_a_check_that_notices_nothing_in_any_language_is_unusable(make_bench):
    bench = make_bench({"a.py": "bad\n", "a.go": "bad\n"}, Words(bad=(MAJOR, "good")))
    bench.judge = OnlyScripts()
    baseline = bench.run().checks.baselines["tests"]
    assert baseline.unusable == ".py: still green; .go: still green"
    assert (baseline.judges, baseline.sentinel) == ((), "")


@pytest.mark.parametrize(
    ("one", "other", "tests", "exit_code"),
    [
        (
            result(exit_code=1, a=FAILED, b=PASSED),
            result(a=PASSED, b=PASSED),
            {"a": PASSED, "b": PASSED},
            0,
        ),
        (
            result(exit_code=1, a=FAILED, b=PASSED),
            result(exit_code=1, a=PASSED, b=FAILED),
            {"a": PASSED, "b": PASSED},
            1,
        ),
        (
            result(exit_code=1, a=FAILED),
            result(exit_code=1, a=FAILED, c=PASSED),
            {"a": FAILED, "c": PASSED},
            1,
        ),
        (
            result(exit_code=1, a=FAILED, b=PASSED),
            result(a=SKIPPED, b=SKIPPED),
            {"a": SKIPPED, "b": PASSED},
            0,
        ),
        (
            result(exit_code=1, a=FAILED),
            result(a=PASSED, trouble="it ended early"),
            {"a": FAILED},
            1,
        ),
        (result(exit_code=2, file=FAILED), result(a=PASSED), {"a": PASSED}, 0),
    ],
    ids=["then green", "by turns", "still red", "skipped", "not believed", "not imported at first"],
)
def test_of_two_whole_runs_the_better_word_on_each_test_counts(one, other, tests, exit_code):
    both = merge_results(one, other)
    assert (both.tests, both.exit_code) == (tests, exit_code)
