"""Tests of the project that are red and speak of the code a fix is about: a cure turns at least one
of them green.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from punchlist.model.checks.check import Check, TestOutcome
from punchlist.model.checks.protected import matches
from punchlist.model.integrity.intent import Intent, intent
from punchlist.model.integrity.related_tests import concerned, names_at
from punchlist.model.item.item import Item
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import baseline
from punchlist.steps.judging.excused_tests import is_of
from punchlist.steps.judging.witness import heard, telling

_NAMED = 3


class Turned(Struct, frozen=True):
    """`stays` is why nothing was cured: all that was red still is."""

    stays: str = ""
    proofs: dict[int, tuple[Proof, ...]] = {}
    runs: int = 0


async def turned(items: Sequence[Item], patch: Patch, run: Run, world: World) -> Turned:
    proofs: dict[int, tuple[Proof, ...]] = {}
    runs = 0
    for check in telling(run):
        for number, tests in (await _red(check, items, run, world)).items():
            stays, green = set[str](), set[str]()
            for path, red in tests.items():
                now = await heard(check, path, [patch], run, world)
                runs += 1
                stays |= red - now.passed
                green |= red & now.passed
            if stays and not green:
                return Turned(
                    "was red before the fix, speaks of what it is about, and still is red:"
                    f" {_few(stays)}",
                    runs=runs,
                )
            if green:
                said = f"{_few(green)} ({check.name}): red before the fix, green with it"
                proofs[number] = (Proof(ProofClass.WITNESSED, said),)
    return Turned(proofs=proofs, runs=runs)


async def _red(
    check: Check, items: Sequence[Item], run: Run, world: World
) -> Mapping[int, Mapping[str, frozenset[str]]]:
    """By item and test file: what fails on the tip and names the code that the item is about."""
    if not run.checks.baselines[check.name].failed:
        return {}
    failing = [
        test
        for test, outcome in baseline(check.name, world).tests.items()
        if outcome is TestOutcome.FAILED
    ]
    async with world.trees.at(run.landing.tip) as tree:
        found = {
            item.number: _about(item, failing, tree, world)
            for item in items
            if _asks_for_a_cure(item)
        }
    if run.landing.tip == world.change.head:
        return found
    return {number: await _still(check, tests, run, world) for number, tests in found.items()}


def _asks_for_a_cure(item: Item) -> bool:
    """A tool's finding has its tool to say whether it is cured; a test of the same code may be red
    for other reasons.
    """
    return not item.current.rule and intent([item]) is not Intent.KEEP


def _about(
    item: Item, failing: Sequence[str], tree: Tree, world: World
) -> dict[str, frozenset[str]]:
    spot = item.current.spot
    names = names_at(spot.path, tree.text(spot.path) or "", spot.line)
    found: dict[str, frozenset[str]] = {}
    for path in tree.files() if names else ():
        own = (
            [test for test in failing if is_of(test, path)]
            if matches(path, world.protected.tests)
            else []
        )
        if own and (tests := concerned(own, tree.text(path) or "", spot.path, names)):
            found[path] = tests
    return found


async def _still(
    check: Check, tests: Mapping[str, frozenset[str]], run: Run, world: World
) -> dict[str, frozenset[str]]:
    """What landed in the meantime may have turned some of them green."""
    now = {path: await heard(check, path, [], run, world) for path in tests}
    return {path: red & now[path].failed for path, red in tests.items() if red & now[path].failed}


def _few(tests: set[str]) -> str:
    named = sorted(tests)
    return ", ".join(named[:_NAMED]) + (
        f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    )
