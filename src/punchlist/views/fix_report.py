"""The fix report: per cycle the agent's claims, changes, verification and duration."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import TypeVar

from msgspec import Struct

from punchlist.model.item.claim import ItemClaim
from punchlist.model.item.item import Fact
from punchlist.model.item.proof import TESTED
from punchlist.model.item.score import Score
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.round_history import PastEvent
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import Hunk
from punchlist.views.words import NO_ROUNDS

NO_CHANGES = "no changes applied"

E = TypeVar("E", bound=ev.Event)


class CycleStatus(StrEnum):
    """PASSED: all changes were judged and none failed. UNVERIFIED: no check judged them."""

    PASSED = "passed"
    FAILED = "failed"
    UNVERIFIED = "unverified"


class Turn(Struct, frozen=True, kw_only=True):
    """One call of an agent. `claims` are its words, not verified."""

    agent: str
    claims: tuple[ItemClaim, ...] = ()
    failed: str = ""
    refused: dict[int, str] = {}
    """By batch: why there is no patch of it."""
    noted: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()
    """Items that did not fit into the prompt."""
    transcript: str = ""
    usage: Usage = Usage()


class CheckRun(Struct, frozen=True, kw_only=True):
    """One run of one check over some of the batches."""

    check: str
    passed: bool
    why: str
    batches: tuple[int, ...]
    complete: bool
    """False when only the tests that had failed were run."""
    seconds: float = 0


class Verification(Struct, frozen=True, kw_only=True):
    status: CycleStatus
    checks: tuple[CheckRun, ...] = ()
    scores: tuple[Score, ...] = ()
    """The challenger's, if one was asked."""
    failures: tuple[str, ...] = ()
    """What was held against the changes: who says so and why, without the rest of the output."""
    unverified: str = ""
    """Why no check judged, if none did."""


class Cycle(Struct, frozen=True, kw_only=True):
    cycle: int
    """Counted from 1: rounds in which no agent tried anything are no cycles."""
    agents: tuple[Turn, ...]
    verification: Verification
    diff: str
    """What the agents changed, as a diff; empty where they changed nothing."""
    files: tuple[str, ...] = ()
    note: str = ""
    landed: int = 0
    """Commits that came of it."""
    seconds: float = 0


class FixReport(Struct, frozen=True, kw_only=True):
    """`final_status` is that of the last cycle; without a cycle nothing was verified."""

    run: str
    cycles: tuple[Cycle, ...]
    final_status: CycleStatus
    total_cycles: int
    fixes_applied: int
    """Commits of all cycles."""
    seconds: float
    note: str = ""
    """Why there is no cycle, if there is none."""


def fix_report(run: Run) -> FixReport:
    """Build the report from the run's history; without cycles if no agent tried anything."""
    rounds = [list(pasts) for _, pasts in groupby(run.history, key=lambda past: past.round)]
    tried = [pasts for pasts in rounds if _filter_events(pasts, ev.Attempted)]
    cycles = tuple(_make_cycle(number, pasts) for number, pasts in enumerate(tried, 1))
    return FixReport(
        run=run.id,
        cycles=cycles,
        final_status=cycles[-1].verification.status if cycles else CycleStatus.UNVERIFIED,
        total_cycles=len(cycles),
        fixes_applied=sum(cycle.landed for cycle in cycles),
        seconds=round(sum(cycle.seconds for cycle in cycles), 3),
        note="" if cycles else _explain_emptiness(run),
    )


def _explain_emptiness(run: Run) -> str:
    """Return why no cycle is there, or "" for a run in which no agent was to fix anything."""
    if run.started.rounds == 0:
        return NO_ROUNDS
    return "no agent tried a fix" if "fixer" in run.started.crew else ""


def _filter_events(pasts: Iterable[PastEvent], kind: type[E]) -> list[E]:
    return [past.event for past in pasts if isinstance(past.event, kind)]


def _make_cycle(number: int, pasts: Sequence[PastEvent]) -> Cycle:
    attempts = _filter_events(pasts, ev.Attempted)
    first = next(index for index, past in enumerate(pasts) if isinstance(past.event, ev.Attempted))
    theirs = [past for past in pasts[first:] if not isinstance(past.event, ev.Reviewed)]
    shown = [hunk for attempt in attempts for hunks in attempt.hunks.values() for hunk in hunks]
    patches = [patch for attempt in attempts for patch in attempt.patches.values()]
    return Cycle(
        cycle=number,
        agents=tuple(_make_turn(attempt) for attempt in attempts),
        verification=_make_verification(theirs, attempts),
        diff=render_hunks(shown),
        files=tuple(sorted({path for patch in patches for path in patch.paths})),
        note="" if patches else NO_CHANGES,
        landed=_count_landed(theirs, attempts),
        seconds=round(max(past.ended for past in theirs) - min(past.began for past in theirs), 3),
    )


def _make_turn(event: ev.Attempted) -> Turn:
    return Turn(
        agent=event.agent,
        claims=event.reports,
        failed=event.failed,
        refused=event.refused,
        noted=tuple(dict.fromkeys(note for notes in event.noted.values() for note in notes)),
        left_out=event.left_out,
        transcript=event.transcript,
        usage=event.usage,
    )


def _count_landed(pasts: Sequence[PastEvent], attempts: Sequence[ev.Attempted]) -> int:
    """Count the commits of agents' batches, without those of tools."""
    ours = {number for attempt in attempts for number in attempt.patches}
    commits = _filter_events(pasts, ev.Committed)
    return sum(landed.batch in ours for event in commits for landed in event.landed)


def _make_verification(
    pasts: Sequence[PastEvent], attempts: Sequence[ev.Attempted]
) -> Verification:
    """Return the verification of the agents' batches, without tools' fixes."""
    absorbed = {number for attempt in attempts for number in attempt.absorbed}
    ours = frozenset(number for attempt in attempts for number in attempt.patches) - absorbed
    failures = tuple(dict.fromkeys(_list_failures(pasts, ours)))
    verdicts = _filter_events(pasts, ev.Verified)
    unverified = next((event.unverified for event in reversed(verdicts) if event.unverified), "")
    passed = {number for event in verdicts for number in event.passed}
    if ours and ours <= _find_tested(pasts):
        unverified = ""  # no check was usable before, and tests that were red are green now
    judged = bool(ours) and ours <= passed and not unverified
    unfailed = CycleStatus.PASSED if judged else CycleStatus.UNVERIFIED
    if not (unverified or judged or failures):
        unverified = "the changes were not judged to the end" if ours else NO_CHANGES
    challenges = _filter_events(pasts, ev.Challenged)
    return Verification(
        status=CycleStatus.FAILED if failures else unfailed,
        checks=tuple(_check_runs(_filter_events(pasts, ev.Tried))),
        scores=tuple(score for event in challenges for score in event.scores),
        failures=failures,
        unverified=unverified,
    )


def _find_tested(pasts: Sequence[PastEvent]) -> frozenset[int]:
    """Return the batches that landed with tests behind every one of their items."""
    commits = _filter_events(pasts, ev.Committed)
    tested = {
        move.item
        for event in commits
        for move in event.moves
        if any(proof.kind in TESTED for proof in move.proofs)
    }
    landed = (each for event in commits for each in event.landed)
    return frozenset(each.batch for each in landed if each.items and tested >= set(each.items))


def _check_runs(trials: Iterable[ev.Tried]) -> Iterator[CheckRun]:
    for trial in trials:
        for verdict in trial.verdicts:
            yield CheckRun(
                check=verdict.check,
                passed=verdict.passed,
                why=verdict.why,
                batches=trial.batches,
                complete=trial.complete,
                seconds=verdict.seconds,
            )


def _list_failures(pasts: Sequence[PastEvent], ours: frozenset[int]) -> Iterator[str]:
    """Yield one line per failure, in order."""
    verdicts = _filter_events(pasts, ev.Verified)
    innocent = bool(verdicts) and not any(ours & set(event.failed) for event in verdicts)
    for past in pasts:
        match past.event:
            case ev.Attempted(agent=agent, failed=failed) if failed:
                yield f"{agent}: {failed}"
            case ev.Rechecked(failed=failed):
                yield from _batch_failures("re-check", failed, ours)
            case ev.Examined(batch=number, refuted=refuted) if refuted and number in ours:
                yield f"examination, batch {number}: {refuted}"
            case ev.Tried(batches=batches, verdicts=seen, complete=True) if (
                ours & set(batches) and not innocent
            ):
                yield from (
                    f"{verdict.check}: {verdict.why}" for verdict in seen if not verdict.passed
                )
            case ev.Verified(failed=failed):
                yield from _batch_failures("verdict", failed, ours)
            case ev.Challenged(agent=agent, failed=failed, moves=moves):
                yield from ([f"{agent or 'challenger'}: {failed}"] if failed else [])
                yield from (
                    f"{move.by}, item {move.item}: {move.why}"
                    for move in moves
                    if move.fact is Fact.REJECTED
                )
            case ev.Committed(refused=refused) if refused:
                yield f"a git hook refused: {refused.splitlines()[0]}"


def _batch_failures(who: str, failed: Mapping[int, str], ours: frozenset[int]) -> Iterator[str]:
    return (f"{who}, batch {number}: {why}" for number, why in failed.items() if number in ours)


def render_hunks(hunks: Iterable[Hunk]) -> str:
    """Return the hunks as a unified diff; adjacent hunks of a file share its header."""
    lines: list[str] = []
    for path, group in groupby(hunks, key=lambda hunk: hunk.path):
        lines += [f"--- a/{path}", f"+++ b/{path}"]
        for hunk in group:
            lines += [_hunk_header(hunk), *hunk.lines]
            if hunk.cut:
                lines.append(f"\\ {hunk.cut} lines more")
    return "\n".join(lines) + "\n" if lines else ""


def _hunk_header(hunk: Hunk) -> str:
    before = sum(line[:1] in (" ", "-") for line in hunk.lines)
    after = sum(line[:1] in (" ", "+") for line in hunk.lines)
    return f"@@ -{hunk.line},{before} +{hunk.line},{after} @@"
