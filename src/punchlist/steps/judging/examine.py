"""Examines one agent's batch alone, cheapest first: text, old against new code, tests."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.integrity.intent import Intent, find_intent, join_words
from punchlist.model.integrity.new_tests import find_source_read
from punchlist.model.item.item import Item
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Examined
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.compare import CompareResult
from punchlist.ports.world import World
from punchlist.steps.judging.patch_text_scan import Texts, build_texts, scan_patch
from punchlist.steps.judging.red_tests import rerun_red_tests
from punchlist.steps.judging.replayed_calls import ReplaySubject, describe_replay, replay_patch
from punchlist.steps.judging.witness import (
    confirm_red,
    make_file_patch,
    per_test_checks,
    run_test_file,
    run_witness,
)


class Examine(Struct, frozen=True):
    batch: int


class BatchCase(Struct, frozen=True):
    """The batch under examination."""

    items: tuple[Item, ...]
    patch: Patch
    seen: Texts
    new_tests: tuple[str, ...]


class ExamResult(Struct, frozen=True):
    """Result of one examination."""

    refuted: str = ""
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: tuple[str, ...] = ()
    beside: str = ""
    """What must be read with a proof by a test that the fixer could know."""
    runs: int = 0


async def examine_batch(task: Examine, run: Run, world: World) -> Examined:
    began = world.clock()
    case = await _build_case(task, run, world)
    refuted, beside, runs = "", "", 0
    noted: tuple[str, ...] = ()
    proofs: dict[int, tuple[Proof, ...]] = {}
    looks = (_scan_text, _compare_code, _run_red_tests, _run_private_tests, _run_new_tests)
    for look in (*looks, _replay_calls):
        found = await look(case, run, world)
        refuted, noted, runs = found.refuted, (*noted, *found.noted), runs + found.runs
        proofs = {
            item: (*proofs.get(item, ()), *found.proofs.get(item, ()))
            for item in {**proofs, **found.proofs}
        }
        beside = found.beside or beside
        if refuted:
            break
    spent = Usage(seconds=world.clock() - began, checks=runs)
    proofs = {} if refuted else _add_beside(proofs, beside)
    if beside and not any(
        proof.kind is ProofClass.WITNESSED for each in proofs.values() for proof in each
    ):
        noted = (*noted, beside)
    return Examined(batch=task.batch, refuted=refuted, proofs=proofs, noted=noted, usage=spent)


def _add_beside(
    proofs: Mapping[int, tuple[Proof, ...]], beside: str
) -> dict[int, tuple[Proof, ...]]:
    """Return the proofs; regression tests say what was seen outside of the tests, too."""
    return {
        number: tuple(
            replace(proof, said=f"{proof.said}; {beside}")
            if beside and proof.kind is ProofClass.WITNESSED
            else proof
            for proof in each
        )
        for number, each in proofs.items()
    }


async def _build_case(task: Examine, run: Run, world: World) -> BatchCase:
    batch, patch, tip = run.work.batches[task.batch], run.work.patches[task.batch], run.landing.tip
    before = {path: await world.repository.text(tip, path) for path in patch.paths}
    seen = build_texts(patch, before)
    items = tuple(run.items[number] for number in run.claimed_items(batch))
    return BatchCase(items, patch, seen, tuple(seen.find_tests(world.protected)))


async def _scan_text(case: BatchCase, run: Run, world: World) -> ExamResult:
    found = scan_patch(case.items, case.seen, world.protected, world.suppressions)
    return ExamResult(found.refuted, noted=found.noted)


async def _compare_code(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Compare old with new code; it runs the repository's code, so checks must be allowed."""
    paths = [path for path in case.seen.after if not world.protected.holds(path)]
    if world.comparer is None or not paths or not run.started.checks_allowed:
        return ExamResult()
    async with (
        world.trees.open_tree(run.landing.tip) as before,
        world.trees.open_tree(run.landing.tip, [case.patch]) as after,
    ):
        said = await world.comparer.compare(before, after, paths, words=join_words(case.items))
    return judge_comparison(said, find_intent(case.items))


def judge_comparison(said: CompareResult, wanted: Intent) -> ExamResult:
    """Judge a comparison by what the findings ask for."""
    examples = "; ".join(said.examples)
    if said.unusable:
        return ExamResult(noted=(f"old and new code were not compared: {said.unusable}",))
    counted = f"{', '.join(said.functions)} with {said.inputs} inputs"
    if said.suspicious:
        return ExamResult(f"{said.suspicious} ({examples})")
    if wanted is Intent.CHANGE and not said.differing and not said.slight and not said.blind:
        return ExamResult(f"behaves as before: {counted}, and no answer differs")
    if wanted is Intent.KEEP and said.departing:
        why = "changes what the code does, and the finding does not ask for that"
        return ExamResult(f"{why}: {examples}")
    differ = f"{said.differing} answers differ" if said.differing else "no answer differs"
    but = f"; that says little: {said.blind}" if said.blind and not said.differing else ""
    return ExamResult(noted=(f"old and new code were compared: {counted}, {differ}{but}",))


async def _run_red_tests(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Run the project's tests that fail on the tip and concern the findings."""
    said = await rerun_red_tests(case.items, case.patch, run, world)
    return ExamResult(said.stays, said.proofs, runs=said.runs)


async def _run_private_tests(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Run the private tests that failed before the fix; now they must pass."""
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: list[str] = []
    runs = 0
    known = [run.by_item.reproductions.get(item.number) for item in case.items]
    for check in per_test_checks(run)[:1]:
        for test in (test for test in known if test is not None and test.red):
            name = f"private test of item {test.item}"
            stale = await confirm_red(check, test.path, test.content, run, world)
            if stale:
                noted.append(f"the {name} says nothing any more: {stale}")
                continue
            patches = [case.patch, make_file_patch(test.path, test.content)]
            now = await run_test_file(check, test.path, patches, run, world)
            runs += 1
            if now.vain or now.failed or not now.passed:
                # Without its output: the fixer reads the reason, and must not know the test.
                why = f"a {name} was red before the fix, and is not green with it"
                return ExamResult(why, runs=runs)
            made = f"a private test ({check.name}), made before the fix and not shown to the fixer"
            proof = Proof(ProofClass.REPRODUCED, f"{made}: red then, green now")
            proofs[test.item] = (proof,)
    return ExamResult(proofs=proofs, noted=tuple(noted), runs=runs)


async def _run_new_tests(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Run the fixer's new tests, each as a witness for the items its report names, else for the
    only item.
    """
    reports = run.work.reports
    named = {
        item.number: reports[item.number].tests for item in case.items if item.number in reports
    }
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: list[str] = []
    runs = 0
    code = [path for path in case.seen.after if path not in case.new_tests]
    for path in _select_tests(case):
        looked = find_source_read(case.seen.after[path] or "", code)
        amended = case.seen.before[path] is not None
        if looked:
            why = f"it looks at the text of the code ({looked}), not at what it does"
            noted.append(f"{path} is no witness: {why}")
        if looked and not amended:
            continue
        said = await run_witness(path, case.patch, case.new_tests, run, world)
        runs += said.runs
        if amended and said.bad:
            # The checks run the base's version of this file, so only this look sees new tests fail.
            why = f"adds tests to {path} that are not seen to pass with the fix: {said.bad}"
            return ExamResult(why, runs=runs)
        noted += [said.noted] if said.noted and not looked else []
        if said.proof is not None and not looked:
            for number in _find_items(path, named, case):
                proofs[number] = (*proofs.get(number, ()), said.proof)
    missing = sorted({path for paths in named.values() for path in paths} - set(case.seen.after))
    noted += [f"{path} was named as a test of the fix, and is not in the patch" for path in missing]
    return ExamResult(proofs=proofs, noted=tuple(noted), runs=runs)


async def _replay_calls(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Make the calls of the tests again where no test runner is."""
    code = tuple(path for path in case.seen.after if not world.protected.holds(path))
    subject = ReplaySubject(case.items, case.patch, code, case.new_tests)
    said = await replay_patch(subject, run, world)
    if said is None:
        return ExamResult()
    return ExamResult(said.refuted, beside="" if said.refuted else describe_replay(said), runs=2)


def _find_items(path: str, named: Mapping[int, Sequence[str]], case: BatchCase) -> list[int]:
    alone = [item.number for item in case.items] if len(case.items) == 1 else []
    return [number for number, paths in named.items() if path in paths] or alone


def _select_tests(case: BatchCase) -> Sequence[str]:
    """Return the new files that contain tests, not only helpers."""
    words = ("def test", "TestCase", "test(", "it(", "func Test", "#[test]")
    texts = {path: case.seen.after[path] or "" for path in case.new_tests}
    return [path for path, text in texts.items() if any(word in text for word in words)]
