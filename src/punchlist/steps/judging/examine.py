"""Examines one agent's batch alone, cheapest first: text, old against new code, tests."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.planted_tests import describe_blindness
from punchlist.model.integrity import intent as intents
from punchlist.model.integrity.intent import Intent, find_intent, is_about_text, join_words
from punchlist.model.integrity.new_tests import find_source_read, is_idle
from punchlist.model.item.item import Item
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Examined
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.compare import CompareResult, ReplayResult
from punchlist.ports.world import World
from punchlist.steps.judging.ablation import Ablation, ablate_patch
from punchlist.steps.judging.judge_edits import find_blind_check, find_judge_edits, run_with_plant
from punchlist.steps.judging.patch_text_scan import Texts, build_texts, scan_patch
from punchlist.steps.judging.red_tests import PartialCure, rerun_red_tests, run_cured_checks
from punchlist.steps.judging.replayed_calls import ReplaySubject, describe_replay, replay_patch
from punchlist.steps.judging.witness import (
    TurnedTests,
    confirm_red,
    drop_witnesses,
    make_file_patch,
    per_test_checks,
    run_witness,
)

_LOOKED = 60
"""Inputs like those of the tests that must be compared before equal answers say something."""


class Examine(Struct, frozen=True):
    batch: int


class BatchCase(Struct, frozen=True):
    """The batch under examination."""

    items: tuple[Item, ...]
    patch: Patch
    seen: Texts
    new_tests: tuple[str, ...]
    settled: frozenset[int] = frozenset()
    """Items that only analyzers reported, all of which are silent now, with suppressions off."""
    judged_by: tuple[str, ...] = ()
    """Edited files that belong to the tests, because only the tests load them."""
    intruder: str = ""
    """Why a new file is refused: it would get in the way of the tests."""
    turned: frozenset[str] = frozenset()
    """Test files in which tests turned green, as far as they were run."""

    @property
    def intent(self) -> Intent:
        """What the findings ask for; analyzers that are silent ask for no other behaviour."""
        asked = find_intent(self.items)
        rest = [item for item in self.items if item.number not in self.settled]
        if asked is not Intent.CHANGE or find_intent(rest) is Intent.CHANGE:
            return asked
        return Intent.OPEN


class ExamResult(Struct, frozen=True):
    """Result of one examination."""

    refuted: str = ""
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: tuple[str, ...] = ()
    beside: str = ""
    """What must be read with a proof by a test that the fixer could know."""
    runs: int = 0
    partial: dict[int, PartialCure] = {}
    """Items of which a red test stayed red: nothing of this patch is their witness."""
    turned: dict[int, tuple[TurnedTests, ...]] = {}
    """By item: the tests behind its proofs."""
    unchanged: str = ""
    """Why the patch is refused, unless calls of the tests made again show an effect of it."""
    unreached: str = ""
    """The same where made-up inputs did not come by all of it; a test that turned green excuses."""
    reached_else: bool = False
    """All else that the patch changes was called."""
    replayed: ReplayResult | None = None


async def examine_batch(task: Examine, run: Run, world: World) -> Examined:
    began = world.clock()
    case = await _build_case(task, run, world)
    total = ExamResult()
    for look in _LOOKS:
        turned = frozenset(test.path for each in total.turned.values() for test in each)
        total = _add_result(total, await look(replace(case, turned=turned), run, world))
        if total.refuted:
            break
    else:
        total = await _weigh_witnesses(total, case, run, world)
    spent = Usage(seconds=world.clock() - began, checks=total.runs)
    proofs = {} if total.refuted else _add_beside(total.proofs, total.beside)
    kinds = {proof.kind for each in proofs.values() for proof in each}
    unsaid = total.beside and ProofClass.WITNESSED not in kinds
    noted = (*total.noted, total.beside) if unsaid else total.noted
    return Examined(
        batch=task.batch, refuted=total.refuted, proofs=proofs, noted=noted, usage=spent
    )


def _add_result(total: ExamResult, found: ExamResult) -> ExamResult:
    items = {**total.proofs, **found.proofs, **found.turned}
    return ExamResult(
        refuted=found.refuted,
        proofs={item: (*total.proofs.get(item, ()), *found.proofs.get(item, ())) for item in items},
        noted=(*total.noted, *found.noted),
        beside=found.beside or total.beside,
        runs=total.runs + found.runs,
        partial=total.partial | found.partial,
        turned={item: (*total.turned.get(item, ()), *found.turned.get(item, ())) for item in items},
        unchanged=found.unchanged or total.unchanged,
        unreached=found.unreached or total.unreached,
        reached_else=found.reached_else or total.reached_else,
        replayed=found.replayed or total.replayed,
    )


async def _weigh_witnesses(
    total: ExamResult, case: BatchCase, run: Run, world: World
) -> ExamResult:
    """Take away the witnesses of partial cures, and of cures that are elsewhere."""
    refuted, proofs = judge_partial(total.proofs, total.partial)
    refuted = refuted or judge_unchanged(total)
    if refuted:
        return replace(total, refuted=refuted)
    turned = {item: tests for item, tests in total.turned.items() if proofs.get(item)}
    task = Ablation(case.items, case.patch, case.new_tests, turned)
    found = await ablate_patch(task, run, world)
    return replace(
        total,
        refuted=found.refuted,
        proofs=drop_witnesses(proofs, found.elsewhere),
        noted=(*total.noted, *(f"no regression test: {each}" for each in found.elsewhere.values())),
        runs=total.runs + found.runs,
    )


def judge_unchanged(total: ExamResult) -> str:
    """Return why a patch is refused that was not seen to change anything, or ''."""
    said = total.replayed
    if said is not None and said.effects:
        return ""
    if total.unchanged:
        return total.unchanged
    if said is None or said.compared < _LOOKED or any(total.proofs.values()):
        return ""
    if not total.reached_else and not said.additive:
        return ""
    like = f"nor with {said.compared} inputs like those of the tests"
    return f"{total.unreached}, {like}" if total.unreached else ""


def judge_partial(
    proofs: Mapping[int, tuple[Proof, ...]], partial: Mapping[int, PartialCure]
) -> tuple[str, dict[int, tuple[Proof, ...]]]:
    """Take the witnesses of partly cured items away; return why the patch is refused, or '', and
    the proofs that are left. A private test outweighs a red test of the project.
    """
    left = drop_witnesses(proofs, partial)
    alone = [cure.said for item, cure in partial.items() if not (cure.excused or left.get(item))]
    return (alone[0] if alone else ""), left


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
    tests = tuple(seen.find_tests(world.protected))
    settled = _find_settled(task.batch, items, run)
    subjects = frozenset(item.current.spot.path for item in items)
    edits = await find_judge_edits(seen, subjects, run, world)
    return BatchCase(items, patch, seen, tests, settled, *edits)


def _find_settled(batch: int, items: Sequence[Item], run: Run) -> frozenset[int]:
    """Return the items that only analyzers reported whose silence about the batch is a proof."""
    rechecked = run.work.rechecked
    if rechecked is None or batch not in rechecked.silent:
        return frozenset()
    proving = set(run.started.reviewers).difference(rechecked.unproven)
    return frozenset(
        item.number
        for item in items
        if all(finding.source in proving for finding in (*item.findings, *item.sighted))
    )


async def _scan_text(case: BatchCase, run: Run, world: World) -> ExamResult:
    asking = [item for item in case.items if item.number not in case.settled]
    found = scan_patch(
        case.items, case.seen, world.protected, world.suppressions, asking, loaded=case.judged_by
    )
    return ExamResult(found.refuted or case.intruder, noted=found.noted)


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
    return judge_comparison(said, case.intent)


def judge_comparison(said: CompareResult, wanted: Intent) -> ExamResult:
    """Judge a comparison by what the findings ask for."""
    examples = "; ".join(said.examples)
    if said.unusable:
        return ExamResult(noted=(f"old and new code were not compared: {said.unusable}",))
    counted = f"{', '.join(said.functions)} with {said.inputs} inputs"
    if said.suspicious:
        return ExamResult(f"{said.suspicious} ({examples})")
    if said.lacking and wanted is Intent.CHANGE:
        return ExamResult(said.lacking)
    same = f"behaves as before: {counted}, and no answer differs"
    unchanged = wanted is Intent.CHANGE and not said.differing and not said.slight
    if unchanged and not said.blind:
        return ExamResult(unchanged=same)
    if wanted is Intent.KEEP and said.departing:
        why = "changes what the code does, and the finding does not ask for that"
        return ExamResult(f"{why}: {examples}")
    differ = f"{said.differing} answers differ" if said.differing else "no answer differs"
    but = f"; that says little: {said.blind}" if said.blind and not said.differing else ""
    return ExamResult(
        noted=(f"old and new code were compared: {counted}, {differ}{but}",),
        unreached=same if unchanged and not said.inner else "",
        reached_else=said.unreached,
    )


async def _run_red_tests(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Run the project's tests that fail on the tip and concern the findings."""
    said = await rerun_red_tests(case.items, case.patch, run, world)
    noted = tuple(f"no regression test proves it: {each.said}" for each in said.partial.values())
    noted = (*noted, *said.noted)
    return ExamResult(
        said.stays, said.proofs, noted, runs=said.runs, partial=said.partial, turned=said.turned
    )


async def _run_red_checks(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Run the checks in which no test passed on the base; green now, they speak for the patch."""
    proofs, runs = await run_cured_checks(case.patch, run, world)
    found = {item.number: proofs for item in case.items} if proofs else {}
    return ExamResult(proofs=found, runs=runs)


async def _run_private_tests(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Run the private tests that failed before the fix; now they must pass."""
    proofs: dict[int, tuple[Proof, ...]] = {}
    turned: dict[int, tuple[TurnedTests, ...]] = {}
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
            extra = make_file_patch(test.path, test.content)
            now, blind = await run_with_plant(check, test, case.patch, run, world)
            runs += 1
            if blind:
                return ExamResult(describe_blindness("a private test"), runs=runs + 1)
            if now.vain or now.failed or not now.passed:
                # Without its output: the fixer reads the reason, and must not know the test.
                why = f"a {name} was red before the fix, and is not green with it"
                return ExamResult(why, runs=runs)
            made = f"a private test ({check.name}), made before the fix and not shown to the fixer"
            said = f"{made}: red then, green now"
            proof = Proof(ProofClass.REPRODUCED, said, check=check.name)
            proofs[test.item] = (proof,)
            turned[test.item] = (TurnedTests(check, test.path, now.passed, extra),)
    return ExamResult(proofs=proofs, noted=tuple(noted), runs=runs, turned=turned)


async def _run_new_tests(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Run the fixer's new tests, each as a witness for the items its report names, else for the
    only item.
    """
    reports = run.work.reports
    named = {
        item.number: reports[item.number].tests for item in case.items if item.number in reports
    }
    total = ExamResult()
    for path in _select_tests(case):
        found = await _run_new_test(path, _find_items(path, named, case), case, run, world)
        total = _add_result(total, found)
        if total.refuted:
            return total
    missing = sorted({path for paths in named.values() for path in paths} - set(case.seen.after))
    noted = [f"{path} was named as a test of the fix, and is not in the patch" for path in missing]
    return _add_result(total, ExamResult(noted=tuple(noted)))


async def _run_new_test(
    path: str, items: Sequence[int], case: BatchCase, run: Run, world: World
) -> ExamResult:
    text, amended = case.seen.after[path] or "", case.seen.before[path] is not None
    code = [each for each in case.seen.after if each not in case.new_tests]
    proving = case.intent is not Intent.KEEP and not is_about_text(case.items)
    pretends = proving and not amended and is_idle(text)
    noted: tuple[str, ...] = ()
    if looked := find_source_read(text, code):
        why = f"it looks at the text of the code ({looked}), not at what it does"
        noted = (f"{path} is no witness: {why}",)
        if not amended:
            said = f"its test, {path}, proves nothing: {why}" if pretends else ""
            return ExamResult(said, noted=noted)
    witness = await run_witness(path, case.patch, case.new_tests, run, world)
    if amended and witness.bad:
        # The checks run the base's version of this file, so only this look sees new tests fail.
        why = f"adds tests to {path} that are not seen to pass with the fix: {witness.bad}"
        return ExamResult(why, runs=witness.runs)
    if pretends and witness.vacuous:
        why = "it passes without the fix, too, and calls nothing of the code"
        return ExamResult(f"its test, {path}, proves nothing: {why}", runs=witness.runs)
    if witness.proof is None or witness.turned is None or looked:
        more = (witness.noted,) if witness.noted and not looked else ()
        return ExamResult(noted=(*noted, *more), runs=witness.runs)
    return ExamResult(
        proofs=dict.fromkeys(items, (witness.proof,)),
        turned=dict.fromkeys(items, (witness.turned,)),
        noted=(*noted, *((witness.noted,) if witness.noted else ())),
        runs=witness.runs,
    )


async def _replay_calls(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Make the calls of the tests again where no test runner is."""
    code = tuple(path for path in case.seen.after if not world.protected.holds(path))
    asks_change = case.intent is Intent.CHANGE or intents.is_about_safety(case.items)
    subject = ReplaySubject(case.items, case.patch, code, case.new_tests, asks_change, case.turned)
    said = await replay_patch(subject, run, world)
    if said is None:
        return ExamResult()
    beside = "" if said.refuted else describe_replay(said)
    return ExamResult(said.refuted, beside=beside, runs=2, replayed=said)


async def _run_blind_checks(case: BatchCase, run: Run, world: World) -> ExamResult:
    """Let checks that only have an exit code judge tests that must fail."""
    refuted, runs = await find_blind_check(case.patch, run, world)
    return ExamResult(refuted, runs=runs)


def _find_items(path: str, named: Mapping[int, Sequence[str]], case: BatchCase) -> list[int]:
    alone = [item.number for item in case.items] if len(case.items) == 1 else []
    return [number for number, paths in named.items() if path in paths] or alone


def _select_tests(case: BatchCase) -> Sequence[str]:
    """Return the new files that contain tests, not only helpers."""
    words = ("def test", "TestCase", "test(", "it(", "func Test", "#[test]")
    texts = {path: case.seen.after[path] or "" for path in case.new_tests}
    return [path for path, text in texts.items() if any(word in text for word in words)]


_LOOKS = (
    _scan_text,
    _compare_code,
    _run_red_tests,
    _run_red_checks,
    _run_private_tests,
    _run_new_tests,
    _replay_calls,
    _run_blind_checks,
)
