"""What a recorded run would have resulted in under other rules, from its ledger alone."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.challenge_verdict import judge_batches
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.item.score import Score, lowest_scores
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.append_only import AppendOnlyList
from punchlist.model.ledger.fold import begin, fold
from punchlist.model.ledger.run import Run


class ReplayRules(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`threshold`: the score that approves. `attempts`: after so many an item is left. `floor`: the
    least severity worked on.
    """

    threshold: int | None = None
    attempts: int | None = None
    floor: Severity | None = None


class ReplayFate(StrEnum):
    """AGAIN: it goes round again. APPROVED: the challenger approves it. LEFT: it is no longer
    worked on. TRIED: it is worked on. DISMISSED: its contest is agreed to. UNSURE: what it was
    built on is missing.
    """

    AGAIN = "goes round again"
    APPROVED = "is approved"
    LEFT = "is not worked on"
    TRIED = "is worked on"
    DISMISSED = "is dismissed"
    UNSURE = "cannot be known"


class Difference(Struct, frozen=True, kw_only=True):
    """The first thing that would have gone differently for an item."""

    item: int
    title: str
    round: int
    ended: Status
    """What it came to in truth."""
    fate: ReplayFate
    why: str


_LOST = frozenset({ReplayFate.AGAIN, ReplayFate.LEFT})
"""Fates of items whose fix would not have landed when it did."""
UNKNOWN = {
    ReplayFate.AGAIN: (
        "what another attempt would have made of what goes round again: no agent was started"
    ),
    ReplayFate.APPROVED: (
        "whether what is approved would have landed: later proofs and git hooks were not asked"
    ),
    ReplayFate.TRIED: (
        "what would have come of work that was not done, and whether a round was left for it"
    ),
    ReplayFate.UNSURE: (
        "whether fixes still fit that were made together with, or on top of, one that would not"
        " have landed"
    ),
}
"""By fate: what the ledger cannot tell."""


def hash_state(run: Run) -> str:
    """Return a hash of the run; the same ledger gives the same on every machine."""
    plain = msgspec.to_builtins(run, order="deterministic", str_keys=True, enc_hook=_encode_shared)
    return sha256(wire.encode(plain)).hexdigest()


def _encode_shared(value: Any) -> Any:
    if isinstance(value, Mapping):  # an AppendOnlyMap or a PagedMap
        return dict(value)
    if isinstance(value, AppendOnlyList):
        return list(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON")


def what_if(
    run_id: str, entries: Iterable[ev.Entry], then: ReplayRules, now: ReplayRules
) -> tuple[Difference, ...]:
    """Return the differences if the run's rules `then` had been `now`."""
    other = _Simulation(then, now)
    lines = iter(entries)
    run = begin(run_id, lines)
    for entry in lines:
        after = fold(run, entry)
        other.round = after.position.round
        other.apply_event(run, entry.event)
        run = after
    other.finish_run(run)
    return tuple(_list_differences(run, other.found))


def _list_differences(
    run: Run, found: Mapping[int, tuple[int, ReplayFate, str]]
) -> Iterator[Difference]:
    for number, (round_, fate, why) in sorted(found.items()):
        item = run.items[number]
        yield Difference(
            item=number, title=item.lead.title, round=round_, ended=item.status, fate=fate, why=why
        )


class _Simulation:
    """The run under other rules; records each item's first difference."""

    def __init__(self, then: ReplayRules, now: ReplayRules) -> None:
        self._then = then
        self._now = now
        self.round = 1
        """The round of the event that is applied."""
        self._gone: dict[str, int] = {}
        """Files in which a fix would not have landed, and of which item."""
        self.found: dict[int, tuple[int, ReplayFate, str]] = {}

    def apply_event(self, run: Run, event: ev.AnyEvent) -> None:
        """Apply an event; `run` is the state before it."""
        match event:
            case ev.Planned():
                self._check_plan(run, event)
            case ev.Challenged() if self._now.threshold is not None:
                self._check_scores(run, event, self._now.threshold)
                self._check_contests(
                    run, lowest_scores(event.scores), event.threshold, self._now.threshold
                )
            case ev.Committed():
                self._check_commits(run, event)
            case _:
                pass

    def finish_run(self, run: Run) -> None:
        """Record unresolved items that would have been worked on."""
        for item in run.left:
            if (why := self._explain_tried(item)) and item.number not in self.found:
                self.found[item.number] = (self.round, ReplayFate.TRIED, why)

    def _record_difference(self, number: int, fate: ReplayFate, why: str) -> None:
        self.found.setdefault(number, (self.round, fate, why))

    def _check_plan(self, run: Run, event: ev.Planned) -> None:
        for batch in event.batches:
            for number in batch.items:
                if number in run.items and (why := self._explain_left(run.items[number])):
                    self._record_difference(number, ReplayFate.LEFT, why)

    def _explain_left(self, item: Item) -> str:
        now = self._now
        if now.floor is not None and item.severity.rank > now.floor.rank:
            return f"it is {item.severity}, below the floor {now.floor}"
        if now.attempts is not None and item.tries >= now.attempts:
            return f"it was tried {item.tries} times before, and {now.attempts} are allowed"
        return ""

    def _explain_tried(self, item: Item) -> str:
        then, now = self._then, self._now
        if (
            then.floor is not None
            and now.floor is not None
            and then.floor.rank < item.severity.rank <= now.floor.rank
        ):
            return f"it is {item.severity}, and was left for the floor {then.floor}"
        if (
            then.attempts is not None
            and now.attempts is not None
            and then.attempts <= item.tries < now.attempts
        ):
            return f"it was left after {item.tries} attempts, and {now.attempts} are allowed"
        return ""

    def _check_scores(self, run: Run, event: ev.Challenged, threshold: int) -> None:
        asked = _judged_batches(run, event)
        verdict = judge_batches(
            asked, run.items, event.scores, threshold, by=event.agent or "challenger"
        )
        reasons = {move.item: move.why for move in verdict.moves}
        scores = lowest_scores(event.scores)
        for batch in asked:
            was, would = batch.number in event.approved, batch.number in verdict.approved
            for number in batch.items if was != would else ():
                if was and number in reasons:
                    self._record_difference(number, ReplayFate.AGAIN, reasons[number])
                elif would:
                    why = _explain_approval(run, batch, scores.get(number), threshold)
                    self._record_difference(number, ReplayFate.APPROVED, why)

    def _check_contests(
        self, run: Run, scores: Mapping[int, Score], before: int, threshold: int
    ) -> None:
        for number in run.work.contested:
            score = scores.get(number)
            was, would = (score is not None and score.approves(bar) for bar in (before, threshold))
            if was != would:
                fate = ReplayFate.DISMISSED if would else ReplayFate.AGAIN
                agreed = "would have" if would else "would not have"
                why = f"that there is nothing to fix {agreed} been agreed to at {threshold}"
                self._record_difference(number, fate, why)

    def _check_commits(self, run: Run, event: ev.Committed) -> None:
        """Record fixes that landed with, or on top of, one that would not have landed."""
        landed = [
            run.work.batches[each.batch] for each in event.landed if each.batch in run.work.batches
        ]
        for batch in landed:
            lost = self._find_lost(batch)
            if len(lost) == len(batch.items):
                self._gone |= dict.fromkeys(batch.paths, lost[0])
        for batch in landed:
            for number in batch.items:
                if why := self._explain_unsure(batch):
                    self._record_difference(number, ReplayFate.UNSURE, why)

    def _explain_unsure(self, batch: Batch) -> str:
        """Return which missing fix a landed one was built on, or ""."""
        if lost := self._find_lost(batch):
            fate = self.found[lost[0]][1]
            return f"its patch was made together with item {lost[0]}, which {fate}"
        path = next((path for path in batch.paths if path in self._gone), "")
        if not path:
            return ""
        return f"it landed in {path}, where the fix of item {self._gone[path]} would not have been"

    def _find_lost(self, batch: Batch) -> list[int]:
        """Return the batch's items whose fix would not have landed."""
        return [n for n in batch.items if n in self.found and self.found[n][1] in _LOST]


def _judged_batches(run: Run, event: ev.Challenged) -> list[Batch]:
    """Return the judged batches: with a patch, and a score or rejection of an item."""
    named = {score.item for score in event.scores} | {
        move.item for move in event.moves if move.fact is Fact.REJECTED
    }
    return [
        batch
        for batch in run.work.batches.values()
        if batch.number in run.work.patches and set(batch.items) & named
    ]


def _explain_approval(run: Run, batch: Batch, score: Score | None, threshold: int) -> str:
    points = f"all of its patch reaches {threshold}"
    if score is not None:
        points = f"scored {score.score}, and {threshold} are needed"
    verified = run.work.verified
    if verified is None:
        return f"{points}; verification had not judged it yet"
    verdict = "passed" if batch.number in verified.passed else "refused"
    return f"{points}; verification had {verdict} it"
