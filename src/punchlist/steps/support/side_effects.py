"""Find the commit that removed a finding which no fix was made for."""

from collections.abc import Sequence

from msgspec.structs import replace

from punchlist.model.dedup.identity import match_findings
from punchlist.model.item.item import Fact, Item
from punchlist.model.ledger.events import Consolidated
from punchlist.model.ledger.run import Run
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World

_MOST_LOOKS = 32
"""Analyzer runs for one consolidation; what is left then gets the last commit in its file."""


async def attribute_commits(event: Consolidated, run: Run, world: World) -> Consolidated:
    """Return the event with, for each item that vanished, the commit that removed it."""
    looks = _ToolLooks(run, world)
    moves = []
    for move in event.moves:
        commit = ""
        if move.fact is Fact.COMMITTED and move.by == "review":
            commit = await _find_commit(run.items[move.item], run, looks)
        moves.append(replace(move, ref=commit) if commit else move)
    return replace(event, moves=tuple(moves))


async def _find_commit(item: Item, run: Run, looks: "_ToolLooks") -> str:
    """Return the first commit since the last review at which the item is no longer reported."""
    landed = run.landing.landed[-run.work.landed :] if run.work.landed else ()
    path = item.current.spot.path
    patches = run.work.patches
    touching = [
        each for each in landed if each.batch in patches and path in patches[each.batch].paths
    ]
    commits = [each.commit for each in (touching or landed)]
    return await _first_silent(item, commits, looks) if commits else ""


async def _first_silent(item: Item, commits: Sequence[str], looks: "_ToolLooks") -> str:
    low, high = 0, len(commits) - 1  # the analyzers are silent at the last one
    while low < high:
        middle = (low + high) // 2
        reported = await looks.is_reported(item, commits[middle])
        if reported is None:
            return commits[-1]
        low, high = (middle + 1, high) if reported else (low, middle)
    return commits[low]


class _ToolLooks:
    """Runs analyzers over single files of a commit, each at most once."""

    def __init__(self, run: Run, world: World) -> None:
        self._run = run
        self._world = world
        self._known: dict[tuple[str, str, str], Analysis] = {}

    async def is_reported(self, item: Item, commit: str) -> bool | None:
        """Return whether the item's analyzers report it at the commit; None if that is unknown."""
        for finding in item.sighted:
            analysis = await self._analyze(finding.source, commit, finding.spot.path)
            if analysis is None or analysis.failed or analysis.unread:
                return None
            if match_findings([finding], analysis.findings):
                return True
        return False

    async def _analyze(self, source: str, commit: str, path: str) -> Analysis | None:
        key = (source, commit, path)
        analyzer = self._world.analyzers.get(source)
        if key not in self._known:
            if analyzer is None or len(self._known) >= _MOST_LOOKS:
                return None
            world = self._world
            pristine = Pristine(origin=world.change.base, alone=world.protected.steering)
            async with world.trees.open_tree(commit, pristine=pristine) as tree:
                self._known[key] = await analyzer.analyze(tree, [path])
        return self._known[key]
