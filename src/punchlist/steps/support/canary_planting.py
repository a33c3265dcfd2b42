"""Canaries: patches whose worth is known are put before the challenger, so that its scores can be
read with its error rate.
"""

from collections.abc import Sequence

from msgspec import Struct

from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.canaries import CANARIES, Canary
from punchlist.model.integrity.wilson_interval import share
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.item import Item, Status
from punchlist.model.item.score import Score, by_item
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import FileChange, Patch, splices_between
from punchlist.model.patch.unified_diff import unified
from punchlist.ports.roles import Background, Challenger, Exhibit, Task
from punchlist.ports.world import World


class Caught(Struct, frozen=True):
    """What a challenger made of the planted patches."""

    bad: int
    refused: int
    good: int
    approved: int

    def __str__(self) -> str:
        return (
            f"refused {share(self.refused, self.bad)} planted bad fixes, approved"
            f" {share(self.approved, self.good)} good ones"
        )


async def planted(
    count: int, threshold: int, challenger: Challenger | None, run: Run, world: World
) -> tuple[str, Usage]:
    """Up to so many canaries, one call each: known-bad and known-good by turns, in trees that are
    thrown away.
    """
    if not count or challenger is None:
        return "", Usage()
    chosen = CANARIES[:count]
    scores: list[tuple[Canary, bool]] = []
    spent = Usage()
    for number, canary in enumerate(chosen, 1):
        said, usage = await _judged(number, canary, challenger, run, world)
        scores.append((canary, said is not None and said.approves(threshold)))
        spent += usage
    return str(counted(scores)), spent


def counted(scores: Sequence[tuple[Canary, bool]]) -> Caught:
    bad = [approved for canary, approved in scores if not canary.good]
    good = [approved for canary, approved in scores if canary.good]
    return Caught(len(bad), bad.count(False), len(good), good.count(True))


async def _judged(
    number: int, canary: Canary, challenger: Challenger, run: Run, world: World
) -> tuple[Score | None, Usage]:
    """Nothing tells a canary from a real item: it has a number, a file and a diff
    like any other.
    """
    item = _item(max(run.items, default=0) + number, canary)
    patch = Patch(tuple(splices_between(canary.path, canary.before, canary.after)))
    batch = Batch(
        number=number, items=(item.number,), fixer=AGENT, title=canary.title, paths=(canary.path,)
    )
    laid = Patch(files=(FileChange(canary.path, canary.after.encode().decode("latin-1")),))
    async with world.trees.at(run.landing.tip, [laid], apart=run.outside("challenger")) as tree:
        exhibit = Exhibit(batch.number, unified(patch, {canary.path: canary.before}), batch.items)
        task = Task(
            label=f"{run.position.place} canary {number}",
            items=(item,),
            told=Background(),
            batches=(batch,),
        )
        said = await challenger.judge(task, [exhibit], tree)
    return by_item(said.scores).get(item.number), said.usage


def _item(number: int, canary: Canary) -> Item:
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
