"""What a check says of the base: measured once per tree, kept, and only believed if it judges the right code."""

from hashlib import sha256

import msgspec
from msgspec import Struct

from punchlist.model.check import Check, CheckResult, TestOutcome
from punchlist.model.events import Baselined
from punchlist.model.run import Run
from punchlist.model.usage import Usage
from punchlist.ports import World
from punchlist.steps.judge import judge_view


class Measure(Struct, frozen=True):
    check: Check


class Known(Struct, frozen=True):
    """What is kept of a measurement."""

    result: CheckResult
    unusable: str = ""
    sentinel: str = ""


async def measure(task: Measure, run: Run, world: World) -> Baselined:  # noqa: ARG001 - the signature of every performer
    key = baseline_key(task.check, world.change.head, world)
    kept = world.cache.get(key)
    began = world.clock()
    known = msgspec.json.decode(kept, type=Known) if kept else await _measured(task.check, world)
    if not kept and not known.unusable:
        world.cache.put(key, msgspec.json.encode(known))
    outcomes = list(known.result.tests.values())
    artifact = world.artifacts.write(f"baseline-{task.check.name}.json", msgspec.json.encode(known.result))
    return Baselined(
        check=task.check.name,
        exit_code=known.result.exit_code,
        passed=outcomes.count(TestOutcome.PASSED),
        failed=outcomes.count(TestOutcome.FAILED),
        skipped=outcomes.count(TestOutcome.SKIPPED),
        unusable=known.unusable,
        sentinel=known.sentinel,
        artifact=artifact,
        cached=bool(kept),
        usage=Usage() if kept else Usage(seconds=world.clock() - began, checks=2),
    )


def baseline_key(check: Check, commit: str, world: World) -> str:
    basis = msgspec.json.encode((check, commit, world.change.base, world.protected))
    return f"baseline/{sha256(basis).hexdigest()}"


async def _measured(check: Check, world: World) -> Known:
    async with world.trees.at(world.change.head, pristine=judge_view(world)) as tree:
        result = await world.checks.run(check, tree)
    if result.trouble:
        return Known(result, f"on the base, {result.trouble}")
    if not result.green and not result.tests:
        return Known(result, f"exits {result.exit_code} on the base and tells nothing per test")
    # The same judge as above: a change that empties its own tests must not make the base's look blind.
    async with world.trees.at(world.change.head, pristine=judge_view(world)) as tree:
        blind = await world.checks.sentinel(check, tree)
    return Known(result, blind, "" if blind else "a planted failure was seen")


def baseline(check: str, world: World) -> CheckResult:
    """The measurement a verdict is held against."""
    kept = world.artifacts.read(f"baseline-{check}.json")
    if kept is None:
        raise FileNotFoundError(f"baseline-{check}.json")
    return msgspec.json.decode(kept, type=CheckResult)
