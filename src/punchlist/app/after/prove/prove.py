"""Prove commits: find their claims and evidence, and execute the claims again with what this
machine has and its user allows.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist._version import __version__
from punchlist.adapters.analyzers.registry import build_analyzers
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.git.scope import join_few
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.prove.bench import FindingBench
from punchlist.app.after.prove.checks_here import ChecksHere, FoundHere
from punchlist.app.after.prove.evidence import Evidence, EvidenceFault, find_evidence, read_evidence
from punchlist.app.after.prove.execute import ClaimExecutor
from punchlist.app.after.prove.ground import (
    Ground,
    ProofCandidate,
    ProvenCommit,
    choose_ground,
    find_rewritten_history,
    read_range,
)
from punchlist.app.after.prove.ledger_patches import find_other_change
from punchlist.app.after.prove.new_findings import FindingsHere, RangeLook, load_base_gate
from punchlist.app.after.prove.odd_changes import find_claimed_paths, find_odd_changes
from punchlist.app.after.prove.verdict import (
    CommitVerdict,
    ProofReport,
    Said,
    Verdict,
    join_verdicts,
    judge_claims,
)
from punchlist.app.session import Session
from punchlist.app.start.agents import RunFiles
from punchlist.app.start.allowance import survey_code
from punchlist.app.start.prepare import find_checks, find_permission, load_trusted, name_check_files
from punchlist.app.start.request import Request
from punchlist.app.start.wiring import build_world
from punchlist.errors import UsageError
from punchlist.model.checks.check import Check
from punchlist.model.checks.protected import Protected
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.world import World
from punchlist.settings import (
    KeepSettings,
    LoadedSettings,
    TrackSettings,
    decode_settings,
    encode_settings,
)

_RULE = re.compile(r"[A-Z]{1,8}[0-9]{0,5}")
_UNTRUSTED = (
    "the base, which configures the analyzers, is not part of the main branch here; --yes trusts it"
)
_NOT_ALLOWED = "the checks found here are not allowed to run: `punchlist allow`, or --yes"


class Choices(Struct, frozen=True, kw_only=True):
    """What the user who proves chose. `allow`: the checks found here may run; `base`: the commit
    to compare with, instead of where the range left the main branch here.
    """

    allow: bool = False
    base: str = ""
    allow_unclaimed: bool = False


async def prove_commits(
    session: Session, named: str, *, given: bytes | None, choices: Choices
) -> ProofReport:
    """Prove one commit, or all commits of a range that claim something. Base, commands, analyzers
    and checks come from here, never from the evidence; checks run only if the user allowed them.
    """
    workshop = await session.workshop()
    listed = await read_range(workshop, named)
    claiming = [each for each in listed.commits if each.claims]
    unclaimed = tuple(each.commit for each in listed.commits if not each.claims)
    if not claiming:
        raise UsageError(
            f"{named}: no commit there claims anything", hint="name a commit that punchlist made"
        )
    report = ProofReport(
        verdict=Verdict.CANNOT_TELL,
        commits=(),
        skipped=len(unclaimed),
        unclaimed=unclaimed,
        unclaimed_allowed=choices.allow_unclaimed,
        end=listed.end,
    )
    rewritten = await find_rewritten_history(workshop.checkout)
    if rewritten or not listed.start:
        why = rewritten or "the range begins with the first commit here: there is no base"
        verdicts = tuple(_make_blank(each, why) for each in claiming)
        return replace(report, commits=verdicts, faults=(why,))
    ground = await choose_ground(workshop, listed, choices.base)
    prover = await _Prover.open(session, workshop, ground, given, choices)
    verdicts = tuple([await prover.prove(each) for each in claiming])
    said = [*_judge_unclaimed(unclaimed, choices), *_find_repeated(claiming)]
    look = await prover.judge_range(proven=not unclaimed)
    said += look.said
    return replace(
        report,
        verdict=join_verdicts([*(each.verdict for each in verdicts), *(each[0] for each in said)]),
        commits=verdicts,
        checks=prover.list_checks(),
        base=ground.base,
        chosen=ground.chosen,
        analyzers=prover.list_analyzers(),
        findings=look.new,
        faults=tuple(each[1] for each in said),
        noted=look.noted,
    )


def _judge_unclaimed(unclaimed: Sequence[str], choices: Choices) -> list[Said]:
    if not unclaimed or choices.allow_unclaimed:
        return []
    named = ", ".join(each[:12] for each in unclaimed[:3])
    more = f" and {len(unclaimed) - 3} more" if len(unclaimed) > 3 else ""
    which = "commit claims" if len(unclaimed) == 1 else "commits claim"
    why = f"{len(unclaimed)} {which} nothing, and nothing proves what is in there ({named}{more})"
    return [(Verdict.CANNOT_TELL, f"{why}: --allow-unclaimed leaves them out")]


def _find_repeated(claiming: Sequence[ProofCandidate]) -> list[Said]:
    """A fix is in one commit: of two that claim the same item, one only has its trailers."""
    claimed = Counter(
        (each.trailers.run, item) for each in claiming for item in set(each.trailers.items)
    )
    found = [f"item {item} of run {run}" for (run, item), count in claimed.items() if count > 1]
    return [(Verdict.DISAGREE, f"several commits claim {found[0]}")] if found else []


def _make_blank(candidate: ProofCandidate, said: str = "") -> CommitVerdict:
    trailers = candidate.trailers
    return CommitVerdict(
        commit=candidate.commit,
        run=trailers.run,
        verdict=Verdict.CANNOT_TELL,
        said=said,
        ledger=trailers.ledger,
    )


class _Prover:
    """Holds what was chosen here: settings, checks and analyzers of the base."""

    def __init__(  # noqa: PLR0913, PLR0917  # all that `open` has chosen
        self,
        session: Session,
        workshop: Workshop,
        ground: Ground,
        given: bytes | None,
        choices: Choices,
        loaded: LoadedSettings,
        found: FoundHere,
    ) -> None:
        self._session, self._workshop, self._ground = session, workshop, ground
        self._given, self._choices, self._loaded = given, choices, loaded
        self._found = found
        self._untrusted = "" if choices.allow or ground.trusted else _UNTRUSTED
        self._benches: dict[str, FindingBench] = {}
        self._protected = Protected()
        self._checks: ChecksHere
        self._findings: FindingsHere
        self._bench: FindingBench

    @classmethod
    async def open(
        cls,
        session: Session,
        workshop: Workshop,
        ground: Ground,
        given: bytes | None,
        choices: Choices,
    ) -> "_Prover":
        allow = True if choices.allow else None
        _, loaded = await load_trusted(session, workshop, ground.base, allow=allow)
        plain = replace(loaded.settings, track=TrackSettings(), keep=KeepSettings())
        loaded = replace(loaded, settings=plain)
        found = await _find_checks_here(session, workshop, ground, loaded, allow=allow)
        made = cls(session, workshop, ground, given, choices, loaded, found)
        await made._look_around()
        return made

    async def _look_around(self) -> None:
        kit = Kit(checkout=self._workshop.checkout.root)
        names = tuple(build_analyzers(self._loaded.settings.analyzers, kit))
        run, world = await self._build_world(self._loaded, names)
        self._protected = world.protected
        self._bench = FindingBench(world, self._untrusted)
        self._checks = ChecksHere(run, world, self._workshop, self._found)
        gate = await load_base_gate(self._workshop, self._ground.base)
        self._findings = FindingsHere(self._bench, self._workshop, self._ground, gate)

    def list_checks(self) -> tuple[str, ...]:
        found = self._found
        known = () if found.refused else (*found.checks, *found.newer)
        return tuple(dict.fromkeys(" ".join(check.command) for check in known))

    def list_analyzers(self) -> tuple[str, ...]:
        return self._bench.analyzers

    async def judge_range(self, *, proven: bool) -> RangeLook:
        """Compare the end of the range with the base. `proven`: each of its commits was."""
        ground = self._ground
        look = await self._findings.judge_range()
        proven = proven and ground.base == ground.start
        worse = await self._checks.judge_range(ground, proven=proven)
        return replace(look, said=(*look.said, *worse))

    async def prove(self, candidate: ProofCandidate) -> CommitVerdict:
        trailers = candidate.trailers
        blank = _make_blank(candidate)
        if trailers.faults:
            return replace(blank, verdict=Verdict.DISAGREE, said=trailers.faults[0])
        if not trailers.ledger or not trailers.proofs:
            return replace(blank, said="it is of a version of punchlist that named no ledger")
        content = await find_evidence(
            self._session, self._workshop, candidate.commit, trailers.run, self._given
        )
        evidence = read_evidence(content, candidate.commit, trailers)
        if isinstance(evidence, EvidenceFault):
            verdict = Verdict.DISAGREE if evidence.altered else Verdict.CANNOT_TELL
            return replace(blank, verdict=verdict, said=evidence.why)
        blank = replace(blank, evidence=evidence.digest)
        if why := await self._find_obstacle(candidate, evidence):
            return replace(blank, said=why)
        return await self._execute(candidate, evidence, blank)

    async def _execute(
        self, candidate: ProofCandidate, evidence: Evidence, blank: CommitVerdict
    ) -> CommitVerdict:
        parent, git = candidate.parents[0], self._workshop.git
        paths = tuple(await git.list_changed(parent, candidate.commit))
        at = ProvenCommit(candidate.commit, parent, paths)
        if evidence.run.id not in self._benches:
            self._benches[evidence.run.id] = await self._make_bench(evidence)
        bench = self._benches[evidence.run.id]
        claims = await ClaimExecutor(at, evidence, bench, self._checks).execute_all()
        said = await self._find_faults(at, evidence)
        checks = await self._checks.judge(at)
        if checks.judged or self._found.refused:
            said.append((checks.verdict, checks.said))
        against = [each for each in said if each[0] is not Verdict.AGREE]
        claimed = judge_claims(evidence.claims, claims)
        return replace(
            blank,
            verdict=join_verdicts([claimed, *(each[0] for each in against)]),
            claims=tuple(claims),
            faults=tuple(each[1] for each in against),
            noted=(*self._note_differences(at, evidence), *checks.noted),
        )

    async def _find_faults(self, at: ProvenCommit, evidence: Evidence) -> list[Said]:
        """Return what speaks against a commit, whatever it claims."""
        said = await find_odd_changes(
            self._workshop, self._ground.base, at, evidence, self._protected
        )
        other = await find_other_change(
            self._workshop,
            evidence.run.started.change.head,
            evidence.landings,
            evidence.batches,
            (at.parent, at.commit),
        )
        if other:
            why = "the commit, or the end of the evidence, was made anew"
            said.append((Verdict.DISAGREE, f"{other}: {why}"))
        if not self._untrusted:
            said += await self._findings.find_hidden(at)
        return said

    def _note_differences(self, at: ProvenCommit, evidence: Evidence) -> list[str]:
        """Say where the run was measured against something else than what was chosen here, and
        which files the commit changes beside those of its items.
        """
        started, here = evidence.run.started, self._ground.base
        noted = []
        if started.change.base != here:
            noted.append(f"its run had the base {started.change.base[:12]}, not {here[:12]}")
        judged = evidence.run.checks.baselines
        lost = [name for name in judged if name not in self._checks.checks]
        if lost:
            noted.append(f"its run had checks that are not found here: {', '.join(sorted(lost))}")
        claimed = find_claimed_paths(evidence)
        others = [path for path in at.paths if path not in claimed]
        if others:
            noted.append(f"no item is about these files that it changes: {join_few(others)}")
        return noted

    async def _find_obstacle(self, candidate: ProofCandidate, evidence: Evidence) -> str:
        """Return why nothing can be executed, or ''."""
        if len(candidate.parents) != 1:
            return f"it has {len(candidate.parents)} parents"
        checkout, change = self._session.required_checkout, evidence.run.started.change
        parent = candidate.parents[0]
        named = (("parent", parent), ("run's base", change.base), ("run's head", change.head))
        for what, commit in named:
            if await checkout.resolve_commit(commit) is None:
                return f"this clone lacks its {what} {commit[:12]}: fetch the whole history"
            if not await self._workshop.git.is_ancestor(commit, parent):
                return f"its {what} {commit[:12]} is not among its ancestors"
        if not await self._workshop.git.is_ancestor(self._ground.base, parent):
            return f"the base here, {self._ground.base[:12]}, is not among its ancestors"
        return ""

    async def _make_bench(self, evidence: Evidence) -> FindingBench:
        """Build what looks for the findings that the run reported. Of the evidence it takes the
        names of analyzers and of ruff's rules.
        """
        loaded = _adopt_rules(self._loaded, evidence.run.started.settings)
        named = (*evidence.run.started.reviewers, *evidence.run.started.judges)
        names = tuple(name for name in named if name in self._bench.analyzers)
        _, world = await self._build_world(loaded, names)
        return FindingBench(world, self._untrusted)

    async def _build_world(
        self, loaded: LoadedSettings, analyzers: tuple[str, ...]
    ) -> tuple[Run, World]:
        """Connect a run of our own, which is never recorded, over the base."""
        ground, found = self._ground, self._found
        started = Started(
            repository=self._session.repository,
            change=Change(kind=ScopeKind.ALL, base=ground.base, head=ground.start),
            workflow_name="prove",
            workflow="",
            settings=encode_settings(loaded),
            reviewers=() if self._untrusted else analyzers,
            checks=found.checks if not found.refused else (),
            checks_allowed=not found.refused,
            version=__version__,
        )
        started = replace(started, configurations=await self._survey(loaded, started))
        run = Run(id="prove", started=started)
        with temporary_folder("punchlist-prove-") as name:
            files = RunFiles.below(name / "runs" / "x")
            return run, build_world(self._workshop, run, started, self._session.store, files)

    async def _survey(
        self, loaded: LoadedSettings, started: Started
    ) -> tuple[ToolConfiguration, ...]:
        """Return what the analyzers' configuration loads, and whether our user allowed that."""
        allows = (lambda _: True) if self._choices.allow else self._session.allowance.covers
        analyzers, names = loaded.settings.analyzers, started.reviewers
        return await survey_code(self._workshop, started.change.base, analyzers, names, allows)


async def _find_checks_here(
    session: Session,
    workshop: Workshop,
    ground: Ground,
    loaded: LoadedSettings,
    *,
    allow: bool | None,
) -> FoundHere:
    """Return the checks of the base, and those that only the end of the range has."""

    async def find(commit: str) -> tuple[Check, ...]:
        found = await find_checks(workshop, commit, loaded, head=ground.start)
        return await name_check_files(found.checks, workshop, commit)

    def may_run(checks: tuple[Check, ...]) -> bool:
        request = Request(allow_checks=allow)
        return bool(find_permission(request, checks, session.allowance, loaded))

    checks, later = await find(ground.base), await find(ground.end)
    known = {(check.name, tuple(check.command)) for check in checks}
    newer = tuple(
        each for each in later if (each.name, tuple(each.command)) not in known and not each.is_gate
    )
    refused = bool(checks) and not may_run(checks)
    refused = refused or (bool(newer) and not may_run(checks) and not may_run(later))
    return FoundHere(checks, newer, _NOT_ALLOWED if refused else "")


def _adopt_rules(loaded: LoadedSettings, pinned: str) -> LoadedSettings:
    """Return our settings with the rules that the run asked of ruff, which our own selection
    replaces. Nothing else of the evidence's settings is used: arguments and programs of tools are
    commands.
    """
    settings = loaded.settings
    ours, asked = settings.analyzers, AnalyzerSettings()
    with contextlib.suppress(msgspec.MsgspecError):  # of another version
        asked = decode_settings(pinned).settings.analyzers
    more = (*ours.extend_select, *_keep_codes(asked.extend_select))
    analyzers = replace(
        ours,
        select=ours.select or _keep_codes(asked.select),
        extend_select=tuple(dict.fromkeys(more)),
        rules="all" if "all" in (ours.rules, asked.rules) else ours.rules,
    )
    return replace(loaded, settings=replace(settings, analyzers=analyzers))


def _keep_codes(rules: Sequence[str]) -> tuple[str, ...]:
    return tuple(each for each in rules if _RULE.fullmatch(each))
