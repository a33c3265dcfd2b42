"""What a check says of the base: measured once per tree and ground, and only believed if it judges
the right code.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckResult, TestOutcome
from punchlist.model.checks.coverage import families
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.run import Run
from punchlist.ports.tree import Pristine, Tree
from punchlist.ports.world import World

_RERUNS = 2
_SEEN = "a planted failure was seen"


class Measure(Struct, frozen=True):
    check: Check


class Known(Struct, frozen=True, kw_only=True):
    """What is kept of a measurement."""

    result: CheckResult
    unusable: str = ""
    sentinel: str = ""
    judges: tuple[str, ...] = ()
    runs: int = 1


async def measure(task: Measure, run: Run, world: World) -> Baselined:
    key = await baseline_key(task.check, world)
    kept = world.cache.get(key)
    began = world.clock()
    known = msgspec.json.decode(kept, type=Known) if kept else await _measured(task.check, world)
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
    """Everything a measurement depends on: the check, the tree, whose tests it has, and the ground
    it stands on.
    """
    ground = await world.checks.ground(check)
    basis = msgspec.json.encode(
        (check, world.change.head, world.change.base, world.protected, ground)
    )
    return f"baseline/{sha256(basis).hexdigest()}"


async def _measured(check: Check, world: World) -> Known:
    async with world.trees.at(world.change.head, pristine=judge_view(world)) as tree:
        kinds = families(tree.files(), world.protected)
        result, runs = await _settled(check, tree, world)
    known = Known(result=result, runs=runs)
    if result.trouble:
        return replace(known, unusable=f"on the base, {result.trouble}")
    if not result.green and not result.tests:
        return replace(
            known, unusable=f"exits {result.exit_code} on the base and tells nothing per test"
        )
    return await _planted(check, kinds, known, world)


async def _settled(check: Check, tree: Tree, world: World) -> tuple[CheckResult, int]:
    """Whatever fails is run again, and if it passes alone, everything is: only a whole run shows
    that a test can pass.
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
        known = either(known, again)
    return known, runs


def either(one: CheckResult, other: CheckResult) -> CheckResult:
    """Of two whole runs of one tree: a test that passed in one of them can pass, and is held to it
    from then on.
    """
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


async def _planted(
    check: Check, kinds: tuple[tuple[str, ...], ...], known: Known, world: World
) -> Known:
    """A failure is planted, one language after the other: the check judges those in which it
    noticed.
    """
    said: dict[tuple[str, ...], str] = {}
    for family in kinds or ((),):
        # The same judge as before: a change that empties its own tests must not make the base's
        # look blind.
        async with world.trees.at(world.change.head, pristine=judge_view(world)) as tree:
            said[family] = await world.checks.sentinel(check, tree, family)
    judges = tuple(kind for family, blind in said.items() if not blind for kind in family)
    blind = "" if "" in said.values() else _blindness(said)
    partly = f" in {', '.join(judges)} files only" if any(said.values()) else ""
    sentinel = "" if blind else f"{_SEEN}{partly}"
    return replace(
        known, unusable=blind, sentinel=sentinel, judges=judges, runs=known.runs + len(said)
    )


def _blindness(said: Mapping[tuple[str, ...], str]) -> str:
    if len(said) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{', '.join(family)}: {blind}" for family, blind in said.items())


def baseline(check: str, world: World) -> CheckResult:
    """The measurement a verdict is held against."""
    kept = world.artifacts.read(f"baseline-{check}.json")
    if kept is None:
        raise FileNotFoundError(f"baseline-{check}.json")
    return msgspec.json.decode(kept, type=CheckResult)


def judge_view(world: World, opened: Iterable[str] = ()) -> Pristine:
    """Configuration is the base's alone; tests of the change are added to the base's. `opened` are
    files that fixes touch.
    """
    protected = world.protected
    return Pristine(
        origin=world.change.base,
        alone=protected.configuration,
        kept=protected.tests,
        opened=frozenset(opened),
    )


def allowed(run: Run) -> tuple[Check, ...]:
    return run.started.checks if run.started.checks_allowed else ()


def usable(run: Run) -> tuple[Check, ...]:
    return tuple(check for check in allowed(run) if not run.checks.baselines[check.name].unusable)
