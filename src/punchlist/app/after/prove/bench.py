"""Runs analyzers over the commits that are proven; each only once for each commit."""

from collections import Counter
from collections.abc import Sequence

from punchlist.model.finding.finding import Finding
from punchlist.ports.analyzer import Analysis
from punchlist.ports.world import World
from punchlist.steps.judging.silence import steering_of_base

FindingKey = tuple[str, str, str]
"""Source, rule (or title, if it has none) and path of a finding."""


class FindingBench:
    """Looks at commits with the analyzers of this machine, configured as on the base."""

    def __init__(self, world: World, untrusted: str = "") -> None:
        """`untrusted`: why no analyzer may be run, or ''."""
        self._world, self.untrusted = world, untrusted
        self._seen: dict[tuple[str, str, bool, tuple[str, ...] | None], Analysis] = {}

    @property
    def analyzers(self) -> tuple[str, ...]:
        return tuple(self._world.analyzers)

    @property
    def unsuppressed(self) -> tuple[str, ...]:
        """The analyzers that can look with their suppressions switched off."""
        return tuple(self._world.unsuppressed)

    async def look(
        self, source: str, commit: str, paths: Sequence[str] | None = None, *, bare: bool = False
    ) -> Analysis:
        """Return what an analyzer says of files of a commit, of all of them without `paths`; with
        its suppressions switched off if `bare`.
        """
        world = self._world
        known = world.unsuppressed if bare else world.analyzers
        key = (source, commit, bare, None if paths is None else tuple(paths))
        if key not in self._seen:
            async with world.trees.open_tree(commit, pristine=steering_of_base(world)) as tree:
                there = [path for path in tree.files() if paths is None or path in paths]
                self._seen[key] = await known[source].analyze(tree, there) if there else Analysis()
        return self._seen[key]

    async def count_findings(
        self, source: str, commit: str, paths: tuple[str, ...], *, bare: bool = False
    ) -> Counter[FindingKey] | str | None:
        """Return how many findings of each kind an analyzer reports of files, configured as on the
        base; why it cannot tell; or None if its suppressions cannot be switched off (`bare`).
        """
        if source not in (self.unsuppressed if bare else self.analyzers):
            return None if bare else self.untrusted or f"{source} is not enabled here"
        seen = await self.look(source, commit, paths, bare=bare)
        if why := explain_blindness(seen, paths):
            return f"{source}: {why}"
        return Counter(
            (each.source, each.rule or each.title, each.spot.path) for each in list_findings(seen)
        )


def list_findings(seen: Analysis) -> list[Finding]:
    return [*seen.findings, *seen.beyond]


def explain_blindness(seen: Analysis, paths: Sequence[str]) -> str:
    """Return why an analyzer's silence about these files says nothing, or ''."""
    unread = [path for path in paths if path in seen.unread]
    if "" in seen.unread:
        unread = list(paths)
    why = seen.failed or (seen.skipped and f"it did not look: {seen.skipped}")
    return why or (f"it could not read {unread[0]}" if unread else "")
