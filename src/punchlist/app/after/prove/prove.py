"""Prove commits: find their claims and evidence, and execute the claims again with what this
machine has and its user allows.
"""

import contextlib
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist._version import __version__
from punchlist.adapters.analyzers.registry import build_analyzers
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.git.command import decode_text
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.prove.bench import ProofBench
from punchlist.app.after.prove.evidence import Evidence, EvidenceFault, find_evidence, read_evidence
from punchlist.app.after.prove.execute import ClaimExecutor, ProvenCommit
from punchlist.app.after.prove.verdict import (
    CommitVerdict,
    ProofReport,
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
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.model.ledger.commit_trailers import CommitTrailers, read_trailers
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.settings import (
    KeepSettings,
    LoadedSettings,
    TrackSettings,
    decode_settings,
    encode_settings,
)

_RULE = re.compile(r"[A-Z]{1,8}[0-9]{0,5}")
_UNTRUSTED = (
    "the base of its run, which configures the analyzers, is not part of the main branch here;"
    " --yes trusts it"
)
_NOT_ALLOWED = "the checks found here are not allowed to run: `punchlist allow`, or --yes"


class _ProofCandidate(Struct, frozen=True):
    commit: str
    parents: tuple[str, ...]
    trailers: CommitTrailers


class _Bench(Struct, frozen=True):
    bench: ProofBench
    refused: str


async def prove_commits(
    session: Session, named: str, *, given: bytes | None = None, allow: bool = False
) -> ProofReport:
    """Execute again what the trailers of a commit, or of those of a range, claim. `given`: the
    evidence, else it is looked for. Commands come from this machine's settings and the project
    itself, never from the evidence; checks run only if the user allowed them.
    """
    workshop = await session.workshop()
    listed = await _list_commits(session, named)
    claiming = [each for each in listed if each.trailers.run and each.trailers.items]
    if not claiming:
        raise UsageError(
            f"{named}: no commit there claims anything", hint="name a commit that punchlist made"
        )
    prover = _Prover(session, workshop, given, allow=allow)
    verdicts = [await prover.prove(each) for each in claiming]
    return ProofReport(
        verdict=join_verdicts(each.verdict for each in verdicts),
        commits=tuple(verdicts),
        checks=prover.list_checks(),
        skipped=len(listed) - len(claiming),
    )


async def _list_commits(session: Session, named: str) -> list[_ProofCandidate]:
    """Return the commits of a range, oldest first, or the one that is named."""
    if named.startswith("-"):
        raise UsageError(f"{named}: is no commit", hint="name a commit or a range, A..B")
    one = () if ".." in named else ("--max-count=1",)
    ran = await session.required_checkout.git.run(
        "log", "--reverse", "-z", "--format=%H%n%P%n%B", *one, named, "--"
    )
    if not ran.ok:
        raise UsageError(f"{named}: is no commit or range", hint="name one, such as main..HEAD")
    found = []
    for each in filter(bytes.strip, ran.stdout.split(b"\0")):
        commit, parents, message = decode_text(each).split("\n", 2)
        found.append(_ProofCandidate(commit, tuple(parents.split()), read_trailers(message)))
    return found


class _Prover:
    def __init__(
        self, session: Session, workshop: Workshop, given: bytes | None, *, allow: bool
    ) -> None:
        self._session, self._workshop = session, workshop
        self._given, self._allow = given, allow
        self._benches: dict[str, _Bench] = {}

    def list_checks(self) -> tuple[str, ...]:
        known = [
            bench.bench.checks.values() for bench in self._benches.values() if not bench.refused
        ]
        return tuple(dict.fromkeys(" ".join(check.command) for each in known for check in each))

    async def prove(self, candidate: _ProofCandidate) -> CommitVerdict:
        trailers = candidate.trailers
        blank = CommitVerdict(
            commit=candidate.commit,
            run=trailers.run,
            verdict=Verdict.CANNOT_TELL,
            ledger=trailers.ledger,
        )
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
        self, candidate: _ProofCandidate, evidence: Evidence, blank: CommitVerdict
    ) -> CommitVerdict:
        parent, git = candidate.parents[0], self._workshop.git
        paths = tuple(await git.list_changed(parent, candidate.commit))
        at = ProvenCommit(candidate.commit, parent, paths)
        if evidence.run.id not in self._benches:
            self._benches[evidence.run.id] = await self._make_bench(parent, evidence)
        known = self._benches[evidence.run.id]
        claims = await ClaimExecutor(at, evidence, known.bench, known.refused).execute_all()
        return replace(blank, verdict=judge_claims(evidence.claims, claims), claims=tuple(claims))

    async def _find_obstacle(self, candidate: _ProofCandidate, evidence: Evidence) -> str:
        """Return why nothing can be executed, or ''."""
        if len(candidate.parents) != 1:
            return f"it has {len(candidate.parents)} parents"
        checkout, base = self._session.required_checkout, evidence.run.started.change.base
        parent = candidate.parents[0]
        for what, commit in (("parent", parent), ("base", base)):
            if await checkout.resolve_commit(commit) is None:
                return f"this clone lacks its {what} {commit[:12]}: fetch the whole history"
        if not await self._workshop.git.is_ancestor(base, parent):
            return f"the base of its run, {base[:12]}, is not among its ancestors"
        return ""

    async def _make_bench(self, parent: str, evidence: Evidence) -> _Bench:
        """Build what looks at commits of the run, of our own settings; of the evidence it takes
        the commits of the change and the names of analyzers.
        """
        session, workshop, change = self._session, self._workshop, evidence.run.started.change
        allow = True if self._allow else None
        _, loaded = await load_trusted(session, workshop, change.base, allow=allow)
        loaded = _adopt_rules(loaded, evidence.run.started.settings)
        found = await find_checks(workshop, change.base, loaded, head=parent)
        checks = await name_check_files(found.checks, workshop, change.base)
        request = Request(allow_checks=allow)
        allowed = bool(find_permission(request, checks, session.allowance, loaded))
        untrusted = "" if self._allow or await self._is_ours(change.base) else _UNTRUSTED
        started = Started(
            repository=session.repository,
            change=Change(kind=ScopeKind.ALL, base=change.base, head=parent),
            workflow_name="prove",
            workflow="",
            settings=encode_settings(loaded),
            reviewers=() if untrusted else self._choose_analyzers(loaded, evidence),
            checks=checks if allowed else (),
            checks_allowed=allowed,
            version=__version__,
        )
        started = replace(started, configurations=await self._survey(loaded, started))
        run = Run(id=evidence.run.id, started=started)
        with tempfile.TemporaryDirectory(prefix="punchlist-prove-") as name:
            files = RunFiles.below(Path(name) / "runs" / "x")
            world = build_world(workshop, run, started, session.store, files)
        refused = "" if allowed or not checks else _NOT_ALLOWED
        return _Bench(ProofBench(run, world, started.checks, untrusted), refused)

    def _choose_analyzers(self, loaded: LoadedSettings, evidence: Evidence) -> tuple[str, ...]:
        """Return the analyzers of the run that are enabled here, too."""
        kit = Kit(checkout=self._workshop.checkout.root)
        enabled = build_analyzers(loaded.settings.analyzers, kit)
        named = (*evidence.run.started.reviewers, *evidence.run.started.judges)
        return tuple(name for name in named if name in enabled)

    async def _survey(
        self, loaded: LoadedSettings, started: Started
    ) -> tuple[ToolConfiguration, ...]:
        """Return what the analyzers' configuration loads, and whether our user allowed that."""
        allows = (lambda _: True) if self._allow else self._session.allowance.covers
        analyzers, names = loaded.settings.analyzers, started.reviewers
        return await survey_code(self._workshop, started.change.base, analyzers, names, allows)

    async def _is_ours(self, base: str) -> bool:
        """Return whether the commit that configures tools is part of the main branch here: the
        evidence could name any other.
        """
        git = self._workshop.git
        mains = await self._session.required_checkout.find_main_branch()
        tips = [await self._session.required_checkout.resolve_commit(name) for name in mains]
        return any([await git.is_ancestor(base, tip) for tip in tips if tip])


def _adopt_rules(loaded: LoadedSettings, pinned: str) -> LoadedSettings:
    """Return our settings with the rules that the run asked of ruff, which our own selection
    replaces, and without a tracker or a store of results. Nothing else of the evidence's settings
    is used: arguments and programs of tools are commands.
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
    plain = replace(settings, analyzers=analyzers, track=TrackSettings(), keep=KeepSettings())
    return replace(loaded, settings=plain)


def _keep_codes(rules: Sequence[str]) -> tuple[str, ...]:
    return tuple(each for each in rules if _RULE.fullmatch(each))
