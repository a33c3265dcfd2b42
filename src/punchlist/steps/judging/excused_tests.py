"""Tests of opened protected files that are missing or red without any fix, too."""

import re
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckResult, CheckVerdict, TestOutcome
from punchlist.model.checks.group_testing import GroupTrial
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import failed_tests, judge_view, load_baseline

_LOOKS = 2
"""Failing tests run again before they are excused; missing or skipped ones need not."""


class ExcusedTests(Struct, frozen=True):
    """Tests that a fix need not pass: the change under review renamed, skipped or broke them."""

    tests: frozenset[str] = frozenset()
    runs: int = 0

    def amend_verdict(self, verdict: CheckVerdict) -> CheckVerdict:
        """Return the verdict with the number of excused tests and the extra runs."""
        why = verdict.why
        if self.tests:
            excused = f"{len(self.tests)} that the change itself renamed, skipped or broke"
            why = f"{why}; {excused} do not count"
        return replace(verdict, why=why, runs=verdict.runs + self.runs)


async def find_excused(
    check: Check, trial: GroupTrial, opened: AbstractSet[str], run: Run, world: World
) -> ExcusedTests:
    """Run the check on the opened files as the change has them, without the fixes."""
    changed = await _find_changed(opened, run, world)
    before = load_baseline(check, world).tests if changed else {}
    judged = [test for test in before if not trial.only or test in trial.only]
    suspects = sorted(test for test in judged if _is_in_any(test, changed))
    if not suspects:
        return ExcusedTests()
    looks: list[CheckResult] = []
    view = judge_view(world, changed)
    async with world.trees.open_tree(run.landing.tip, pristine=view) as tree:
        while not looks or (len(looks) < _LOOKS and failed_tests(looks[-1])):
            looks.append(await world.checks.run(check, tree, only=suspects))
    if any(look.trouble for look in looks):
        return ExcusedTests(runs=len(looks))
    first, skipped = looks[0].tests, TestOutcome.SKIPPED
    absent = {test for test in suspects if first.get(test, skipped) is skipped}
    failed = frozenset.intersection(*map(failed_tests, looks))
    broken = frozenset(test for test in failed if _is_in_any(test, changed))
    return ExcusedTests(broken | absent, len(looks))


async def _find_changed(opened: AbstractSet[str], run: Run, world: World) -> frozenset[str]:
    """Return the opened files that differ from the base."""
    if not opened or run.landing.tip == world.change.base:
        return frozenset()
    async with (
        world.trees.open_tree(run.landing.tip, pristine=judge_view(world)) as judges,
        world.trees.open_tree(run.landing.tip) as own,
    ):
        return frozenset(path for path in opened if judges.text(path) != own.text(path))


def _is_in_any(test: str, paths: AbstractSet[str]) -> bool:
    return any(is_in_file(test, path) for path in paths)


def is_in_file(test: str, path: str) -> bool:
    """Return whether a test id (`path::test`, or dotted from any parent folder) is in the file."""
    if "::" in test:
        return test.partition("::")[0] == path
    parts = path.removesuffix(".py").split("/")
    return any(test.startswith(".".join(parts[start:]) + ".") for start in range(len(parts)))


def shows_path(failure: str, path: str) -> bool:
    """Return whether a failure's text, such as a traceback, names the file."""
    return re.search(rf"(?<!\w){re.escape(path)}\b", failure) is not None
