"""Finds edits of what the tests load, and new files that would get in their way."""

from punchlist.model.checks.loads import Loads, join_loads
from punchlist.model.checks.protected import matches_any
from punchlist.model.integrity.judge_files import JudgeFiles, find_test_files
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import load_baseline, usable_checks
from punchlist.steps.judging.patch_text_scan import Texts


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
