"""Find what analyzers report at the end of a range, and not at the base that was chosen here."""

from collections.abc import Sequence

from msgspec import Struct

from punchlist.adapters.git.scope import join_few
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.prove.bench import FindingBench, list_findings
from punchlist.app.after.prove.ground import Ground, ProvenCommit
from punchlist.app.after.prove.verdict import Said, Verdict
from punchlist.app.gate.selections import load_selections
from punchlist.app.gate.shared_files import parse_dismissals, read_gate_files
from punchlist.model.dedup.identity import fingerprint, match_findings
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.selection import FolderSelection, find_selection
from punchlist.ports.analyzer import Analysis
from punchlist.settings import REPOSITORY_FILE
from punchlist.steps.judging.silence import subtract_findings

_FEW = 3


class RangeLook(Struct, frozen=True):
    """`new`: findings of the end that the base lacks, in words."""

    said: tuple[Said, ...] = ()
    new: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()


class Gate(Struct, frozen=True):
    """What the base says about which findings count."""

    selections: dict[str, FolderSelection]
    dismissed: frozenset[str]

    def counts(self, finding: Finding) -> bool:
        scope = find_selection(self.selections, finding.spot.path)
        return not scope.find_reason(finding) and fingerprint(finding) not in self.dismissed


async def load_base_gate(workshop: Workshop, base: str) -> Gate:
    files = await read_gate_files(workshop, base)
    texts = {path: raw for path, raw in files.items() if path.endswith(REPOSITORY_FILE)}
    dismissed, _ = parse_dismissals(files)
    return Gate(load_selections(texts, {}, []), frozenset(dismissed))


class FindingsHere:
    """Compares what the analyzers here say of two commits."""

    def __init__(self, bench: FindingBench, workshop: Workshop, ground: Ground, gate: Gate) -> None:
        self._bench, self._workshop, self._ground, self._gate = bench, workshop, ground, gate

    async def judge_range(self) -> RangeLook:
        """Say which findings of the end the base lacks. What the main branch here has by now, or
        had before it was rebased, is not held against the range.
        """
        ground = self._ground
        if self._bench.untrusted:
            return RangeLook(((Verdict.CANNOT_TELL, self._bench.untrusted),))
        said: list[Said] = []
        new: list[Finding] = []
        brought: list[Finding] = []
        for source in self._bench.analyzers:
            seen = await self._bench.look(source, ground.end)
            said += await self._find_blindness(source, seen)
            found = [each for each in list_findings(seen) if self._gate.counts(each)]
            for known in filter(None, (ground.base, ground.main)):
                found = await self._subtract(source, found, known) if found else []
            new += found
            brought += await self._subtract(source, found, ground.start) if found else []
        noted = tuple(why for verdict, why in said if verdict is Verdict.AGREE)
        against = [each for each in said if each[0] is not Verdict.AGREE]
        against += _describe(brought, new, ground)
        return RangeLook(tuple(against), tuple(map(format_finding, new)), noted)

    async def find_hidden(self, at: ProvenCommit) -> list[Said]:
        """Say which findings a commit brings about and hides from an analyzer: they are reported
        with its suppressions switched off, and not of the parent.
        """
        hidden: list[Finding] = []
        for source in self._bench.unsuppressed:
            bare = list_findings(await self._bench.look(source, at.commit, at.paths, bare=True))
            plain = list_findings(await self._bench.look(source, at.commit, at.paths))
            unseen = [each for each in subtract_findings(bare, plain) if self._gate.counts(each)]
            if unseen:
                old = await self._bench.look(source, at.parent, at.paths, bare=True)
                known = match_findings(list_findings(old), bare)
                new = {bare[index].id for index in range(len(bare)) if index not in known}
                hidden += [each for each in unseen if each.id in new]
        if not hidden:
            return []
        named = join_few([format_finding(each) for each in hidden], _FEW)
        return [(Verdict.DISAGREE, f"it hides findings from the analyzers: {named}")]

    async def _subtract(self, source: str, found: Sequence[Finding], commit: str) -> list[Finding]:
        """Return those of the findings that a commit does not have as well."""
        old = list_findings(await self._bench.look(source, commit))
        renames = await self._find_renames(commit)
        known = match_findings(old, found, renames)
        return [each for index, each in enumerate(found) if index not in known]

    async def _find_renames(self, commit: str) -> dict[str, str]:
        flags = ("-r", "-z", "-M", "--diff-filter=R", "--name-status")
        fields = await self._workshop.git.list_fields("diff-tree", *flags, commit, self._ground.end)
        return dict(zip(fields[1::3], fields[2::3], strict=True))

    async def _find_blindness(self, source: str, seen: Analysis) -> list[Said]:
        """Say whether the analyzer cannot look at the end, or at a file of it, and could at the
        base. If it could not there either, that is not held against the range.
        """
        if not (seen.failed or seen.unread):
            return []
        before = await self._bench.look(source, self._ground.base)
        if seen.failed:
            told = f"{source} cannot look at the end of the range: {seen.failed}"
            return [(Verdict.AGREE if before.failed else Verdict.CANNOT_TELL, told)]
        lost = sorted({*seen.unread} - {*before.unread})
        told = f"{source} cannot read {lost[0] or 'some files'} at the end" if lost else ""
        return [(Verdict.CANNOT_TELL, f"{told}, and could at the base")] if lost else []


def _describe(brought: Sequence[Finding], new: Sequence[Finding], ground: Ground) -> list[Said]:
    before = [each for each in new if each not in brought]
    lacks = f"which the base here ({ground.base[:12]}) lacks"
    found: list[Said] = []
    if brought:
        named = join_few([format_finding(each) for each in brought], _FEW)
        found.append((Verdict.DISAGREE, f"new at the end of the range: {named}, {lacks}"))
    if before:
        named = join_few([format_finding(each) for each in before], _FEW)
        accept = f"if you accept what came before the range: --base {ground.start[:12]}"
        found.append((Verdict.CANNOT_TELL, f"the range stands on {named}, {lacks}; {accept}"))
    return found


def format_finding(finding: Finding) -> str:
    place = f"{finding.spot.path}:{finding.spot.line or '?'}"
    return f"{finding.source} {finding.rule}: {finding.title} ({place})"
