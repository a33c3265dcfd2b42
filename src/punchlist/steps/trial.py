"""One run of the checks over one set of patches, with files the fixers could not touch."""

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.check import Check, Verdict, verdict
from punchlist.model.events import Tried
from punchlist.model.grouptest import Trial
from punchlist.model.run import Run
from punchlist.model.usage import Usage
from punchlist.ports import Tree, World
from punchlist.steps.baseline import baseline
from punchlist.steps.judge import judge_view

RERUNS = 2


class Try(Struct, frozen=True):
    trial: Trial
    limit: int


async def attempt(task: Try, run: Run, world: World) -> Tried:
    trial = task.trial
    began = world.clock()
    batches = [run.work.batches[number] for number in trial.batches]
    patches = [run.work.patches[number] for number in trial.batches]
    # A fix to a file of the judge's own would be hidden if the base's were laid over it; the rest of the judge stays.
    opened = {path for batch in batches if batch.protected for path in run.work.patches[batch.number].paths}
    async with world.trees.at(run.tip, patches, pristine=judge_view(world, opened)) as tree:
        verdicts = [await _judged(check, tree, trial, world) for check in _checks(run)]
    return Tried(
        batches=trial.batches,
        verdicts=tuple(verdicts),
        complete=not trial.only,
        usage=Usage(seconds=world.clock() - began, checks=sum(verdict.runs for verdict in verdicts)),
    )


def _checks(run: Run) -> list[Check]:
    checks = run.started.checks if run.started is not None else ()
    return [check for check in checks if not run.baselines[check.name].unusable]


async def _judged(check: Check, tree: Tree, trial: Trial, world: World) -> Verdict:
    """A test that fails is run again before anybody is blamed; in a limited run its failure is confirmed already."""
    before = baseline(check.name, world)
    only, ignored = frozenset(trial.only), frozenset(trial.ignored)
    result = await world.checks.run(check, tree, only=trial.only)
    said = verdict(result, before, only=only, ignored=ignored)
    if said.passed or trial.only or result.trouble or not said.failing:
        return said
    doubtful = frozenset(said.failing)
    for again in range(RERUNS):
        rerun = await world.checks.run(check, tree, only=tuple(sorted(doubtful)))
        still = verdict(rerun, before, only=doubtful, ignored=ignored)
        doubtful &= frozenset(still.failing)
        if not doubtful:
            flaky = tuple(said.failing)
            return replace(
                said, passed=True, why=f"{len(flaky)} flaky tests passed when run again", failing=(), flaky=flaky, runs=2 + again
            )
    flaky = tuple(sorted(frozenset(said.failing) - doubtful))
    return replace(said, failing=tuple(sorted(doubtful)), flaky=flaky, runs=1 + RERUNS)
