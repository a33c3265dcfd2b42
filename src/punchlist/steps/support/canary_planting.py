"""Canaries: known-bad and known-good patches that measure the challenger's error rate."""

from collections.abc import Sequence

from msgspec import Struct

from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.canaries import CANARIES, Canary
from punchlist.model.integrity.wilson_interval import compute_share
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.item import Item, Status
from punchlist.model.item.score import Score, lowest_scores
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import FileChange, Patch, splices_between
from punchlist.model.patch.unified_diff import render_diff
from punchlist.ports.roles import Background, Challenger, Exhibit, RoleTask
from punchlist.ports.world import World


class CanaryScore(Struct, frozen=True):
    """How a challenger scored the canaries."""

    bad: int
    refused: int
    good: int
    approved: int

    def __str__(self) -> str:
        return (
            f"refused {compute_share(self.refused, self.bad)} planted bad fixes, approved"
            f" {compute_share(self.approved, self.good)} good ones"
        )


async def run_canaries(
    count: int, threshold: int, challenger: Challenger | None, run: Run, world: World
) -> tuple[str, Usage]:
    """Judge up to `count` canaries, one call each, in trees that are thrown away."""
    if not count or challenger is None:
        return "", Usage()
    scores: list[tuple[Canary, bool]] = []
    spent = Usage()
    for number, canary in enumerate(CANARIES[:count], 1):
        said, usage = await _judge_canary(number, canary, challenger, run, world)
        scores.append((canary, said is not None and said.approves(threshold)))
        spent += usage
    return str(count_scores(scores)), spent


def count_scores(scores: Sequence[tuple[Canary, bool]]) -> CanaryScore:
    bad = [approved for canary, approved in scores if not canary.good]
    good = [approved for canary, approved in scores if canary.good]
    return CanaryScore(len(bad), bad.count(False), len(good), good.count(True))


async def _judge_canary(
    number: int, canary: Canary, challenger: Challenger, run: Run, world: World
) -> tuple[Score | None, Usage]:
    """Judge a canary like a real item, with number, file and diff: the agent cannot tell."""
    item = _make_item(max(run.items, default=0) + number, canary)
    path = canary.path
    batch = Batch(
        number=number, items=(item.number,), fixer=AGENT, title=canary.title, paths=(path,)
    )
    patch = Patch(tuple(splices_between(path, canary.before, canary.after)))
    exhibit = Exhibit(batch.number, render_diff(patch, {path: canary.before}), batch.items)
    label = f"{run.position.place} canary {number}"
    task = RoleTask(label=label, items=(item,), told=Background(), batches=(batch,))
    whole = Patch(files=(FileChange(path, canary.after.encode().decode("latin-1")),))
    async with world.trees.open_tree(
        run.landing.tip, [whole], apart=run.has_outside_agent("challenger")
    ) as tree:
        said = await challenger.judge(task, [exhibit], tree)
    return lowest_scores(said.scores).get(item.number), said.usage


def _make_item(number: int, canary: Canary) -> Item:
    finding = Finding(
        id=f"canary:{number}",
        source="technical",
        title=canary.title,
        detail=canary.detail,
        spot=Spot(canary.path, canary.line),
        severity=Severity.MAJOR,
    )
    return Item(
        number=number, fingerprint=f"canary-{number}", findings=(finding,), status=Status.CLAIMED
    )
