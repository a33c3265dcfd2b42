"""Tests that a file of the judge's, once it is opened for a fix, has not, or has not green, without
any fix either.
"""

from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckResult, TestOutcome, Verdict
from punchlist.model.checks.group_testing import Trial
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import baseline, judge_view

_LOOKS = 2
"""What fails is looked at again before it is excused; a test that is gone, or skipped, is so every
time.
"""


class Excused(Struct, frozen=True):
    """Tests that are not held against a fix, because the change under review renamed, skipped or
    broke them itself.
    """

    tests: frozenset[str] = frozenset()
    runs: int = 0

    def said(self, verdict: Verdict) -> Verdict:
        """The verdict, with what did not count, and with the runs it took to know that."""
        why = (
            f"{verdict.why}; {len(self.tests)} that the change itself renamed, skipped or broke do"
            " not count"
            if self.tests
            else ""
        )
        return replace(verdict, why=why or verdict.why, runs=verdict.runs + self.runs)


async def excused(
    check: Check, trial: Trial, opened: AbstractSet[str], run: Run, world: World
) -> Excused:
    """Seen, not guessed: the check runs over the opened files as the change has them, without the
    fixes.
    """
    changed = await _changed(opened, run, world)
    before = baseline(check.name, world).tests if changed else {}
    suspects = sorted(
        test for test in before if _of_any(test, changed) and (not trial.only or test in trial.only)
    )
    looks: list[CheckResult] = []
    if suspects:
        async with world.trees.at(run.landing.tip, pristine=judge_view(world, changed)) as tree:
            while not looks or (len(looks) < _LOOKS and _failed(looks[-1])):
                looks.append(await world.checks.run(check, tree, only=suspects))
    if not looks or any(look.trouble for look in looks):
        return Excused(runs=len(looks))
    first = looks[0].tests
    absent = {
        test for test in suspects if first.get(test, TestOutcome.SKIPPED) is TestOutcome.SKIPPED
    }
    broken = frozenset(
        test for test in frozenset.intersection(*map(_failed, looks)) if _of_any(test, changed)
    )
    return Excused(broken.union(absent), len(looks))


async def _changed(opened: AbstractSet[str], run: Run, world: World) -> frozenset[str]:
    """The opened files that are not the base's: a fix to them brings along what the change made of
    them.
    """
    if not opened or run.landing.tip == world.change.base:
        return frozenset()
    async with (
        world.trees.at(run.landing.tip, pristine=judge_view(world)) as judges,
        world.trees.at(run.landing.tip) as own,
    ):
        return frozenset(path for path in opened if judges.text(path) != own.text(path))


def _failed(look: CheckResult) -> frozenset[str]:
    return frozenset(test for test, outcome in look.tests.items() if outcome is TestOutcome.FAILED)


def _of_any(test: str, paths: AbstractSet[str]) -> bool:
    return any(is_of(test, path) for path in paths)


def is_of(test: str, path: str) -> bool:
    """Whether a test is in a file: `path::test`, or dotted, from any of the
    folders above the file.
    """
    if "::" in test:
        return test.partition("::")[0] == path
    parts = path.removesuffix(".py").split("/")
    return any(test.startswith(".".join(parts[start:]) + ".") for start in range(len(parts)))
