"""Looks at one agent's batch by itself, cheapest first: its text, old against new code, its own
tests, private ones.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from punchlist.model.integrity.intent import Intent, intent, words_of
from punchlist.model.integrity.new_tests import reads_source
from punchlist.model.item.item import Item
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Examined
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.compare import Compared
from punchlist.ports.world import World
from punchlist.steps.judging.patch_text_scan import Scanned, Texts, scanned, texts
from punchlist.steps.judging.red_tests import turned
from punchlist.steps.judging.witness import heard, laid, red, telling, witnessed


class Examine(Struct, frozen=True):
    batch: int


class Case(Struct, frozen=True):
    """What is under examination."""

    items: tuple[Item, ...]
    patch: Patch
    seen: Texts
    new_tests: tuple[str, ...]


class Heard(Struct, frozen=True):
    """What one look came to."""

    refuted: str = ""
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: tuple[str, ...] = ()
    runs: int = 0


async def examine(task: Examine, run: Run, world: World) -> Examined:
    began = world.clock()
    case = await _case(task, run, world)
    refuted, runs = "", 0
    noted: tuple[str, ...] = ()
    proofs: dict[int, tuple[Proof, ...]] = {}
    for look in (_read, _compared, _cured, _reproduced, _testified):
        found = await look(case, run, world)
        refuted, noted, runs = found.refuted, (*noted, *found.noted), runs + found.runs
        proofs = {
            item: (*proofs.get(item, ()), *found.proofs.get(item, ()))
            for item in {**proofs, **found.proofs}
        }
        if refuted:
            break
    spent = Usage(seconds=world.clock() - began, checks=runs)
    return Examined(
        batch=task.batch,
        refuted=refuted,
        proofs={} if refuted else proofs,
        noted=noted,
        usage=spent,
    )


async def _case(task: Examine, run: Run, world: World) -> Case:
    batch, patch = run.work.batches[task.batch], run.work.patches[task.batch]
    seen = texts(
        patch, {path: await world.repository.text(run.landing.tip, path) for path in patch.paths}
    )
    return Case(
        tuple(run.items[number] for number in run.claims(batch)),
        patch,
        seen,
        tuple(seen.tests(world.protected)),
    )


async def _read(case: Case, run: Run, world: World) -> Heard:
    said: Scanned = scanned(case.items, case.seen, world.protected, world.suppressions)
    return Heard(said.refuted, noted=said.noted)


async def _compared(case: Case, run: Run, world: World) -> Heard:
    """Old against new code. It runs what the repository has, so it needs the same leave as the
    checks.
    """
    paths = [path for path in case.seen.after if not world.protected.holds(path)]
    if world.comparer is None or not paths or not run.started.checks_allowed:
        return Heard()
    async with (
        world.trees.at(run.landing.tip) as before,
        world.trees.at(run.landing.tip, [case.patch]) as after,
    ):
        said = await world.comparer.compare(before, after, paths, words=words_of(case.items))
    return judged(said, intent(case.items))


def judged(said: Compared, wanted: Intent) -> Heard:
    """What a comparison is worth, for what the findings ask for."""
    examples = "; ".join(said.examples)
    if said.unusable:
        return Heard(noted=(f"old and new code were not compared: {said.unusable}",))
    counted = f"{', '.join(said.functions)} with {said.inputs} inputs"
    if said.suspicious:
        return Heard(f"{said.suspicious} ({examples})")
    if wanted is Intent.CHANGE and not said.differing and not said.slight and not said.blind:
        return Heard(f"behaves as before: {counted}, and no answer differs")
    if wanted is Intent.KEEP and said.departing:
        return Heard(
            f"changes what the code does, and the finding does not ask for that: {examples}"
        )
    differ = f"{said.differing} answers differ" if said.differing else "no answer differs"
    but = f"; that says little: {said.blind}" if said.blind and not said.differing else ""
    return Heard(noted=(f"old and new code were compared: {counted}, {differ}{but}",))


async def _cured(case: Case, run: Run, world: World) -> Heard:
    """Tests of the project that are red on the tip and speak of what the findings are about."""
    said = await turned(case.items, case.patch, run, world)
    return Heard(said.stays, said.proofs, runs=said.runs)


async def _reproduced(case: Case, run: Run, world: World) -> Heard:
    """Private tests that were red before anybody began: now they must pass."""
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: list[str] = []
    runs = 0
    for item in case.items:
        known = run.by_item.reproductions.get(item.number)
        if known is None or not known.red:
            continue
        for check in telling(run)[:1]:
            stale = await red(check, known.path, known.content, run, world)
            if stale:
                noted.append(
                    f"the private test of item {item.number} says nothing any more: {stale}"
                )
                break
            now = await heard(
                check, known.path, [case.patch, laid(known.path, known.content)], run, world
            )
            runs += 1
            if now.vain or now.failed or not now.passed:
                # No word of what it printed: the reason goes back to the fixer, and the test must
                # stay unknown to it.
                why = (
                    f"a private test of item {item.number} was red before the fix, and is not green"
                    " with it"
                )
                return Heard(why, runs=runs)
            said = (
                f"a private test ({check.name}), made before the fix and not shown to the fixer:"
                " red then, green now"
            )
            proofs[item.number] = (Proof(ProofClass.REPRODUCED, said),)
    return Heard(proofs=proofs, noted=tuple(noted), runs=runs)


async def _testified(case: Case, run: Run, world: World) -> Heard:
    """The fixer's own new tests, each for the items it was said to be for; where nobody said, for
    the one item there is.
    """
    named = {
        item.number: run.work.reports[item.number].tests
        for item in case.items
        if item.number in run.work.reports
    }
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: list[str] = []
    runs = 0
    for path in _candidates(case):
        looked = reads_source(
            case.seen.after[path] or "",
            [each for each in case.seen.after if each not in case.new_tests],
        )
        amended = case.seen.before[path] is not None
        if looked:
            noted.append(
                f"{path} is no witness: it looks at the text of the code ({looked}), not at what it"
                " does"
            )
        if looked and not amended:
            continue
        said = await witnessed(path, case.patch, case.new_tests, run, world)
        runs += said.runs
        if amended and said.bad:
            # The checks run what the base has of this file: nobody else would notice what lands
            # with it.
            return Heard(
                f"adds tests to {path} that are not seen to pass with the fix: {said.bad}",
                runs=runs,
            )
        noted += [said.noted] if said.noted and not looked else []
        if said.proof is not None and not looked:
            for number in _named(path, named, case):
                proofs[number] = (*proofs.get(number, ()), said.proof)
    missing = sorted({path for paths in named.values() for path in paths} - set(case.seen.after))
    noted += [f"{path} was named as a test of the fix, and is not in the patch" for path in missing]
    return Heard(proofs=proofs, noted=tuple(noted), runs=runs)


def _named(path: str, named: Mapping[int, Sequence[str]], case: Case) -> list[int]:
    alone = [item.number for item in case.items] if len(case.items) == 1 else []
    return [number for number, paths in named.items() if path in paths] or alone


def _candidates(case: Case) -> Sequence[str]:
    """New files that have tests in them, rather than what tests need."""
    words = ("def test", "TestCase", "test(", "it(", "func Test", "#[test]")
    return [
        path
        for path in case.new_tests
        if any(word in (case.seen.after[path] or "") for word in words)
    ]
