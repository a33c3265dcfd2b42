"""One run of the checks over a set of patches, with protected files of the base."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckVerdict, compare_results
from punchlist.model.checks.group_testing import GroupTrial
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Tried
from punchlist.model.ledger.run import Run
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import judge_view, load_baseline, usable_checks
from punchlist.steps.judging.excused_tests import ExcusedTests, find_excused

RERUNS = 2


class Try(Struct, frozen=True):
    trial: GroupTrial


async def run_trial(task: Try, run: Run, world: World) -> Tried:
    trial = task.trial
    began = world.clock()
    batches = [run.work.batches[number] for number in trial.batches]
    patches = [run.work.patches[number] for number in trial.batches]
    # A fix to a file of the judge's own would be hidden if the base's were laid over it; the rest
    # of the judge stays.
    opened = {
        path
        for batch in batches
        if batch.protected
        for path in run.work.patches[batch.number].paths
    }
    excuses = [
        (check, await find_excused(check, trial, opened, run, world))
        for check in usable_checks(run)
    ]
    async with world.trees.open_tree(
        run.landing.tip, patches, pristine=judge_view(world, opened)
    ) as tree:
        verdicts = [
            excuse.amend_verdict(
                await _run_check(check, tree, _ignore_excused(trial, excuse), world)
            )
            for check, excuse in excuses
        ]
    return Tried(
        batches=trial.batches,
        verdicts=tuple(verdicts),
        complete=not trial.only,
        usage=Usage(
            seconds=world.clock() - began, checks=sum(verdict.runs for verdict in verdicts)
        ),
    )


def _ignore_excused(trial: GroupTrial, excuse: ExcusedTests) -> GroupTrial:
    return replace(trial, ignored=(*trial.ignored, *sorted(excuse.tests)))


async def _run_check(check: Check, tree: Tree, trial: GroupTrial, world: World) -> CheckVerdict:
    """Run the check; if a whole run is red, rerun it whole up to RERUNS times.

    A limited run is not repeated: its failure was confirmed before.
    """
    before = load_baseline(check.name, world)
    ignored = frozenset(trial.ignored)
    said = compare_results(
        await world.checks.run(check, tree, only=trial.only),
        before,
        only=frozenset(trial.only),
        ignored=ignored,
    )
    seen = [said]
    while not (said.passed or trial.only or said.trouble) and len(seen) <= RERUNS:
        said = compare_results(await world.checks.run(check, tree), before, ignored=ignored)
        seen.append(said)
    return merge_verdicts(seen)


def merge_verdicts(seen: Sequence[CheckVerdict]) -> CheckVerdict:
    """Return the last of several whole runs; tests that failed in all are failing,
    in some flaky.
    """
    last = seen[-1]
    failed = [frozenset(said.failing) for said in seen]
    always = frozenset.intersection(*failed)
    flaky = tuple(sorted(frozenset.union(*failed) - always))
    if last.passed and len(seen) > 1:
        why = (
            f"{len(flaky)} flaky tests passed when everything was run again"
            if flaky
            else "red, and green when run again"
        )
        return replace(last, why=why, flaky=flaky, runs=len(seen))
    return replace(last, failing=tuple(sorted(always or failed[-1])), flaky=flaky, runs=len(seen))
