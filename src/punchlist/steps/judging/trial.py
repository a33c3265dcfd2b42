"""One run of the checks over one set of patches, with files the fixers could not touch."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, Verdict, verdict
from punchlist.model.checks.group_testing import Trial
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Tried
from punchlist.model.ledger.run import Run
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import baseline, judge_view, usable
from punchlist.steps.judging.excused_tests import Excused, excused

RERUNS = 2


class Try(Struct, frozen=True):
    trial: Trial


async def attempt(task: Try, run: Run, world: World) -> Tried:
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
    excuses = [(check, await excused(check, trial, opened, run, world)) for check in usable(run)]
    async with world.trees.at(run.landing.tip, patches, pristine=judge_view(world, opened)) as tree:
        verdicts = [
            excuse.said(await _judged(check, tree, _without(trial, excuse), world))
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


def _without(trial: Trial, excuse: Excused) -> Trial:
    return replace(trial, ignored=(*trial.ignored, *sorted(excuse.tests)))


async def _judged(check: Check, tree: Tree, trial: Trial, world: World) -> Verdict:
    """What is red in a whole run is run again as a whole before anybody is blamed: alone, a test
    may behave differently.

    It only passes if a whole run was seen green. In a limited run the failure was confirmed before.
    """
    before = baseline(check.name, world)
    ignored = frozenset(trial.ignored)
    said = verdict(
        await world.checks.run(check, tree, only=trial.only),
        before,
        only=frozenset(trial.only),
        ignored=ignored,
    )
    seen = [said]
    while not (said.passed or trial.only or said.trouble) and len(seen) <= RERUNS:
        said = verdict(await world.checks.run(check, tree), before, ignored=ignored)
        seen.append(said)
    return confirmed(seen)


def confirmed(seen: Sequence[Verdict]) -> Verdict:
    """The last of several whole runs of one tree: what failed in all of them is held against it,
    what failed in some is flaky.
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
