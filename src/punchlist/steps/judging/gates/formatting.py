"""Lets the project's own formatters format what the fixes change."""

from collections.abc import Sequence

from msgspec.structs import replace

from punchlist.model.checks.check import Check
from punchlist.model.item.batch import Batch
from punchlist.model.ledger.run import Run
from punchlist.model.patch.adopt_edits import adopt_edits
from punchlist.model.patch.patch import Patch
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import check_view


async def format_patches(
    batches: Sequence[Batch], formatters: Sequence[Check], run: Run, world: World
) -> dict[int, Patch]:
    """Return the patches that change because a formatter changes their common result."""
    patches = {batch.number: run.work.patches[batch.number] for batch in batches}
    for gate in formatters:
        view = check_view(gate, world)
        paths = dict.fromkeys(path for patch in patches.values() for path in patch.paths)
        async with world.trees.open_tree(run.landing.tip, patches.values(), pristine=view) as tree:
            old = {path: tree.text(path) for path in paths}
            await world.checks.run(replace(gate, command=gate.repair), tree)
            new = {path: tree.text(path) for path in paths}
        for path in (path for path in paths if old[path] != new[path]):
            before = await world.repository.text(run.landing.tip, path)
            touching = {n: patch for n, patch in patches.items() if path in patch.paths}
            whole = any(change.path == path for p in touching.values() for change in p.files)
            if before is not None and not whole:
                patches |= adopt_edits(path, before, touching, new[path] or "")
    return {number: each for number, each in patches.items() if each != run.work.patches[number]}
