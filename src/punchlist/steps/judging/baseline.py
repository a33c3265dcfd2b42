"""Baselines: each check runs on the base, cached by tree and environment, and must notice a
sentinel.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckResult, TestOutcome
from punchlist.model.checks.coverage import find_families
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.run import Run
from punchlist.ports.tree import Pristine, Tree
from punchlist.ports.world import World

_RERUNS = 2
_SEEN = "a planted failure was seen"


class Measure(Struct, frozen=True):
    check: Check


class Measurement(Struct, frozen=True, kw_only=True):
    """What the cache keeps of a baseline."""

    result: CheckResult
    unusable: str = ""
    sentinel: str = ""
    judges: tuple[str, ...] = ()
    runs: int = 1


async def measure_baseline(task: Measure, run: Run, world: World) -> Baselined:
    key = await baseline_key(task.check, world)
    kept = world.cache.get(key)
    began = world.clock()
    known = (
        msgspec.json.decode(kept, type=Measurement)
        if kept
        else await _measure_check(task.check, world)
    )
    # A failure may be the hour's and not the tree's; remembered, it would excuse every fix that
    # breaks the same test.
    if not kept and not known.unusable and known.result.green:
        world.cache.put(key, msgspec.json.encode(known))
    outcomes = list(known.result.tests.values())
    artifact = world.artifacts.write(
        f"baseline-{task.check.name}.json", msgspec.json.encode(known.result)
    )
    return Baselined(
        check=task.check.name,
        exit_code=known.result.exit_code,
        passed=outcomes.count(TestOutcome.PASSED),
        failed=outcomes.count(TestOutcome.FAILED),
        skipped=outcomes.count(TestOutcome.SKIPPED),
        unusable=known.unusable,
        sentinel=known.sentinel,
        judges=known.judges,
        artifact=artifact,
        cached=bool(kept),
        usage=Usage() if kept else Usage(seconds=world.clock() - began, checks=known.runs),
    )


async def baseline_key(check: Check, world: World) -> str:
    """Return the cache key: a hash of the check, the commits, protected patterns
    and environment.
    """
    ground = await world.checks.hash_environment(check)
    basis = msgspec.json.encode(
        (check, world.change.head, world.change.base, world.protected, ground)
    )
    return f"baseline/{sha256(basis).hexdigest()}"


async def _measure_check(check: Check, world: World) -> Measurement:
    async with world.trees.open_tree(world.change.head, pristine=judge_view(world)) as tree:
        kinds = find_families(tree.files(), world.protected)
        result, runs = await _rerun_failing(check, tree, world)
    known = Measurement(result=result, runs=runs)
    if result.trouble:
        return replace(known, unusable=f"on the base, {result.trouble}")
    if not result.green and not result.tests:
        return replace(
            known, unusable=f"exits {result.exit_code} on the base and tells nothing per test"
        )
    return await _plant_sentinels(check, kinds, known, world)


async def _rerun_failing(check: Check, tree: Tree, world: World) -> tuple[CheckResult, int]:
    """Run the check; rerun failing tests, and the whole check if they pass alone. Return the result
    and the number of runs.
    """
    known = await world.checks.run(check, tree)
    runs = 1
    for _ in range(_RERUNS):
        failing = [test for test, outcome in known.tests.items() if outcome is TestOutcome.FAILED]
        if known.trouble or not failing:
            break
        again = await world.checks.run(check, tree, only=failing)
        runs += 1
        if all(again.tests.get(test) is TestOutcome.FAILED for test in failing):
            continue
        if not known.tests.keys() <= again.tests.keys():
            again = await world.checks.run(check, tree)
            runs += 1
        known = merge_results(known, again)
    return known, runs


def merge_results(one: CheckResult, other: CheckResult) -> CheckResult:
    """Merge two whole runs of one tree: a test that passed in either counts as passing."""
    if other.trouble:
        return one
    passed = {
        test: outcome
        for run in (one, other)
        for test, outcome in run.tests.items()
        if outcome is TestOutcome.PASSED
    }
    tests = {**one.tests, **other.tests, **passed}
    if not other.green:
        return replace(one, tests=tests)
    # What was named as failing and is not there in a green run, such as a file that could not be
    # imported, was no test.
    return replace(
        other,
        tests={
            test: outcome for test, outcome in tests.items() if outcome is not TestOutcome.FAILED
        },
    )


async def _plant_sentinels(
    check: Check, kinds: tuple[tuple[str, ...], ...], known: Measurement, world: World
) -> Measurement:
    """Plant a failure per language; the check judges those languages in which it fails."""
    said: dict[tuple[str, ...], str] = {}
    for family in kinds or ((),):
        # The same judge as before: a change that empties its own tests must not make the base's
        # look blind.
        async with world.trees.open_tree(world.change.head, pristine=judge_view(world)) as tree:
            said[family] = await world.checks.run_sentinel(check, tree, family)
    judges = tuple(kind for family, blind in said.items() if not blind for kind in family)
    blind = "" if "" in said.values() else _join_reasons(said)
    partly = f" in {', '.join(judges)} files only" if any(said.values()) else ""
    sentinel = "" if blind else f"{_SEEN}{partly}"
    return replace(
        known, unusable=blind, sentinel=sentinel, judges=judges, runs=known.runs + len(said)
    )


def _join_reasons(said: Mapping[tuple[str, ...], str]) -> str:
    if len(said) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{', '.join(family)}: {blind}" for family, blind in said.items())


def load_baseline(check: str, world: World) -> CheckResult:
    """Load the stored baseline of a check. Raises FileNotFoundError."""
    kept = world.artifacts.read(f"baseline-{check}.json")
    if kept is None:
        raise FileNotFoundError(f"baseline-{check}.json")
    return msgspec.json.decode(kept, type=CheckResult)


def judge_view(world: World, opened: Iterable[str] = ()) -> Pristine:
    """Return a view with the base's configuration only, and the base's tests plus the change's new
    ones; `opened` files are exempt.
    """
    protected = world.protected
    return Pristine(
        origin=world.change.base,
        alone=protected.configuration,
        kept=protected.tests,
        opened=frozenset(opened),
    )


def allowed_checks(run: Run) -> tuple[Check, ...]:
    return run.started.checks if run.started.checks_allowed else ()


def usable_checks(run: Run) -> tuple[Check, ...]:
    return tuple(
        check for check in allowed_checks(run) if not run.checks.baselines[check.name].unusable
    )
