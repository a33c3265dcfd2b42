"""Remembers which tools' fixes broke tests, so that later runs on the same code skip them."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec
from msgspec import Struct

from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.item.batch import Batch
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import allowed_checks

PREFIX = "refuted/"
"""How the keys in the cache begin."""


class Refutation(Struct, frozen=True):
    run: str
    why: str


async def recall_refutations(batches: Iterable[Batch], run: Run, world: World) -> dict[int, str]:
    """Return by batch why it is not tried: an earlier run saw it break tests, on the same code,
    beside the same other fixes, with the same checks.
    """
    found: dict[int, str] = {}
    for number, key in (await _make_keys(batches, run, world)).items():
        kept = world.cache.get(key)
        if kept is not None:
            known = parse_json(kept, Refutation)
            where = f"seen in run {known.run} on the same code with the same checks"
            found[number] = f"{known.why} ({where}, so it was not tried again)"
    return found


async def remember_refutations(broken: Mapping[int, str], run: Run, world: World) -> None:
    """Remember the batches that broke tests, with the reason."""
    batches = [run.work.batches[number] for number in broken]
    for number, key in (await _make_keys(batches, run, world)).items():
        world.cache.put(key, msgspec.json.encode(Refutation(run.id, broken[number])))


async def _make_keys(batches: Iterable[Batch], run: Run, world: World) -> dict[int, str]:
    """Return the keys of tools' fixes: hashes of the fix, the code, the other fixes of the round
    and the checks. An agent's fix is a new one each time.
    """
    wanted = [batch for batch in batches if not batch.uses_agent]
    checks = allowed_checks(run)
    if not wanted or not checks:
        return {}
    grounds = [(check, await world.checks.hash_environment(check)) for check in checks]
    trees = [await world.repository.tree_id(name) for name in (run.landing.tip, world.change.base)]
    ours = (batch.number for batch in run.work.batches.values() if not batch.uses_agent)
    beside = sorted(_hash(run.work.patches[n]) for n in ours if n in run.work.patches)
    judged = _hash((grounds, trees, beside, world.protected))
    keys = {batch.number: _hash((run.work.patches[batch.number], judged)) for batch in wanted}
    return {number: f"{PREFIX}{key}" for number, key in keys.items()}


def _hash(value: object) -> str:
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
