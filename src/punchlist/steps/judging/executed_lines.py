"""Counts, for each batch, how many of its changed lines the checks execute."""

from collections.abc import Iterable

from punchlist.model.checks.changed_lines import (
    ExecutedLines,
    LineCount,
    count_lines,
    find_changed_lines,
    translate_lines,
)
from punchlist.model.checks.coverage import find_judges
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.item.batch import Batch
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch, splices_between
from punchlist.ports.world import World

_PYTHON = ".py"


def lines_artifact(check: str) -> str:
    return f"lines-{check}.json"


async def count_executed(batches: Iterable[Batch], run: Run, world: World) -> dict[int, LineCount]:
    """Return the counts by batch; a batch is left out if one of its checks does not tell."""
    known = {name: load_lines(name, world) for name in run.checks.baselines}
    found: dict[int, LineCount] = {}
    for batch in batches:
        judges = [known[name] for name in find_judges(batch.paths, run.checks.baselines)]
        if batch.protected or not judges or any(each.unknown for each in judges):
            continue
        patch = run.work.patches[batch.number]
        counts = [await _count_file(path, patch, judges, run, world) for path in patch.paths]
        found[batch.number] = sum(counts, LineCount())
    return found


def load_lines(check: str, world: World) -> ExecutedLines:
    kept = world.artifacts.read(lines_artifact(check))
    if kept is None:
        return ExecutedLines(unknown="it was not measured")
    return parse_json(kept, ExecutedLines)


async def _count_file(
    path: str, patch: Patch, judges: list[ExecutedLines], run: Run, world: World
) -> LineCount:
    before = await world.repository.text(run.landing.tip, path)
    if before is None or not path.endswith(_PYTHON):
        return LineCount()
    base = await world.repository.text(world.change.head, path) or ""
    executed = {line for judge in judges for line in judge.files.get(path, ())}
    whole = [each.text for each in patch.files if each.path == path]
    splices = [splice for splice in patch.splices if splice.path == path]
    splices += [splice for text in whole for splice in splices_between(path, before, text)]
    changed = find_changed_lines(before, splices)
    return count_lines(before, changed, translate_lines(base, before, executed))
