"""Red tests of the project that speak of a finding: a fix must turn all of them green."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from secrets import token_hex

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.check import Check, TestOutcome
from punchlist.model.checks.failure_cause import find_outside_cause
from punchlist.model.checks.planted_tests import stop_functions
from punchlist.model.checks.protected import matches_any
from punchlist.model.dedup.symbols import find_symbols
from punchlist.model.integrity.code_names import defines_name, find_code_names
from punchlist.model.integrity.intent import Intent, find_intent, join_words
from punchlist.model.integrity.related_tests import find_id_names, find_mentions, select_related
from punchlist.model.item.item import ENDED, Item
from punchlist.model.item.proof import FileTests, Proof, ProofClass
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import failed_tests, judge_view, load_baseline
from punchlist.steps.judging.excused_tests import is_in_file, shows_path
from punchlist.steps.judging.witness import (
    TurnedTests,
    WitnessRun,
    make_file_patch,
    per_test_checks,
    run_test_file,
)
from punchlist.steps.support.wording import join_few

_PASSING = re.compile(r"0x[0-9a-f]+|/tmp/\S+")


class RedTests(Struct, frozen=True):
    """The red tests that speak of one item. `direct` is False if they mention only other code of
    its file.
    """

    tests: frozenset[str] = frozenset()
    direct: bool = True


class PartialCure(Struct, frozen=True):
    """Which tests turned green and which did not. `excused`: those speak of another open item, too,
    which may be what keeps them red.
    """

    said: str
    excused: bool = False


class RedTestResult(Struct, frozen=True):
    """`stays` is why nothing was cured: all red tests still fail. `partial` items have no
    witness.
    """

    stays: str = ""
    proofs: dict[int, tuple[Proof, ...]] = {}
    partial: dict[int, PartialCure] = {}
    turned: dict[int, tuple[TurnedTests, ...]] = {}
    runs: int = 0
    noted: tuple[str, ...] = ()
    """Tests that stay red for another reason than the finding."""


async def rerun_red_tests(
    items: Sequence[Item], patch: Patch, run: Run, world: World
) -> RedTestResult:
    """Run the red tests that speak of the items over the patch, and judge each item by its own."""
    total = RedTestResult()
    for check in per_test_checks(run):
        found = await find_red_tests(check, items, run, world)
        if not found:
            continue
        red = frozenset(test for each in found.values() for test in each.tests)
        ran = await _run_tests(check, red, [patch], run, world)
        green = {path: each.passed for path, each in ran.items()}
        excused: frozenset[str] = frozenset()
        if red.difference(*green.values()):
            excused = await _find_excused(check, items, ran.values(), run, world)
        left = {item: each.tests.difference(*green.values()) for item, each in found.items()}
        apart = await _find_apart(check, left, run, world)
        edited = {path for path in patch.paths if not matches_any(path, world.protected.tests)}
        judged = [
            _judge_item(check, item, _leave_out(each, apart.tests[item]), green, excused)
            for item, each in found.items()
        ]
        judged = [_drop_edited(each, edited) for each in judged]
        noted = tuple(dict.fromkeys((*total.noted, *apart.describe())))
        total = _join_results([total, *judged], runs=total.runs + len(green) + apart.runs)
        total = replace(total, noted=noted)
        if total.stays:
            break
    return total


async def _find_excused(
    check: Check, items: Sequence[Item], ran: Iterable[WitnessRun], run: Run, world: World
) -> frozenset[str]:
    """Return the tests that another open item may keep red: they speak of it, or they still fail in
    its file.
    """
    others = _find_others(items, run, None)
    found = await find_red_tests(check, others, run, world)
    own = {item.current.spot.path for item in items}
    paths = {item.current.spot.path for item in others if _needs_cure(item, run)} - own
    shown = [
        test
        for each in ran
        for test, text in each.failures.items()
        if any(shows_path(text, path) for path in paths)
    ]
    return frozenset(shown).union(*(each.tests for each in found.values()))


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


async def find_contradictions(items: Sequence[Item], run: Run, world: World) -> dict[int, str]:
    """Return by item the red tests that speak of it, of the project or private, in words: they
    contradict an agent that says there is nothing to fix.
    """
    found = {
        item.number: "a private test"
        for item in items
        if (known := run.by_item.reproductions.get(item.number)) is not None and known.red
    }
    for check in per_test_checks(run):
        red = await find_red_tests(check, items, run, world)
        near = _find_others(items, run, {item.current.spot.path for item in items})
        others = await find_red_tests(check, near, run, world) if red else {}
        apart = await _find_apart(check, {item: red[item].tests for item in red}, run, world)
        red = {item: _leave_out(each, apart.tests[item]) for item, each in red.items()}
        excused = frozenset(test for each in others.values() for test in each.tests)
        for number, each in red.items():
            if each.tests and (each.direct or not each.tests <= excused):
                found[number] = join_few(sorted(each.tests))
    return found


def _judge_item(
    check: Check,
    item: int,
    red: RedTests,
    green: Mapping[str, frozenset[str]],
    excused: frozenset[str],
) -> RedTestResult:
    turned = {path: tests & red.tests for path, tests in green.items() if tests & red.tests}
    left = red.tests.difference(*turned.values())
    stays, names = join_few(sorted(left)), join_few(sorted(red.tests - left))
    if not red.tests:
        return RedTestResult()
    if not left:
        said = f"{names} ({check.name}): red before the fix, green with it"
        tests = tuple(FileTests(path, tuple(sorted(each))) for path, each in turned.items())
        proof = Proof(ProofClass.WITNESSED, said, check=check.name, tests=tests)
        return RedTestResult(
            proofs={item: (proof,)},
            turned={item: tuple(TurnedTests(check, *each) for each in turned.items())},
        )
    if turned:
        said = f"only a partial cure: {names} turned green, and {stays} stayed red"
        return RedTestResult(partial={item: PartialCure(said, left <= excused)})
    if not red.direct and left <= excused:
        return RedTestResult()
    why = "was red before the fix, speaks of what it is about, and still is red"
    return RedTestResult(stays=f"{why}: {stays}")


def _drop_edited(said: RedTestResult, edited: Collection[str]) -> RedTestResult:
    """Drop turned tests in files that the patch edits, as it may have changed what they ask for;
    without another there is no proof.
    """
    turned = {
        item: tuple(each for each in tests if each.path not in edited)
        for item, tests in said.turned.items()
    }
    turned = {item: tests for item, tests in turned.items() if tests}
    proofs = {item: proof for item, proof in said.proofs.items() if item in turned}
    return replace(said, proofs=proofs, turned=turned)


def _join_results(parts: Sequence[RedTestResult], runs: int) -> RedTestResult:
    """Join the results of several items and checks; one partial cure takes away the witness."""
    partial = {item: said for part in parts for item, said in part.partial.items()}
    proofs: dict[int, tuple[Proof, ...]] = {}
    turned: dict[int, tuple[TurnedTests, ...]] = {}
    for part in parts:
        for item in part.proofs.keys() - partial.keys():
            proofs[item] = (*proofs.get(item, ()), *part.proofs[item])
            turned[item] = (*turned.get(item, ()), *part.turned.get(item, ()))
    stays = next((part.stays for part in parts if part.stays), "")
    return RedTestResult(stays, proofs, partial, turned, runs)


class ApartTests(Struct, frozen=True):
    """By item the tests that fail for another reason than its code, and that reason."""

    tests: dict[int, dict[str, str]]
    runs: int = 0

    def describe(self) -> list[str]:
        known = {test: why for each in self.tests.values() for test, why in each.items()}
        return [f"{test} is red for another reason: {why}" for test, why in known.items()]


async def _find_apart(
    check: Check, red: Mapping[int, frozenset[str]], run: Run, world: World
) -> ApartTests:
    """Find out which of the red tests, by item, the item's code has no say in: something around it
    is missing, or they fail in the same way if no function of its file can run.
    """
    failures = load_baseline(check, world).failures if any(red.values()) else {}
    apart: dict[int, dict[str, str]] = {}
    runs = 0
    for number, tests in red.items():
        told = {test: failures[test] for test in sorted(tests) if failures.get(test)}
        apart[number] = await _find_outside_causes(told, run, world)
        path = run.items[number].current.spot.path
        told = {test: text for test, text in told.items() if test not in apart[number]}
        told = {test: text for test, text in told.items() if not shows_path(text, path)}
        stopped = await _stop_file(run.items[number], run, world) if told else Patch()
        if stopped.paths:
            same, tried = await _fail_the_same(check, told, stopped, run, world)
            why = f"it fails before any function of {path} is called"
            apart[number] |= dict.fromkeys(same, why)
            runs += tried
    return ApartTests(apart, runs)


async def _find_outside_causes(told: Mapping[str, str], run: Run, world: World) -> dict[str, str]:
    async with world.trees.open_tree(run.landing.tip) as tree:
        files = tree.files()
    own = {part.removesuffix(".py") for path in files for part in path.split("/")}
    tests = (path for path in files if matches_any(path, world.protected.tests))
    folders = {path.rpartition("/")[0] for path in tests} - {""}

    def is_test_file(path: str) -> bool:
        # Where the check ran, and so what stands before the path in the tree, is not known.
        return any(f"/{folder}/" in f"/{path}" for folder in folders)

    causes = {
        test: find_outside_cause(text, own.__contains__, is_test_file)
        for test, text in told.items()
    }
    return {test: why for test, why in causes.items() if why}


async def _stop_file(item: Item, run: Run, world: World) -> Patch:
    """Return a patch that ends each function of the item's file at once; an empty one if the item
    may be about what is outside of functions.
    """
    spot = item.current.spot
    async with world.trees.open_tree(run.landing.tip) as tree:
        text = tree.text(spot.path) or ""
    lines = text.splitlines()
    if not spot.path.endswith(".py") or not 1 <= (spot.line or 0) <= len(lines):
        return Patch()
    stopped = stop_functions(text, f"stopped_{token_hex(4)}")
    inside = find_symbols(spot.path, lines)[(spot.line or 1) - 1]
    return make_file_patch(spot.path, stopped) if stopped and inside else Patch()


async def _fail_the_same(
    check: Check, told: Mapping[str, str], patch: Patch, run: Run, world: World
) -> tuple[list[str], int]:
    """Return the tests that fail with the patch as they are told to fail, and the runs it took."""
    async with world.trees.open_tree(run.landing.tip) as tree:
        paths = list(_group_tests(told, tree))
    now: dict[str, str] = {}
    for path in paths:
        now |= (await run_test_file(check, path, [patch], run, world)).failures
    same = [
        test
        for test, text in told.items()
        if _PASSING.sub("", now.get(test, "")) == _PASSING.sub("", text)
    ]
    return same, len(paths)


def _leave_out(red: RedTests, apart: Collection[str]) -> RedTests:
    return RedTests(red.tests.difference(apart), red.direct)


def _find_others(items: Sequence[Item], run: Run, paths: Collection[str] | None) -> list[Item]:
    """Return the unresolved items that this fix is not about, in these files, or in all."""
    numbers = {item.number for item in items}
    return [
        item
        for item in run.items.values()
        if item.number not in numbers
        and item.status not in ENDED
        and (paths is None or item.current.spot.path in paths)
    ]


async def find_red_tests(
    check: Check, items: Iterable[Item], run: Run, world: World
) -> dict[int, RedTests]:
    """Return by item the tests that fail on the tip and speak of its code."""
    baseline = run.checks.baselines.get(check.name)
    judged = [item for item in items if _needs_cure(item, run)]
    if baseline is None or not baseline.failed or not judged:
        return {}
    failing = failed_tests(load_baseline(check, world))
    async with world.trees.open_tree(run.landing.tip) as tree:
        texts = {path: tree.text(path) or "" for path in _group_tests(failing, tree)}
        tests = world.protected.tests
        red = {item.number: _match_tests(item, failing, texts, tree, tests) for item in judged}
    if run.landing.tip != world.change.head:
        red = await _drop_green(check, red, run, world)
    return {number: each for number, each in red.items() if each.tests}


def _needs_cure(item: Item, run: Run) -> bool:
    """Return whether red tests judge the item: not one that only analyzers report, which look at
    the fix themselves, nor one whose fix keeps behaviour.
    """
    rechecked = {finding.source for finding in item.sighted} <= set(run.started.reviewers)
    return not rechecked and find_intent([item]) is not Intent.KEEP


def _group_tests(tests: Collection[str], tree: Tree) -> dict[str, frozenset[str]]:
    """Return the tests by the file that they are in."""
    named = {test.partition("::")[0] for test in tests if "::" in test}
    dotted = [test for test in tests if "::" not in test]
    found: dict[str, frozenset[str]] = {}
    for path in tree.files():
        inside = tests if path in named else dotted if path.endswith(".py") else ()
        if own := frozenset(test for test in inside if is_in_file(test, path)):
            found[path] = own
    return found


def _match_tests(
    item: Item,
    failing: Collection[str],
    texts: Mapping[str, str],
    tree: Tree,
    tests: tuple[str, ...],
) -> RedTests:
    """Return the failing tests that speak of the item; `tests` are the patterns of test files."""
    spot = item.current.spot
    names = find_code_names(spot.path, tree.text(spot.path) or "", spot.line, join_words([item]))

    def is_elsewhere(module: str, name: str) -> bool:
        stem = module.replace(".", "/")
        ends = (f"/{stem}.py", f"/{stem}/__init__.py")
        files = [path for path in tree.files() if path != spot.path and f"/{path}".endswith(ends)]
        return any(defines_name(tree.text(path) or "", name) for path in files)

    mentions: dict[str, frozenset[str]] = {}
    for path, text in texts.items():
        own = [test for test in failing if is_in_file(test, path)]
        if path == spot.path and not matches_any(path, tests):  # doctests of the code itself
            mentions |= {test: find_id_names(test) for test in own}
        else:
            mentions |= find_mentions(own, text, spot.path, is_elsewhere)
    related = select_related(mentions, names)
    return RedTests(related.tests, related.direct)


async def _run_tests(
    check: Check, tests: frozenset[str], patches: Sequence[Patch], run: Run, world: World
) -> dict[str, WitnessRun]:
    """Run the files of these tests; return what each did."""
    async with world.trees.open_tree(run.landing.tip) as tree:
        paths = list(_group_tests(tests, tree))
    return {path: await run_test_file(check, path, patches, run, world) for path in paths}


async def _drop_green(
    check: Check, red: Mapping[int, RedTests], run: Run, world: World
) -> dict[int, RedTests]:
    """Drop the tests that pass since commits of this run."""
    tests = frozenset(test for each in red.values() for test in each.tests)
    ran = await _run_tests(check, tests, [], run, world) if tests else {}
    green = [each.passed for each in ran.values()]
    return {
        number: RedTests(each.tests.difference(*green), each.direct) for number, each in red.items()
    }
