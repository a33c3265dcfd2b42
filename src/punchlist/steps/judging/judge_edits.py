"""Finds edits of what the tests load, files in their way, and code that makes them blind."""

import secrets

from punchlist.model.checks.check import Check, CheckKind, CheckResult
from punchlist.model.checks.loads import Loads, join_loads
from punchlist.model.checks.planted_tests import name_plant, plant_test
from punchlist.model.checks.protected import matches_any
from punchlist.model.integrity.judge_files import JudgeFiles, find_test_files
from punchlist.model.ledger.events import Reproduced
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import judge_view, load_baseline, usable_checks
from punchlist.steps.judging.patch_text_scan import Texts
from punchlist.steps.judging.witness import (
    WitnessRun,
    make_file_patch,
    per_test_checks,
    run_test_file,
    run_with_copies,
)


async def find_judge_edits(
    seen: Texts, subjects: frozenset[str], run: Run, world: World
) -> tuple[tuple[str, ...], str]:
    """Return the edited files that only the tests load, and why a new file is refused, or ''."""
    if not set(seen.after) - subjects:
        return (), ""
    loads, ids = _load_baselines(run, world)
    async with world.trees.open_tree(run.landing.tip) as tree:
        judges = JudgeFiles(
            loads,
            tests=find_test_files(ids, loads.modules),
            protected=world.protected,
            subjects=subjects,
            read=lambda path: tree.text(path) or "",
        )
        files = frozenset(tree.files())
        gone = {path for path, text in seen.after.items() if text is None}
        held = tuple(path for path in seen.after if path in files and judges.holds(path))
        added = [path for path in seen.after if path not in files and path not in gone]
        free = [path for path in added if not matches_any(path, world.protected.configuration)]
        reasons = [judges.find_intruder(p, seen.after[p] or "", files, gone) for p in free]
    return held, next(filter(None, reasons), "")


def _load_baselines(run: Run, world: World) -> tuple[Loads, list[str]]:
    """Return what all usable checks loaded on the base, and their tests."""
    loads: list[Loads] = []
    ids: list[str] = []
    for check in usable_checks(run):
        try:
            known = load_baseline(check, world)
        except FileNotFoundError:
            continue
        loads.append(known.loads)
        ids += known.tests
    return join_loads(loads), ids


async def run_with_plant(
    check: Check, test: Reproduced, patch: Patch, run: Run, world: World
) -> tuple[WitnessRun, bool]:
    """Run a private test with the patch, and beside it a copy that must fail. Return the result,
    and whether the copy fails only without the patch.
    """
    mark = f"t{secrets.token_hex(4)}"
    extra = [make_file_patch(test.path, test.content)]
    text, plant = plant_test(test.content, mark), name_plant(test.path, mark)
    if not text:
        return await run_test_file(check, test.path, [patch, *extra], run, world), False
    extra.append(make_file_patch(plant, text))
    paths = (test.path, plant)
    now = await run_with_copies(check, paths, [patch, *extra], run, world)
    if not now.blind:
        return now, False
    before = await run_with_copies(check, paths, extra, run, world)
    return now, not before.blind


async def find_blind_check(patch: Patch, run: Run, world: World) -> tuple[str, int]:
    """Return why a patch is refused with which a check is green whatever its Python tests ask for,
    or '', and the number of runs. Checks that report each test are looked at elsewhere.
    """
    plain = [check for check in usable_checks(run) if check.kind is CheckKind.PLAIN]
    judging = [check for check in plain if ".py" in run.checks.baselines[check.name].judges]
    if per_test_checks(run) or not any(path.endswith(".py") for path in patch.paths):
        return "", 0
    plants = await _plant_tests(patch, run, world) if judging else Patch()
    runs = 0
    for check in judging if plants.paths else ():
        runs += 1
        if not (await _run_planted(check, [patch, plants], run, world)).green:
            continue
        runs += 1
        before = await _run_planted(check, [plants], run, world)
        if not before.green and not before.trouble:
            why = "is red without the fix, and green with it"
            asked = f"with other expectations in its tests {check.name} {why}"
            return f"makes the tests blind: {asked}", runs
    return "", runs


async def _plant_tests(patch: Patch, run: Run, world: World) -> Patch:
    """Return a patch after which the project's tests fail."""
    mark = f"t{secrets.token_hex(4)}"
    async with world.trees.open_tree(run.landing.tip, pristine=judge_view(world)) as tree:
        tests = [path for path in tree.files() if matches_any(path, world.protected.tests)]
        texts = {path: plant_test(tree.text(path) or "", mark) for path in tests}
    free = [path for path, text in texts.items() if text and path not in patch.paths]
    return Patch(files=tuple(make_file_patch(path, texts[path]).files[0] for path in free))


async def _run_planted(check: Check, patches: list[Patch], run: Run, world: World) -> CheckResult:
    view = judge_view(world, patches[-1].paths)
    async with world.trees.open_tree(run.landing.tip, patches, pristine=view) as tree:
        return await world.checks.run(check, tree)
