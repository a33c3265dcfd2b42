"""Red tests of the project that concern a fix: it must turn at least one green."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from punchlist.model.checks.check import Check, TestOutcome
from punchlist.model.checks.protected import matches_any
from punchlist.model.integrity.intent import Intent, find_intent
from punchlist.model.integrity.related_tests import find_names, find_related
from punchlist.model.item.item import Item
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import failed_tests, judge_view, load_baseline
from punchlist.steps.judging.excused_tests import is_in_file
from punchlist.steps.judging.witness import per_test_checks, run_test_file
from punchlist.steps.support.wording import join_few


class RedTestResult(Struct, frozen=True):
    """`stays` is why nothing was cured: all red tests still fail."""

    stays: str = ""
    proofs: dict[int, tuple[Proof, ...]] = {}
    runs: int = 0


async def rerun_red_tests(
    items: Sequence[Item], patch: Patch, run: Run, world: World
) -> RedTestResult:
    proofs: dict[int, tuple[Proof, ...]] = {}
    runs = 0
    for check in per_test_checks(run):
        for number, tests in (await _find_red_tests(check, items, run, world)).items():
            stays, green = set[str](), set[str]()
            for path, red in tests.items():
                now = await run_test_file(check, path, [patch], run, world)
                runs += 1
                stays |= red - now.passed
                green |= red & now.passed
            if stays and not green:
                why = "was red before the fix, speaks of what it is about, and still is red"
                return RedTestResult(f"{why}: {join_few(sorted(stays))}", runs=runs)
            if green:
                names = join_few(sorted(green))
                said = f"{names} ({check.name}): red before the fix, green with it"
                proofs[number] = (Proof(ProofClass.WITNESSED, said),)
    return RedTestResult(proofs=proofs, runs=runs)


async def run_cured_checks(patch: Patch, run: Run, world: World) -> tuple[tuple[Proof, ...], int]:
    """Run, with the patch, the checks in which no test passed on the base. Return a proof for each
    that is green now, and the number of runs.
    """
    proofs: list[Proof] = []
    red = [check for check in per_test_checks(run) if run.checks.baselines[check.name].unusable]
    for check in red:
        async with world.trees.open_tree(
            run.landing.tip, [patch], pristine=judge_view(world)
        ) as tree:
            result = await world.checks.run(check, tree)
        passed = len(result.find_tests(TestOutcome.PASSED))
        if result.green and passed:
            said = f"{check.name}: {passed} tests pass with the fix; none passed on the base"
            proofs.append(Proof(ProofClass.CHECKED, said))
    return tuple(proofs), len(red)


async def _find_red_tests(
    check: Check, items: Sequence[Item], run: Run, world: World
) -> Mapping[int, Mapping[str, frozenset[str]]]:
    """Return by item and test file the tests that fail on the tip and name the item's code."""
    if not run.checks.baselines[check.name].failed:
        return {}
    failing = failed_tests(load_baseline(check, world))
    judged = [item for item in items if _needs_cure(item)]
    async with world.trees.open_tree(run.landing.tip) as tree:
        found = {item.number: _match_tests(item, failing, tree, world) for item in judged}
    if run.landing.tip == world.change.head:
        return found
    return {number: await _drop_green(check, tests, run, world) for number, tests in found.items()}


def _needs_cure(item: Item) -> bool:
    """Return whether red tests can judge the item: not a tool's finding, nor one whose fix keeps
    behaviour.
    """
    return not item.current.rule and find_intent([item]) is not Intent.KEEP


def _match_tests(
    item: Item, failing: Collection[str], tree: Tree, world: World
) -> dict[str, frozenset[str]]:
    spot = item.current.spot
    names = find_names(spot.path, tree.text(spot.path) or "", spot.line)
    found: dict[str, frozenset[str]] = {}
    for path in tree.files() if names else ():
        if not matches_any(path, world.protected.tests):
            continue
        own = [test for test in failing if is_in_file(test, path)]
        if own and (tests := find_related(own, tree.text(path) or "", spot.path, names)):
            found[path] = tests
    return found


async def _drop_green(
    check: Check, tests: Mapping[str, frozenset[str]], run: Run, world: World
) -> dict[str, frozenset[str]]:
    """Drop the tests that pass since commits of this run."""
    now = {path: await run_test_file(check, path, [], run, world) for path in tests}
    still = {path: red & now[path].failed for path, red in tests.items()}
    return {path: red for path, red in still.items() if red}
