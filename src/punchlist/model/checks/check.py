"""Checks of the project, and verdicts that compare their results with the baseline."""

from collections import Counter
from collections.abc import Collection
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.changed_lines import ExecutedLines
from punchlist.model.checks.excerpt import excerpt
from punchlist.model.checks.hook_files import HookFiles
from punchlist.model.checks.loads import Loads


class CheckKind(StrEnum):
    """How much a runner tells: PYTEST and UNITTEST per test, JUNIT per test in a file it writes,
    PLAIN only an exit code. GATE and DOCTEST prove nothing, but what is green on the base must
    stay green: GATE is a linter or formatter, DOCTEST runs the examples of the code itself.
    """

    PYTEST = "pytest"
    UNITTEST = "unittest"
    JUNIT = "junit"
    PLAIN = "plain"
    GATE = "gate"
    DOCTEST = "doctest"


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command from trusted settings, or detected and then allowed by a person."""

    name: str
    command: tuple[str, ...]
    kind: CheckKind = CheckKind.PLAIN
    timeout: float = 1800
    junit: str = ""
    """For JUNIT: the file the runner writes, relative to the root."""
    origin: str = ""
    """Where the command comes from: a settings file, or what it was detected by."""
    python_from: str = ""
    """Where the Python was found that it was detected with."""
    lacks: tuple[str, ...] = ()
    """Packages that the project's files name and that Python does not have."""
    files: tuple[str, ...] = ()
    """The project's files that define it; fixers may not change them."""
    given: HookFiles | None = None
    """For a GATE that is a hook of pre-commit: the tracked files that come after the command."""
    repair: tuple[str, ...] = ()
    """For a GATE that is a formatter: the command that formats the files."""

    @property
    def is_gate(self) -> bool:
        return self.kind in (CheckKind.GATE, CheckKind.DOCTEST)


class FoundChecks(Struct, frozen=True):
    """Checks in the order in which they run, and notes on what was left out."""

    checks: tuple[Check, ...] = ()
    left_out: tuple[str, ...] = ()


class TestOutcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class CheckResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of one check. `tests` has the outcome of each test where the runner tells; `trouble`
    is why not to trust it.
    """

    check: str
    exit_code: int | None
    seconds: float
    tests: dict[str, TestOutcome] = {}
    output: str = ""
    trouble: str = ""
    unloaded: tuple[str, ...] = ()
    """Those of `tests` that are no tests: files or modules that could not be imported."""
    failures: dict[str, str] = {}
    """How failing tests failed, in the runner's words, where it tells."""
    loads: Loads = Loads()
    """Known for whole runs only."""

    @property
    def green(self) -> bool:
        return self.exit_code == 0 and not self.trouble

    def find_tests(self, outcome: TestOutcome) -> list[str]:
        """Return the tests with this outcome, sorted."""
        return sorted(test for test, found in self.tests.items() if found is outcome)


class CoveredRun(Struct, frozen=True):
    """A run under coverage.py; no result if that could not be started."""

    lines: ExecutedLines
    result: CheckResult | None = None


class CheckVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A check's result compared with its baseline."""

    check: str
    passed: bool
    why: str
    failing: tuple[str, ...] = ()
    """Tests that fail now and did not before."""
    flaky: tuple[str, ...] = ()
    varying: tuple[str, ...] = ()
    """Test functions whose cases had other ids when the same tree was tested again."""
    collected: int = 0
    seconds: float = 0
    runs: int = 1
    trouble: str = ""
    """Why the run itself cannot be believed, whatever it says of single tests."""
    evidence: str = ""


def compare_results(
    now: CheckResult,
    before: CheckResult,
    *,
    only: frozenset[str] = frozenset(),
    ignored: frozenset[str] = frozenset(),
    varying: Collection[str] = (),
) -> CheckVerdict:
    """Compare a result with the baseline: newly failing, missing or newly skipped tests fail.

    `only`: the run was limited to the files of these tests, and only these are judged.
    `ignored`: tests that fail without any fix, too. `varying`: functions whose cases have other
    ids in each run: each is one test.
    """
    fewer = _find_fewer(now, before, varying)
    if varying:
        now, before = join_cases(now, varying), join_cases(before, varying)
        only = frozenset(_find_function(test, varying) for test in only)

    def is_judged(test: str) -> bool:
        return test not in ignored and (not only or test in only)

    old_failures = set(before.find_tests(TestOutcome.FAILED))
    failing = [
        test
        for test in now.find_tests(TestOutcome.FAILED)
        if test not in old_failures and is_judged(test)
    ]
    expected = [test for test in before.find_tests(TestOutcome.PASSED) if is_judged(test)]
    missing = [test for test in expected if test not in now.tests or test in fewer]
    skipped = [test for test in expected if now.tests.get(test) is TestOutcome.SKIPPED]
    why = now.trouble or _explain_losses(failing, missing, skipped)
    # The exit code of a limited run speaks of tests that are not judged.
    if not why and not only:
        why = _explain_exit(now, before)
    return CheckVerdict(
        check=now.check,
        passed=not why,
        why=why or _pass_reason(now, before),
        failing=() if now.trouble else tuple(failing + missing + skipped),
        trouble=now.trouble,
        collected=len(now.tests),
        seconds=now.seconds,
        evidence=excerpt(now.output, failing + missing + skipped) if why else "",
    )


def find_varying(one: CheckResult, other: CheckResult) -> frozenset[str]:
    """Return the functions of which each of two runs of the same tree has cases that the other
    has not.
    """
    gone, new = (
        {test.partition("[")[0] for test in tests if "[" in test}
        for tests in (one.tests.keys() - other.tests.keys(), other.tests.keys() - one.tests.keys())
    )
    return frozenset(gone & new)


def join_cases(result: CheckResult, varying: Collection[str]) -> CheckResult:
    """Return the result with each of these functions as one test: red if a case is red, skipped if
    all are.
    """
    tests: dict[str, TestOutcome] = {}
    order = (TestOutcome.SKIPPED, TestOutcome.PASSED, TestOutcome.FAILED)
    for test, outcome in result.tests.items():
        name = _find_function(test, varying)
        tests[name] = max(tests.get(name, outcome), outcome, key=order.index)
    return replace(result, tests=tests)


def _find_fewer(now: CheckResult, before: CheckResult, varying: Collection[str]) -> set[str]:
    """Return the functions that have fewer cases now."""
    was, here = (
        Counter(_find_function(test, varying) for test in each.tests) for each in (before, now)
    )
    return {name for name in varying if here[name] < was[name]}


def _find_function(test: str, varying: Collection[str]) -> str:
    """Return the function of a case if its ids vary, else the test."""
    name = test.partition("[")[0]
    return name if name in varying else test


def _explain_losses(failing: list[str], missing: list[str], skipped: list[str]) -> str:
    """Return what got worse test by test, or ""."""
    if failing:
        return f"{len(failing)} newly failing: {_join_few(failing)}"
    if missing:
        return f"{len(missing)} tests of the baseline did not run: {_join_few(missing)}"
    if skipped:
        return f"{len(skipped)} tests that passed before were skipped: {_join_few(skipped)}"
    return ""


def _explain_exit(now: CheckResult, before: CheckResult) -> str:
    """Return why the exit code means a failure, or ""."""
    if now.exit_code == 0 or (now.tests and now.exit_code == before.exit_code):
        return ""
    if now.exit_code == 1 and TestOutcome.FAILED in now.tests.values():
        return ""  # the failures behind this exit code are all known
    if not now.tests and before.exit_code == now.exit_code:
        return f"exits {now.exit_code}, as it did before the fix, and tells nothing per test"
    return f"exit code {now.exit_code}, was {before.exit_code}"


def _pass_reason(now: CheckResult, before: CheckResult) -> str:
    if not now.tests:
        return "exit code 0"
    outcomes = [now.tests.get(test) for test in before.find_tests(TestOutcome.FAILED)]
    still, cured = outcomes.count(TestOutcome.FAILED), outcomes.count(TestOutcome.PASSED)
    known = f", {still} failing as before" if still else ""
    known += f", {cured} passing that failed before" if cured else ""
    return f"{len(now.tests)} tests{known}"


def _join_few(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
