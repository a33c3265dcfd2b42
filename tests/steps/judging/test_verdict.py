"""A verdict holds what a check says now against what it said of the base."""

import pytest

from punchlist.model.checks import check
from punchlist.model.checks.check import CheckResult, compare_results
from punchlist.steps.judging.trial import merge_verdicts

P, F, S = check.TestOutcome.PASSED, check.TestOutcome.FAILED, check.TestOutcome.SKIPPED


def result(tests=None, code=0, trouble="") -> CheckResult:
    return CheckResult(
        check="tests", exit_code=code, seconds=1, tests=tests or {}, trouble=trouble, output="said"
    )


BASE = result({"a": P, "b": P, "old": F}, code=1)


def test_a_test_that_failed_before_is_not_held_against_the_fix():
    assert compare_results(result({"a": P, "b": P, "old": F}, code=1), BASE).passed


def test_what_failed_before_is_said_to_fail_only_where_it_was_seen_to():
    assert (
        compare_results(result({"a": P, "b": P, "old": F}, code=1), BASE).why
        == "3 tests, 1 failing as before"
    )
    assert (
        compare_results(result({"a": P, "b": P, "old": P}), BASE).why
        == "3 tests, 1 passing that failed before"
    )
    assert compare_results(result({"a": P, "b": P}), BASE).why == "2 tests"


def test_a_newly_failing_test_is():
    said = compare_results(result({"a": P, "b": F, "old": F}, code=1), BASE)
    assert not said.passed
    assert said.failing == ("b",)
    assert said.evidence == "said"


def test_a_new_test_that_fails_is_held_against_the_fix_too():
    assert not compare_results(result({"a": P, "b": P, "old": F, "new": F}, code=1), BASE).passed


@pytest.mark.parametrize("now", [{"a": P, "old": F}, {"a": P, "b": S, "old": F}])
def test_fewer_tests_or_skipped_ones_are_a_failure(now):
    said = compare_results(result(now, code=1), BASE)
    assert not said.passed
    assert said.failing == ("b",)


def test_trouble_is_a_failure_whatever_the_tests_say():
    said = compare_results(
        result({"a": P, "b": P, "old": F}, code=1, trouble="timed out after 5 s"), BASE
    )
    assert (said.passed, said.why) == (False, "timed out after 5 s")


def test_an_exit_code_without_a_failing_test_behind_it_is_a_failure():
    assert not compare_results(result({"a": P, "b": P}, code=3), result({"a": P, "b": P})).passed


def test_without_tests_only_exit_code_zero_passes():
    assert compare_results(result(), result()).passed
    assert not compare_results(result(code=1), result()).passed
    assert not compare_results(result(code=1), result(code=1)).passed, (
        "red before and after proves nothing"
    )


def test_a_limited_run_is_judged_by_the_tests_it_was_limited_to():
    now = result({"a": P, "old": F}, code=1)
    assert compare_results(now, BASE, only=frozenset({"a"})).passed
    assert not compare_results(now, BASE, only=frozenset({"b"})).passed, "it did not run"


def test_ignored_tests_fail_for_nobody():
    assert compare_results(
        result({"a": P, "b": F, "old": F}, code=1), BASE, ignored=frozenset({"b"})
    ).passed


def test_what_fails_in_every_whole_run_is_held_against_the_fix_and_what_fails_in_some_is_flaky():
    red = [
        compare_results(result({"a": P, "b": F, "old": F}, code=1), BASE),
        compare_results(result({"a": F, "b": F, "old": F}, code=1), BASE),
    ]
    said = merge_verdicts(red)
    assert (said.passed, said.failing, said.flaky) == (False, ("b",), ("a",))


def test_only_a_whole_run_seen_green_passes():
    red_a, red_b = (
        compare_results(result({**BASE.tests, name: F}, code=1), BASE) for name in ("a", "b")
    )
    green = compare_results(BASE, BASE)
    assert not merge_verdicts([red_a, red_b]).passed, "no run was green"
    said = merge_verdicts([red_a, green])
    assert (said.passed, said.flaky, said.runs) == (True, ("a",), 2)
