"""One run of the checks over a set of patches, with protected files of the base."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import (
    Check,
    CheckResult,
    CheckVerdict,
    compare_results,
    find_varying,
)
from punchlist.model.checks.group_testing import GroupTrial
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Tried
from punchlist.model.ledger.run import Run
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import judge_view, load_baseline, usable_checks
from punchlist.steps.judging.excused_tests import find_excused

RERUNS = 2
_TROUBLED = 2
"""Runs of which the last one is believed if it only had trouble, such as a time-out."""


class Try(Struct, frozen=True):
    trial: GroupTrial


async def run_trial(task: Try, run: Run, world: World) -> Tried:
    trial = task.trial
    began = world.clock()
    patches = {number: run.work.patches[number] for number in trial.batches}
    # Protected files that a fix edits are not replaced by the base's, which would hide the fix.
    opened = {
        path
        for number, patch in patches.items()
        if run.work.batches[number].protected
        for path in patch.paths
    }
    excuses = [
        (check, await find_excused(check, trial, opened, run, world))
        for check in usable_checks(run)
    ]
    verdicts: list[CheckVerdict] = []
    async with world.trees.open_tree(
        run.landing.tip, patches.values(), pristine=judge_view(world, opened)
    ) as tree:
        for check, excuse in excuses:
            limited = replace(trial, ignored=(*trial.ignored, *sorted(excuse.tests)))
            known = run.checks.varying
            verdict = await _run_check(check, tree, limited, world, varying=known)
            verdicts.append(excuse.amend_verdict(verdict))
    spent = Usage(seconds=world.clock() - began, checks=sum(each.runs for each in verdicts))
    return Tried(
        batches=trial.batches, verdicts=tuple(verdicts), complete=not trial.only, usage=spent
    )


async def _run_check(
    check: Check, tree: Tree, trial: GroupTrial, world: World, *, varying: frozenset[str]
) -> CheckVerdict:
    """Run the check. If a whole run is red, rerun the tests that failed; where that confirms none,
    rerun it whole up to RERUNS times, or once if it had trouble. Functions whose cases have other
    ids then are one test each.

    A limited run is not repeated: the search itself does that.
    """
    before = load_baseline(check, world)
    only, ignored = frozenset(trial.only), frozenset(trial.ignored)
    results: list[CheckResult] = []
    verdicts: list[CheckVerdict] = []
    while len(results) <= RERUNS:
        results.append(await world.checks.run(check, tree, only=trial.only))
        varying |= find_varying(results[0], results[-1])
        verdicts = [
            compare_results(each, before, only=only, ignored=ignored, varying=varying)
            for each in results
        ]
        last = verdicts[-1]
        if last.passed or only or not trial.repeat:
            break
        if last.trouble and len(verdicts) >= _TROUBLED:
            break
        if len(results) == 1 and last.failing:
            failing = frozenset(last.failing)
            again = await world.checks.run(check, tree, only=last.failing)
            alone = compare_results(again, before, only=failing, ignored=ignored, varying=varying)
            if alone.failing:
                return replace(last, failing=alone.failing, varying=tuple(sorted(varying)), runs=2)
    return replace(merge_verdicts(verdicts), varying=tuple(sorted(varying)))


def merge_verdicts(seen: Sequence[CheckVerdict]) -> CheckVerdict:
    """Return the last of several whole runs; tests that failed in all fail, in some are flaky."""
    last = seen[-1]
    if last.trouble or seen[0].passed:
        return replace(last, runs=len(seen))
    failed = [frozenset(said.failing) for said in seen if not said.trouble]
    always = frozenset.intersection(*failed)
    flaky = tuple(sorted(frozenset.union(*failed) - always))
    if last.passed and len(seen) > 1:
        why = "red, and green when run again"
        if flaky:
            why = f"{len(flaky)} flaky tests passed when everything was run again"
        first = f"{last.check} as a whole ({seen[0].why})"
        return replace(last, why=why, flaky=flaky or (first,), runs=len(seen))
    return replace(last, failing=tuple(sorted(always or failed[-1])), flaky=flaky, runs=len(seen))
