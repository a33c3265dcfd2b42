"""A real repository, real trees and real checks, and one agent's batch on it, examined."""

import asyncio
import itertools
from pathlib import Path

from replaying import PYTEST

from punchlist.adapters.analyzers.registry import suppressions_of
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.checks.runner import LocalCheckRunner
from punchlist.adapters.compare import Comparison
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.repository import GitRepository
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.model.checks.check import Check
from punchlist.model.checks.protected import Protected
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run import ByItem, Checking, Landing, RoundWork, Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.ports.roles import Crew
from punchlist.ports.world import World
from punchlist.steps.judging.examine import Examine, examine_batch

SUPPRESSIONS = suppressions_of(AnalyzerSettings())


class Kept(dict):
    """A cache in memory."""

    def put(self, key, value):
        self[key] = value


class Counting:
    """A runner that counts how often it was asked."""

    def __init__(self, inner: LocalCheckRunner) -> None:
        self.inner = inner
        self.runs: list[tuple[str, ...]] = []

    async def run(self, check, tree, *, only=()):
        self.runs.append(tuple(only))
        return await self.inner.run(check, tree, only=only)

    async def run_sentinel(self, check, tree, kinds):
        return await self.inner.run_sentinel(check, tree, kinds)

    async def run_covered(self, check, tree, *, sources=()):
        return await self.inner.run_covered(check, tree, sources=sources)

    async def hash_environment(self, check):
        return await self.inner.hash_environment(check)


def finding(
    title: str, path: str = "app.py", line: int | None = 2, category: str = "bug", **more
) -> Finding:
    return Finding(
        id="f",
        source="reviewer",
        title=title,
        spot=Spot(path, line),
        severity=Severity.MAJOR,
        category=category,
        **more,
    )


class Bench:
    """One repository with one commit; batches are whole files, as an agent left them."""

    def __init__(
        self,
        repo,
        home: Path,
        files: dict[str, str],
        *,
        check: Check | None = PYTEST,
        compare: bool = True,
    ) -> None:
        self.tip = repo.commit(files)
        workshop = asyncio.run(self._workshop(repo.root, home))
        self.trees = WorkTrees(workshop)
        self.repository = GitRepository(workshop, self.trees)
        self.checks = Counting(LocalCheckRunner(repo.root))
        self.cache = Kept()
        self.check = (check,) if check else ()
        self.home = home
        self.comparer = Comparison(repo.root, checks=self.check) if compare else None
        self.crew = Crew()
        self.change = Change(kind=ScopeKind.ALL, base=self.tip, head=self.tip)
        self.ticks = itertools.count().__next__

    async def _workshop(self, root, home):
        return await Workshop.open(await Checkout.find(root), home)

    @property
    def world(self) -> World:
        return World(
            change=self.change, trees=self.trees, repository=self.repository, analyzers={}, documents={}, fixers={}, checks=self.checks,
            tracker=None, artifacts=FolderArtifacts(self.home / "artifacts"), cache=self.cache, reports={}, protected=Protected(), suppressions=SUPPRESSIONS,
            clock=lambda: float(self.ticks()), crew=self.crew, comparer=self.comparer,
        )  # fmt: skip

    def run(
        self,
        *findings: Finding,
        changed: dict[str, str | None] | None = None,
        tests=(),
        crew=None,
        private=None,
        put_off=(),
    ) -> Run:
        """`put_off` are the numbers of items that the patch is not said to fix."""
        items = {
            n: Item(
                number=n,
                fingerprint=f"p{n}",
                findings=(each,),
                status=Status.DEFERRED
                if n in put_off
                else Status.OPEN
                if changed is None
                else Status.CLAIMED,
            )
            for n, each in enumerate(findings, 1)
        }
        patch = Patch(
            files=tuple(
                FileChange(p, None if t is None else t.encode().decode("latin-1"))
                for p, t in (changed or {}).items()
            )
        )
        batch = Batch(
            number=1,
            items=tuple(items),
            fixer="agent",
            title="t",
            paths=tuple(sorted({i.lead.spot.path for i in items.values()})),
        )
        started = ev.Started(
            repository="r", change=self.change, workflow_name="w", workflow="", settings="{}", reviewers=(), checks=self.check,
            checks_allowed=True, version="0", crew=crew or {},
        )  # fmt: skip
        reports = {n: ItemClaim(n, ClaimOutcome.FIXED, tests=tuple(tests)) for n in items}
        known = {
            check.name: ev.Baselined(check=check.name, passed=1, judges=(".py",))
            for check in self.check
        }
        return Run(
            id="r1", started=started, landing=Landing(tip=self.tip), items=items, checks=Checking(baselines=known),
            by_item=ByItem(reproductions=private or {}),
            work=RoundWork(batches={1: batch}, patches={1: patch}, reports=reports),
        )  # fmt: skip

    def examine(self, *findings: Finding, **options) -> ev.Examined:
        return asyncio.run(examine_batch(Examine(1), self.run(*findings, **options), self.world))
