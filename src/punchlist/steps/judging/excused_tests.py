"""Tests of opened protected files that are missing or red without any fix, too."""

from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckResult, CheckVerdict, TestOutcome
from punchlist.model.checks.group_testing import GroupTrial
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import judge_view, load_baseline

_LOOKS = 2
"""What fails is looked at again before it is excused; a test that is gone, or skipped, is so every
time.
"""


class ExcusedTests(Struct, frozen=True):
    """Tests not held against a fix, because the change under review renamed,
    skipped or broke them.
    """

    tests: frozenset[str] = frozenset()
    runs: int = 0

    def amend_verdict(self, verdict: CheckVerdict) -> CheckVerdict:
        """Return the verdict with the number of excused tests and the extra runs."""
        why = (
            f"{verdict.why}; {len(self.tests)} that the change itself renamed, skipped or broke do"
            " not count"
            if self.tests
            else ""
        )
        return replace(verdict, why=why or verdict.why, runs=verdict.runs + self.runs)


async def find_excused(
    check: Check, trial: GroupTrial, opened: AbstractSet[str], run: Run, world: World
) -> ExcusedTests:
    """Run the check on the opened files as the change has them, without the fixes."""
    changed = await _find_changed(opened, run, world)
    before = load_baseline(check.name, world).tests if changed else {}
    suspects = sorted(
        test
        for test in before
        if _is_in_any(test, changed) and (not trial.only or test in trial.only)
    )
    looks: list[CheckResult] = []
    if suspects:
        async with world.trees.open_tree(
            run.landing.tip, pristine=judge_view(world, changed)
        ) as tree:
            while not looks or (len(looks) < _LOOKS and _failed_tests(looks[-1])):
                looks.append(await world.checks.run(check, tree, only=suspects))
    if not looks or any(look.trouble for look in looks):
        return ExcusedTests(runs=len(looks))
    first = looks[0].tests
    absent = {
        test for test in suspects if first.get(test, TestOutcome.SKIPPED) is TestOutcome.SKIPPED
    }
    broken = frozenset(
        test
        for test in frozenset.intersection(*map(_failed_tests, looks))
        if _is_in_any(test, changed)
    )
    return ExcusedTests(broken.union(absent), len(looks))


async def _find_changed(opened: AbstractSet[str], run: Run, world: World) -> frozenset[str]:
    """Return the opened files that differ from the base."""
    if not opened or run.landing.tip == world.change.base:
        return frozenset()
    async with (
        world.trees.open_tree(run.landing.tip, pristine=judge_view(world)) as judges,
        world.trees.open_tree(run.landing.tip) as own,
    ):
        return frozenset(path for path in opened if judges.text(path) != own.text(path))


def _failed_tests(look: CheckResult) -> frozenset[str]:
    return frozenset(test for test, outcome in look.tests.items() if outcome is TestOutcome.FAILED)


def _is_in_any(test: str, paths: AbstractSet[str]) -> bool:
    return any(is_in_file(test, path) for path in paths)


def is_in_file(test: str, path: str) -> bool:
    """Return whether a test id (`path::test`, or dotted from any parent folder) is in the file."""
    if "::" in test:
        return test.partition("::")[0] == path
    parts = path.removesuffix(".py").split("/")
    return any(test.startswith(".".join(parts[start:]) + ".") for start in range(len(parts)))
