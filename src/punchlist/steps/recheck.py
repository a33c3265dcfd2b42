"""The analyzers look at the patched tree: is what they found gone, and did nothing else get louder?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.model.events import Rechecked
from punchlist.model.finding import Finding
from punchlist.model.identity import matched
from punchlist.model.item import Item, Status
from punchlist.model.plan import Batch
from punchlist.model.run import Run
from punchlist.model.usage import Usage
from punchlist.ports import World
from punchlist.steps.review import in_view

ROUNDS = 4
"""How often the guilty are looked for by taking out the likeliest; after that everything in their files goes."""


class Recheck(Struct, frozen=True):
    batches: tuple[int, ...]


async def recheck(task: Recheck, run: Run, world: World) -> Rechecked:
    began = world.clock()
    left = [run.work.batches[number] for number in task.batches]
    failed: dict[int, str] = {}
    follow: dict[int, tuple[str, ...]] = {}
    for turn in range(ROUNDS + 1):
        findings, blind = await _analyzed(left, run, world)
        seen = Look(run, left, findings)
        guilty = dict(seen.unsilenced()) | dict(seen.loud(wide=turn == ROUNDS)) | dict(_unseen(left, run, blind))
        follow = seen.follow_ups()
        if not guilty:
            break
        failed |= guilty
        left = [batch for batch in left if batch.number not in guilty]
    vouched = tuple(batch.number for batch in left if _sources(batch, run) & world.analyzers.keys())
    return Rechecked(
        passed=tuple(batch.number for batch in left),
        silent=vouched,
        failed=failed,
        followed_by=follow,
        usage=Usage(seconds=world.clock() - began),
    )


async def _analyzed(batches: Sequence[Batch], run: Run, world: World) -> tuple[list[Finding], dict[str, str]]:
    patches = [run.work.patches[batch.number] for batch in batches]
    wanted = sorted({source for batch in batches for source in _sources(batch, run)} & world.analyzers.keys())
    findings: list[Finding] = []
    blind: dict[str, str] = {}
    async with world.trees.at(run.tip, patches, pristine=world.protected.configuration, pristine_from=world.change.base) as tree:
        view = in_view(world.change, run, tree)
        for source in wanted:
            analysis = await world.analyzers[source].analyze(tree, view)
            findings += analysis.findings
            if analysis.failed:
                blind[source] = analysis.failed
    return findings, blind


def _sources(batch: Batch, run: Run) -> set[str]:
    return {finding.source for number in batch.items for finding in sighted(run.items[number])}


def _unseen(batches: Sequence[Batch], run: Run, blind: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    for batch in batches:
        for source in sorted(_sources(batch, run) & blind.keys()):
            yield batch.number, f"{source} could not look again: {blind[source]}"


def sighted(item: Item) -> tuple[Finding, ...]:
    return item.latest or item.findings


class Look:
    """Findings before and after, paired; and which batch answers for the difference."""

    def __init__(self, run: Run, batches: Sequence[Batch], after: Sequence[Finding]) -> None:
        self._run, self._batches, self._after = run, batches, after
        sources = {finding.source for finding in after} | {source for batch in batches for source in _sources(batch, run)}
        known = [item for item in run.items.values() if item.status is not Status.FIXED]
        self._before = [(item.number, finding) for item in known for finding in sighted(item) if finding.source in sources]
        self._pairs = matched([finding for _, finding in self._before], after)
        self._new = [finding for index, finding in enumerate(after) if index not in self._pairs]

    def unsilenced(self) -> Iterator[tuple[int, str]]:
        """Batches whose own finding is still there. Counting comes first: among twins, which one is left is a guess."""
        still_there = {self._before[old][0] for old in self._pairs.values()}
        before = Counter(_kind(finding) for _, finding in self._before)
        after = Counter(_kind(finding) for finding in self._after)
        aimed = Counter(_kind(f) for batch in self._batches for n in batch.items for f in sighted(self._run.items[n]))
        for batch in self._batches:
            for number in set(batch.items) & still_there:
                kinds = {_kind(finding) for finding in sighted(self._run.items[number])}
                if any(after[kind] > before[kind] - aimed[kind] for kind in kinds):
                    yield batch.number, f"{self._run.items[number].current.source} still reports it"

    def loud(self, *, wide: bool) -> Iterator[tuple[int, str]]:
        """Batches that bring about something worse than they cure, or something that has no fix of its own."""
        for finding in self._new:
            blamed = self._blamed(finding, wide=wide)
            for batch in blamed:
                if self._is_louder(finding, batch):
                    yield batch.number, f"brings about {finding.rule or finding.source}: {finding.title} ({finding.spot.path}:{finding.spot.line or '?'})"

    def follow_ups(self) -> dict[int, tuple[str, ...]]:
        after: dict[int, tuple[str, ...]] = {}
        for finding in self._new:
            for batch in self._blamed(finding, wide=False):
                after[batch.number] = (*after.get(batch.number, ()), finding.rule or finding.title)
        return after

    def _is_louder(self, finding: Finding, batch: Batch) -> bool:
        cured = min(self._run.items[number].severity.rank for number in batch.items)
        return finding.severity.rank < cured or (finding.fix is None and finding.severity.rank <= cured)

    def _blamed(self, finding: Finding, *, wide: bool) -> list[Batch]:
        """The batch of the same file whose edit has to do with what is now reported: by name, else by nearness."""
        nearby = [batch for batch in self._batches if finding.spot.path in batch.paths]
        if wide or len(nearby) < 2:  # noqa: PLR2004 - one is no choice
            return nearby
        return [min(nearby, key=lambda batch: (not self._named(batch, finding), self._distance(batch, finding), batch.number))]

    def _named(self, batch: Batch, finding: Finding) -> bool:
        words = {name for number in batch.items for name in self._run.items[number].current.context.names}
        return bool(words & set(finding.context.names))

    def _distance(self, batch: Batch, finding: Finding) -> int:
        lines = [self._run.items[number].current.spot.line or 0 for number in batch.items]
        return min(abs(line - (finding.spot.line or 0)) for line in lines)


def _kind(finding: Finding) -> tuple[str, str, str]:
    return (finding.source, finding.rule, finding.spot.path)
