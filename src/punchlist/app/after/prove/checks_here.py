"""Runs the checks that are found here over the commits that are proven, with the tests that count
here.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.git.command import SUBMODULE, TreeEntry
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.prove.ground import Ground, ProvenCommit
from punchlist.app.after.prove.verdict import Said, Verdict
from punchlist.model.checks.check import Check, CheckKind, CheckResult, TestOutcome, compare_results
from punchlist.model.checks.coverage import FAMILIES, file_kind
from punchlist.model.checks.protected import Protected, matches_any
from punchlist.model.ledger.run import Landing, Run
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import Measurement, check_view, measure_check, rerun_failing
from punchlist.steps.judging.witness import WitnessRun, run_test_file

_SOURCES = frozenset(suffix for family in FAMILIES for suffix in family)


class FoundHere(Struct, frozen=True):
    """`checks`: those of the base here. `newer`: those that only the end of the range has.
    `refused`: why they may not be run, or ''.
    """

    checks: tuple[Check, ...] = ()
    newer: tuple[Check, ...] = ()
    refused: str = ""


class ChecksVerdict(Struct, frozen=True):
    """`judged`: whether a check could judge at all."""

    verdict: Verdict
    said: str
    judged: bool = False
    noted: tuple[str, ...] = ()


class ChecksHere:
    """Each check is run once for each commit and each choice of tests."""

    def __init__(self, run: Run, world: World, workshop: Workshop, found: FoundHere) -> None:
        self._run, self._world, self._workshop = run, world, workshop
        self.found = found
        self.checks = {check.name: check for check in found.checks}
        self._results: dict[tuple[str, tuple[str, ...], str, str], CheckResult] = {}
        self._measured: dict[str, Measurement] = {}
        self._on_base: dict[str, Measurement] = {}
        self._judged: dict[str, ChecksVerdict] = {}

    async def judge(self, at: ProvenCommit) -> ChecksVerdict:
        """Say whether all checks are as green on a commit as on its parent: with the tests of the
        base and those that are new since, with the tests of the parent, and with its own.
        """
        if at.commit not in self._judged:
            self._judged[at.commit] = await self._judge(at)
        return self._judged[at.commit]

    async def _judge(self, at: ProvenCommit) -> ChecksVerdict:
        if self.found.refused:
            return ChecksVerdict(Verdict.CANNOT_TELL, self.found.refused)
        said: list[Said] = []
        noted: list[str] = []
        kinds: set[str] = set()
        for check in self.found.checks:
            if check.is_gate:
                continue
            verdict, told = await self._run_whole(check, at)
            if verdict is Verdict.CANNOT_TELL and await self._is_blind_on_base(check):
                noted.append(told)
                continue
            said.append((verdict, told))
            if verdict is Verdict.CANNOT_TELL:
                continue
            kinds.update(self._measured[check.name].judges)
            said += await self._run_other_tests(check, at)
        for check in self.found.newer:
            said += await self._run_newer(check, at, noted)
        worse = [each for each in said if each[0] is not Verdict.AGREE]
        worse.sort(key=lambda each: each[0] is not Verdict.DISAGREE)
        if worse:
            return ChecksVerdict(*worse[0], judged=True, noted=tuple(noted))
        sources = {file_kind(path) for path in at.paths} & _SOURCES
        if not said or (sources and not sources & kinds):
            why = "; ".join(noted) or "no check that could judge is found here"
            return ChecksVerdict(Verdict.CANNOT_TELL, why, noted=tuple(noted))
        told = "; ".join(each[1] for each in said)
        return ChecksVerdict(Verdict.AGREE, told, judged=True, noted=tuple(noted))

    async def judge_range(self, ground: Ground, *, proven: bool) -> list[Said]:
        """Say which checks are worse at the end of the range than at its base. Where every commit
        since the base is `proven`, only linters and formatters are left to look at.
        """
        found: list[Said] = []
        for check in self.found.checks if not self.found.refused else ():
            if check.is_gate:
                before = await self._run_base(check, ground.start)
                worse = before.green and not (await self._run_base(check, ground.end)).green
                why = "it is red, and green where the range begins" if worse else ""
            else:
                why = "" if proven else await self._find_losses(check, ground)
            if why:
                found.append((Verdict.CANNOT_TELL, f"{check.name} at the end of the range: {why}"))
        return found

    async def _find_losses(self, check: Check, ground: Ground) -> str:
        """Return what is worse at the end than at the base: commits that nothing proves are
        between them.
        """
        if await self._is_blind_on_base(check):
            return ""
        before, now = [await self._run_base(check, each) for each in (ground.base, ground.end)]
        verdict = compare_results(now, before)
        others = "between it and the base are commits that were not proven"
        accept = f"if you accept what came before the range: --base {ground.start[:12]}"
        return "" if verdict.passed else f"{verdict.why}; {others}; {accept}"

    async def _is_blind_on_base(self, check: Check) -> bool:
        """Return whether the check cannot judge on the base either, which no commit could alter."""
        base = self._world.change.base
        if check.name not in self._on_base:
            self._on_base[check.name] = await self._measure_at(check, base)
        return bool(self._on_base[check.name].unusable)

    async def _run_whole(self, check: Check, at: ProvenCommit) -> Said:
        """Run a check with the tests of the base, and those that are new since."""
        known = await self._measure(check, at.parent)
        before, now = await self._run_base(check, at.parent), await self._run_base(check, at.commit)
        if before.tests and not count_passed(before) and now.green and count_passed(now):
            return Verdict.AGREE, f"{check.name}: {count_passed(now)} tests pass, none before"
        if known.unusable:
            return Verdict.CANNOT_TELL, f"{check.name} cannot judge here: {known.unusable}"
        verdict = compare_results(now, before)
        if not verdict.passed:
            return Verdict.DISAGREE, f"{check.name}: {verdict.why}"
        count = f"{count_passed(before)} tests as on the parent" if before.tests else verdict.why
        return Verdict.AGREE, f"{check.name}: {count}"

    async def _run_other_tests(self, check: Check, at: ProvenCommit) -> list[Said]:
        """Run a check with the tests of the parent, if these are newer than the base's, and with
        the commit's own, if it changes tests.
        """
        trees = self._world.change.base, at.parent, at.commit
        base, parent, commit = [await self._workshop.list_tree(each) for each in trees]
        tests = [path for path in parent if self._is_test(path)]
        altered = [path for path in tests if parent[path] != commit.get(path)]
        newer = [path for path in tests if parent[path] != (base.get(path) or commit.get(path))]
        found: list[Said] = []
        if newer:
            why = await self._compare_tests(check, at, at.parent)
            changed = sorted({*altered}.intersection(newer))
            if why and changed:
                look = f"the commit changes {changed[0]}: look at the change"
                told = f"{check.name} with the tests of the parent: {why}; {look}"
                found.append((Verdict.CANNOT_TELL, told))
            elif why:
                told = f"{check.name} with tests that are newer than the base: {why}"
                found.append((Verdict.DISAGREE, told))
        if altered:
            why = await self._compare_tests(check, at, at.commit)
            if why:
                found.append((Verdict.DISAGREE, f"{check.name} with the commit's own tests: {why}"))
        return found

    async def _compare_tests(self, check: Check, at: ProvenCommit, tests: str) -> str:
        """Return what is worse on the commit, with the tests of some commit, than on the parent
        with the parent's; '' if nothing is.
        """
        before = await self._run_with_tests(check, at.parent, at.parent)
        now = await self._run_with_tests(check, at.commit, tests)
        verdict = compare_results(now, before)
        return "" if verdict.passed else verdict.why

    async def _run_newer(self, check: Check, at: ProvenCommit, noted: list[str]) -> list[Said]:
        """Run a check that the base does not have, with all files as the commits have them."""
        before, now = [await self._run_plain(check, each) for each in (at.parent, at.commit)]
        if before.trouble or not (before.green or before.tests):
            noted.append(f"{check.name}, newer than the base, cannot judge on the parent")
            return []
        verdict = compare_results(now, before)
        if verdict.passed:
            return []
        return [(Verdict.DISAGREE, f"{check.name}, newer than the base: {verdict.why}")]

    async def _measure(self, check: Check, parent: str) -> Measurement:
        """Return whether the check can judge here, as measured on the first parent that is asked
        about: it must notice a planted failure.
        """
        if check.name not in self._measured:
            self._measured[check.name] = await self._measure_at(check, parent)
        return self._measured[check.name]

    async def _measure_at(self, check: Check, commit: str) -> Measurement:
        world = self._world
        standing = replace(world, change=replace(world.change, head=commit))
        known = await measure_check(check, standing)
        self._results[_name_result(check, commit, "base")] = known.result
        if commit == world.change.base:
            self._on_base[check.name] = known
        return known

    async def _run_base(self, check: Check, commit: str) -> CheckResult:
        key = _name_result(check, commit, "base")
        if key not in self._results:
            view = check_view(check, self._world)
            async with self._world.trees.open_tree(commit, pristine=view) as tree:
                self._results[key], _ = await rerun_failing(check, tree, self._world)
        return self._results[key]

    async def _run_plain(self, check: Check, commit: str) -> CheckResult:
        return await self._run_patched(check, commit, "plain", Patch())

    async def _run_with_tests(self, check: Check, commit: str, tests: str) -> CheckResult:
        patch = await self._compose(commit, tests)
        return await self._run_patched(check, commit, tests, patch)

    async def _run_patched(self, check: Check, commit: str, view: str, patch: Patch) -> CheckResult:
        key = _name_result(check, commit, view)
        if key not in self._results:
            patches = [patch] if patch else []
            async with self._world.trees.open_tree(commit, patches) as tree:
                self._results[key], _ = await rerun_failing(check, tree, self._world)
        return self._results[key]

    async def _compose(self, commit: str, tests: str) -> Patch:
        """Return what gives a commit the configuration of the base, and the tests of another
        commit; test files that only it has stay.
        """
        workshop, base = self._workshop, self._world.change.base
        here, old, other = [await workshop.list_tree(each) for each in (commit, base, tests)]
        wanted: dict[str, TreeEntry | None] = {}
        for path in {**here, **old, **other}:
            if matches_any(path, self._protected.configuration):
                wanted[path] = old.get(path)
            elif self._is_test(path):
                wanted[path] = other.get(path) or here.get(path)
        differ = {path: entry for path, entry in wanted.items() if entry != here.get(path)}
        entries = [entry for entry in differ.values() if entry and entry.mode != SUBMODULE]
        blobs = await workshop.read_blobs([entry.blob for entry in entries])
        made = [
            FileChange(entry.path, content.decode("latin-1"), entry.mode)
            for entry, content in zip(entries, blobs, strict=True)
        ]
        gone = [FileChange(path, None) for path, entry in differ.items() if entry is None]
        return Patch(files=(*made, *gone))

    @property
    def _protected(self) -> Protected:
        return self._world.protected

    def _is_test(self, path: str) -> bool:
        protected = self._protected
        steers = matches_any(path, protected.configuration)
        return not steers and matches_any(path, protected.tests)

    async def run_tests(
        self, check: Check, path: str, commit: str, patches: Collection[Patch]
    ) -> WitnessRun:
        """Run one test file on a commit with files put into it."""
        run = replace(self._run, landing=Landing(branch="", tip=commit))
        return await run_test_file(check, path, list(patches), run, self._world)

    async def read_text(self, commit: str, path: str) -> str | None:
        return await self._world.repository.text(commit, path)

    def choose_telling(self, name: str) -> Check | None:
        """Return the check of that name if it tells what became of each test, else any such."""
        kinds = (CheckKind.PYTEST, CheckKind.UNITTEST, CheckKind.JUNIT)
        telling: Sequence[Check] = [each for each in self.checks.values() if each.kind in kinds]
        return next((each for each in telling if each.name == name), next(iter(telling), None))


def count_passed(result: CheckResult) -> int:
    return len(result.find_tests(TestOutcome.PASSED))


def _name_result(check: Check, commit: str, view: str) -> tuple[str, tuple[str, ...], str, str]:
    return check.name, tuple(check.command), commit, view
