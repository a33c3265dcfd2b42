"""Cases of a test function whose ids change from run to run."""

from punchlist.model.checks.check import CheckResult, compare_results, find_varying
from punchlist.model.checks.check import TestOutcome as Outcome

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


def result(**tests) -> CheckResult:
    named = {name.replace("_of_", "["): outcome for name, outcome in tests.items()}
    tests = {f"{name}]" if "[" in name else name: outcome for name, outcome in named.items()}
    red = FAILED in tests.values()
    return CheckResult(check="tests", exit_code=int(red), seconds=0, tests=tests)


BEFORE = result(parse_of_1=PASSED, parse_of_2=PASSED, other=PASSED)


def test_ids_that_differ_between_runs_of_one_tree_are_one_test():
    one = result(parse_of_3=PASSED, parse_of_1=PASSED, other=PASSED)
    two = result(parse_of_4=PASSED, parse_of_1=PASSED, other=PASSED)
    varying = find_varying(one, two)
    assert varying == {"parse"}
    assert not compare_results(one, BEFORE).passed
    assert compare_results(one, BEFORE, varying=varying).passed


def test_a_case_that_fails_or_is_gone_is_still_seen():
    red = result(parse_of_3=FAILED, parse_of_4=PASSED, other=PASSED)
    assert compare_results(red, BEFORE, varying={"parse"}).failing == ("parse",)
    fewer = result(parse_of_3=PASSED, other=PASSED)
    assert compare_results(fewer, BEFORE, varying={"parse"}).failing == ("parse",)


def test_ids_that_a_fix_changes_for_good_do_not_vary():
    fixed = result(parse_of_7=PASSED, parse_of_8=PASSED, other=PASSED)
    assert find_varying(fixed, fixed) == frozenset()
    assert not compare_results(fixed, BEFORE, varying=find_varying(fixed, fixed)).passed


def test_cases_that_are_only_gone_do_not_vary():
    assert find_varying(BEFORE, result(parse_of_1=PASSED, other=PASSED)) == frozenset()
