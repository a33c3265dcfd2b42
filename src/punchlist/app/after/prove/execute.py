"""Execute the claims of one commit again: each class of proof in its own way."""

from collections import Counter
from collections.abc import Collection, Sequence

from punchlist.app.after.prove.bench import FindingBench, FindingKey
from punchlist.app.after.prove.checks_here import ChecksHere
from punchlist.app.after.prove.evidence import Evidence
from punchlist.app.after.prove.ground import ProvenCommit
from punchlist.app.after.prove.verdict import EXECUTABLE, ClaimVerdict, Said, Verdict
from punchlist.model.checks.check import Check
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Reproduced
from punchlist.model.patch.patch import Patch
from punchlist.steps.judging.witness import WitnessRun, make_file_patch
from punchlist.steps.reproduce import is_private_path


class ClaimExecutor:
    """Takes from the evidence what is claimed, never what judges it: analyzers and checks are
    those of this clone.
    """

    def __init__(
        self, at: ProvenCommit, evidence: Evidence, bench: FindingBench, checks: ChecksHere
    ) -> None:
        self._at, self._evidence, self._bench, self._checks = at, evidence, bench, checks
        self._tests: tuple[str, ...] = ()

    async def execute_all(self) -> list[ClaimVerdict]:
        return [
            await self._execute(item, kind)
            for item, kinds in self._evidence.claims.items()
            for kind in kinds
        ]

    async def _execute(self, item: int, kind: ProofClass) -> ClaimVerdict:
        self._tests = ()
        if kind not in EXECUTABLE:
            word = "an agent's word: there is nothing to execute"
            verdict, said = Verdict.CANNOT_TELL, word
        elif kind is ProofClass.RECHECKED:
            verdict, said = await self._recheck(item)
        elif self._checks.found.refused:
            verdict, said = Verdict.CANNOT_TELL, self._checks.found.refused
        elif kind is ProofClass.CHECKED:
            seen = await self._checks.judge(self._at)
            verdict, said = seen.verdict, seen.said
        elif kind is ProofClass.WITNESSED:
            verdict, said = await self._witness(item)
        else:
            verdict, said = await self._reproduce(item)
        return ClaimVerdict(item=item, claim=kind, verdict=verdict, said=said, tests=self._tests)

    async def _recheck(self, item: int) -> Said:
        """The item's analyzers report it on the parent, and not on the commit."""
        wanted = self._count_claimed(self._evidence.claims)
        late = self._count_claimed(self._evidence.late)
        keys = self._find_keys(item) or sorted(wanted)
        if not keys:
            return Verdict.CANNOT_TELL, "the evidence names no finding of an analyzer"
        for key in keys:
            for bare in (False, True):
                said = await self._count_gone(key, (wanted[key], late[key]), bare=bare)
                if said is not None:
                    return said
        names = ", ".join(sorted({source for source, _, _ in keys}))
        before = "reported on the parent"
        if item in self._evidence.late:
            before = "reported on the parent, or brought about by another fix in this commit"
        return Verdict.AGREE, f"{names}: {before}, silent on the commit"

    async def _count_gone(
        self, key: FindingKey, claimed: tuple[int, int], *, bare: bool
    ) -> Said | None:
        """Return what speaks against the analyzer's silence, or None. `claimed`: how many items are
        said to be gone, and how many of these the parent does not have.
        """
        source, rule, path = key
        paths = tuple(
            sorted(
                {*self._at.paths, *(each[2] for each in self._count_claimed(self._evidence.claims))}
            )
        )
        before = await self._bench.count_findings(source, self._at.parent, paths, bare=bare)
        after = await self._bench.count_findings(source, self._at.commit, paths, bare=bare)
        if before is None or after is None:
            return None
        if isinstance(before, str):
            return Verdict.CANNOT_TELL, before
        if isinstance(after, str):
            return Verdict.CANNOT_TELL, after
        wanted = claimed[0] - claimed[1]
        where = f"{source} {rule} in {path}"
        how = " with its suppressions switched off" if bare else ""
        if before[key] < wanted:
            return Verdict.DISAGREE, f"{where}: {before[key]} on the parent{how}, not {wanted}"
        if before[key] - after[key] < wanted:
            return (
                Verdict.DISAGREE,
                f"{where}: still {after[key]}, {before[key]} on the parent{how}",
            )
        return None

    def _find_keys(self, item: int) -> list[FindingKey]:
        """Return the findings of the item that analyzers of the run reported."""
        known = self._evidence.find_item(item)
        tools = {*self._evidence.run.started.reviewers, *self._evidence.run.started.judges}
        findings = known.sighted if known is not None else ()
        return sorted(
            {
                (each.source, each.rule or each.title, each.spot.path)
                for each in findings
                if each.source in tools
            }
        )

    def _count_claimed(self, among: Collection[int]) -> Counter[FindingKey]:
        """Return how many of these items the commit says are gone, by finding."""
        claims = self._evidence.claims.items()
        items = [item for item, kinds in claims if ProofClass.RECHECKED in kinds and item in among]
        return Counter(key for item in items for key in self._find_keys(item))

    async def _witness(self, item: int) -> Said:
        """The named tests fail on the parent, pass on the commit, and fail on the parent again."""
        proof = self._evidence.find_proof(item, ProofClass.WITNESSED)
        if proof is None or not proof.tests:
            return Verdict.CANNOT_TELL, "the evidence does not name the tests"
        check = self._checks.choose_telling(proof.check)
        if check is None:
            return Verdict.CANNOT_TELL, "no check here tells what became of each test"
        for path, tests in ((each.path, each.tests) for each in proof.tests):
            self._tests += tests
            brought = await self._checks.read_text(self._at.commit, path)
            if brought is None:
                return Verdict.DISAGREE, f"the commit has no file {path}"
            own = [make_file_patch(path, brought)] if path in self._at.paths else []
            said = await self._turn(check, path, frozenset(tests), own, [])
            if said is not None:
                return said
        return Verdict.AGREE, f"{len(self._tests)} tests ({check.name}): red, green, red again"

    async def _reproduce(self, item: int) -> Said:
        """The private test fails on the parent, passes on the commit, and fails again."""
        test = self._evidence.reproduced.get(item)
        if test is None:
            return Verdict.CANNOT_TELL, "the evidence has no private test of it"
        if not is_private_path(test, self._evidence.run.id):
            return Verdict.CANNOT_TELL, "its private test is not where punchlist puts them"
        if await self._checks.read_text(self._at.parent, test.path) is not None:
            return Verdict.CANNOT_TELL, "a file of the project has the name of its private test"
        proof = self._evidence.find_proof(item, ProofClass.REPRODUCED)
        check = self._checks.choose_telling(proof.check if proof is not None else "")
        if check is None:
            return Verdict.CANNOT_TELL, "no check here tells what became of each test"
        return await self._turn_private(check, test)

    async def _turn_private(self, check: Check, test: Reproduced) -> Said:
        self._tests = (test.path,)
        extra = [make_file_patch(test.path, test.content)]
        said = await self._turn(check, test.path, frozenset(), extra, extra)
        return said or (Verdict.AGREE, f"a private test ({check.name}): red, green, red again")

    async def _turn(
        self,
        check: Check,
        path: str,
        tests: frozenset[str],
        before: Sequence[Patch],
        after: Sequence[Patch],
    ) -> Said | None:
        """Run the file on the parent, the commit, and the parent; return what is not as claimed.
        Without `tests`, any must fail before, and all must pass after.
        """
        at = self._at
        red = await self._checks.run_tests(check, path, at.parent, before)
        if said := _judge_red(red, tests):
            return said
        green = await self._checks.run_tests(check, path, at.commit, after)
        lost = sorted((tests or red.failed) - green.passed)
        if green.vain or lost:
            why = green.vain or f"{lost[0]} does not pass"
            return Verdict.DISAGREE, f"{path} on the commit: {why}"
        return _judge_red(await self._checks.run_tests(check, path, at.parent, before), tests)


def _judge_red(seen: WitnessRun, tests: frozenset[str]) -> Said | None:
    if seen.vain:
        return Verdict.CANNOT_TELL, f"on the parent: {seen.vain}"
    passing = sorted(tests - seen.failed)
    if passing or not seen.failed:
        which = passing[0] if passing else "its test"
        return Verdict.DISAGREE, f"{which} does not fail on the parent"
    return None
