"""Runs analyzers and checks over the commits that are proven; each only once for each commit."""

from collections import Counter
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from punchlist.model.checks.check import Check, CheckResult, TestOutcome, compare_results
from punchlist.model.ledger.run import Landing, Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.analyzer import Analysis
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import Measurement, judge_view, measure_check, rerun_failing
from punchlist.steps.judging.silence import steering_of_base
from punchlist.steps.judging.witness import WitnessRun, run_test_file

FindingKey = tuple[str, str, str]
"""Source, rule (or title, if it has none) and path of a finding."""


class ProofBench:
    """Looks at commits of one run with the programs and settings of this machine."""

    def __init__(
        self, run: Run, world: World, checks: Sequence[Check], untrusted: str = ""
    ) -> None:
        """`untrusted`: why no analyzer may be run, or ''."""
        self._run, self._world, self._untrusted = run, world, untrusted
        self.checks = {check.name: check for check in checks}
        self._counts: dict[tuple[str, str, bool, tuple[str, ...]], Counter[FindingKey] | str] = {}
        self._results: dict[tuple[str, str], CheckResult] = {}
        self._measured: dict[str, Measurement] = {}

    async def count_findings(
        self, source: str, commit: str, paths: tuple[str, ...], *, bare: bool = False
    ) -> Counter[FindingKey] | str | None:
        """Return how many findings of each kind an analyzer reports of files, configured as on the
        base; why it cannot tell; or None if its suppressions cannot be switched off (`bare`).
        """
        world = self._world
        known = world.unsuppressed if bare else world.analyzers
        if source not in known:
            return None if bare else self._untrusted or f"{source} is not enabled here"
        key = (source, commit, bare, paths)
        if key not in self._counts:
            async with world.trees.open_tree(commit, pristine=steering_of_base(world)) as tree:
                there = [path for path in tree.files() if path in paths]
                seen = await known[source].analyze(tree, there) if there else Analysis()
            unread = [path for path in there if path in seen.unread or "" in seen.unread]
            why = seen.failed or (seen.skipped and f"it did not look: {seen.skipped}")
            why = why or (f"it could not read {unread[0]}" if unread else "")
            found = [*seen.findings, *seen.beyond]
            counted = Counter(
                (each.source, each.rule or each.title, each.spot.path) for each in found
            )
            self._counts[key] = f"{source}: {why}" if why else counted
        return self._counts[key]

    async def measure(self, check: Check, parent: str) -> Measurement:
        """Return whether the check can judge here, as measured on the first parent that is asked
        about: it must notice a planted failure.
        """
        if check.name not in self._measured:
            world = _stand_on(self._world, parent)
            known = await measure_check(check, world)
            self._measured[check.name] = known
            self._results[check.name, parent] = known.result
        return self._measured[check.name]

    async def run_check(self, check: Check, commit: str) -> CheckResult:
        """Return the result of the whole check on a commit, with the tests of the base."""
        key = (check.name, commit)
        if key not in self._results:
            async with self._world.trees.open_tree(
                commit, pristine=judge_view(self._world)
            ) as tree:
                self._results[key], _ = await rerun_failing(check, tree, self._world)
        return self._results[key]

    async def compare(self, check: Check, parent: str, commit: str) -> tuple[bool, str]:
        """Return whether the check is as green on the commit as on its parent, and what it says."""
        before, now = await self.run_check(check, parent), await self.run_check(check, commit)
        verdict = compare_results(now, before)
        return verdict.passed, verdict.why

    async def run_tests(
        self, check: Check, path: str, commit: str, patches: Collection[Patch]
    ) -> WitnessRun:
        """Run one test file on a commit with files put into it."""
        landing = Landing(branch="", tip=commit)
        run = replace(self._run, landing=landing)
        return await run_test_file(check, path, list(patches), run, self._world)

    async def read_text(self, commit: str, path: str) -> str | None:
        return await self._world.repository.text(commit, path)


def count_passed(result: CheckResult) -> int:
    return len(result.find_tests(TestOutcome.PASSED))


def _stand_on(world: World, commit: str) -> World:
    return replace(world, change=replace(world.change, head=commit))
