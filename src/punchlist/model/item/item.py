"""An item: merged findings, and a status that moves only by one table (status, fact) -> status."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.finding import Finding, Safety
from punchlist.model.finding.severity import Severity, worst_severity
from punchlist.model.item.proof import Proof


class Status(StrEnum):
    OPEN = "open"
    CLAIMED = "claimed"
    DEFERRED = "deferred"
    BLOCKED = "blocked"
    FIXED = "fixed"
    FILED = "filed"
    DISMISSED = "dismissed"


class Fact(StrEnum):
    """Something that happened to an item."""

    SAID_FIXED = "said-fixed"
    SAID_DEFERRED = "said-deferred"
    SAID_BLOCKED = "said-blocked"
    EXCUSE_REFUSED = "excuse-refused"
    """The reason for deferring was weak: the item is open again."""
    SET_ASIDE = "set-aside"
    """The user leaves it out of this round."""
    CONTESTED = "contested"
    CONTEST_AGREED = "contest-agreed"
    REJECTED = "rejected"
    COMMITTED = "committed"
    FILED = "filed"
    DISMISSED = "dismissed"
    SEEN_AGAIN = "seen-again"
    CONFIRMED = "confirmed"
    """Another reviewer agrees that it is fixed: one more proof."""
    ABSENT = "absent"
    """The agent that was to fix or judge it gave no answer: that is no attempt."""
    REOPENED = "reopened"
    """It is to be tried again: a person asks for that, a loop goes on with what the fixer called
    blocked, or no tool reports it any more.
    """
    RESTORED = "restored"
    """A dismissal was taken back."""


_LIVE = {
    Fact.SAID_FIXED: Status.CLAIMED,
    Fact.SAID_DEFERRED: Status.DEFERRED,
    Fact.SAID_BLOCKED: Status.BLOCKED,
    Fact.EXCUSE_REFUSED: Status.OPEN,
    Fact.SET_ASIDE: Status.OPEN,
    Fact.CONTESTED: Status.OPEN,
    Fact.CONTEST_AGREED: Status.DISMISSED,
    Fact.FILED: Status.FILED,
    Fact.DISMISSED: Status.DISMISSED,
    Fact.SEEN_AGAIN: Status.OPEN,
    Fact.ABSENT: Status.DEFERRED,
}

MOVES: dict[Status, dict[Fact, Status]] = {
    Status.OPEN: _LIVE,
    Status.DEFERRED: _LIVE,
    Status.CLAIMED: {
        Fact.REJECTED: Status.OPEN,
        Fact.COMMITTED: Status.FIXED,
        Fact.FILED: Status.FILED,
        Fact.ABSENT: Status.DEFERRED,
    },
    Status.BLOCKED: {
        Fact.FILED: Status.FILED,
        Fact.DISMISSED: Status.DISMISSED,
        Fact.SEEN_AGAIN: Status.BLOCKED,
        Fact.REOPENED: Status.OPEN,
    },
    Status.FIXED: {Fact.SEEN_AGAIN: Status.OPEN, Fact.CONFIRMED: Status.FIXED},
    Status.FILED: {Fact.DISMISSED: Status.DISMISSED},
    Status.DISMISSED: {Fact.RESTORED: Status.OPEN},
}
"""An empty cell leaves the item where it is."""

ENDED = frozenset({Status.FIXED, Status.FILED, Status.DISMISSED})
ACTIONABLE = frozenset({Status.OPEN, Status.DEFERRED})


def next_status(status: Status, fact: Fact) -> Status:
    return MOVES[status].get(fact, status)


class Move(Struct, frozen=True, omit_defaults=True, gc=False):
    """A fact about one item, with who says so and why; a commit brings the proof along."""

    item: int
    fact: Fact
    by: str = ""
    why: str = ""
    evidence: str = ""
    proofs: tuple[Proof, ...] = ()
    ref: str = ""
    """What a move points at: a commit, an issue, or the key of the fix that was rejected."""
    flag: str = ""
    """Why a person should look at the item, whatever comes of it."""
    notes: tuple[str, ...] = ()
    """What was seen of a committed fix that is no proof, such as files that it touches beside."""


class Attempt(Struct, frozen=True, omit_defaults=True, gc=False):
    """One move in the item's history, kept for retries and for the issue that may come of it."""

    round: int
    fact: Fact
    by: str
    why: str
    evidence: str = ""
    ref: str = ""


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """`number` is for people, `fingerprint` for machines. The first finding leads; the others were
    merged into it. `latest` is the newest sighting by each source: its place and fix fit the run's
    present tip.
    """

    number: int
    fingerprint: str
    findings: tuple[Finding, ...]
    latest: tuple[Finding, ...] = ()
    sightings: int = 0
    in_scope: bool = True
    left_out: str = ""
    """What leaves it out of the review, such as `--ignore` or the baseline; it is out of scope."""
    made: bool = False
    """Fixes of this run brought it about: it was not there before."""
    status: Status = Status.OPEN
    attempts: tuple[Attempt, ...] = ()
    proofs: tuple[Proof, ...] = ()
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What stands beside the proofs: seen of the fix, and no proof."""
    commit: str = ""
    """The commit with its fix on the run's branch."""
    made_in: str = ""
    """The commit in which its fix was proven; `commit` may join several of these."""
    issue: str = ""

    @property
    def lead(self) -> Finding:
        return self.findings[0]

    @property
    def current(self) -> Finding:
        """The newest finding with the safest fix, if any has one."""
        if len(self.sighted) == 1:
            return self.sighted[0]
        order = list(Safety)
        return min(
            self.sighted, key=lambda each: order.index(each.fix.safety) if each.fix else len(order)
        )

    @property
    def sighted(self) -> tuple[Finding, ...]:
        """The newest finding of each source."""
        return self.latest or self.findings

    def with_sighting(self, finding: Finding) -> "Item":
        others = tuple(known for known in self.sighted if known.source != finding.source)
        return replace(self, latest=(*others, finding), sightings=self.sightings + 1)

    @property
    def severity(self) -> Severity:
        """The worst that a reviewer called it, when it was found or now."""
        if len(self.findings) == 1 and not self.latest:
            return self.findings[0].severity
        return worst_severity([finding.severity for finding in (*self.findings, *self.latest)])

    @property
    def must_fix(self) -> bool:
        return self.in_scope and self.severity is not Severity.MINOR

    @property
    def tries(self) -> int:
        """Number of failed attempts to fix it since it was last opened again."""
        failures = (Fact.SAID_DEFERRED, Fact.REJECTED, Fact.CONTESTED)
        return sum(attempt.fact in failures for attempt in self.since_reopened)

    @property
    def since_reopened(self) -> tuple[Attempt, ...]:
        """Its history since it was last opened again, or all of it."""
        facts = [attempt.fact for attempt in self.attempts]
        last = len(facts) - facts[::-1].index(Fact.REOPENED) if Fact.REOPENED in facts else 0
        return self.attempts[last:]

    @property
    def worked_on_by(self) -> str:
        """Who last said that it is fixed, or that there is nothing to fix, or ""."""
        said = (Fact.SAID_FIXED, Fact.CONTESTED)
        return next((each.by for each in reversed(self.attempts) if each.fact in said), "")

    @property
    def awaits_agent(self) -> bool:
        """Whether it is unresolved because an agent gave no answer, and for no other reason."""
        last = self.attempts[-1].fact if self.attempts else None
        return self.status is Status.DEFERRED and last is Fact.ABSENT

    @property
    def undone(self) -> int:
        """How often it came back after a fix that had landed, since it was last opened again."""
        return sum(attempt.fact is Fact.SEEN_AGAIN for attempt in self.since_reopened)

    @property
    def rejected(self) -> frozenset[str]:
        """Keys of the fixes that were tried and did not hold; they are not tried again."""
        setbacks = (Fact.REJECTED, Fact.SAID_DEFERRED)
        return frozenset(attempt.ref for attempt in self.attempts if attempt.fact in setbacks)

    def apply_move(self, move: Move, round_: int) -> "Item":
        """Return the item after one move; history grows even if the status stays."""
        status = next_status(self.status, move.fact)
        attempt = Attempt(round_, move.fact, move.by, move.why, move.evidence, move.ref)
        fixed = move.fact is Fact.COMMITTED and status is Status.FIXED
        flag = (move.flag,) if move.flag and move.flag not in self.flags else ()
        return replace(
            self,
            status=status,
            attempts=(*self.attempts, attempt),
            flags=(*self.flags, *flag),
            proofs=self._next_proofs(move, status, fixed=fixed),
            notes=move.notes if fixed else self.notes if status is self.status else (),
            commit=move.ref if fixed else self.commit,
            made_in=move.ref if fixed else self.made_in,
            issue=move.ref if move.fact is Fact.FILED and status is Status.FILED else self.issue,
        )

    def _next_proofs(self, move: Move, status: Status, *, fixed: bool) -> tuple[Proof, ...]:
        if fixed:
            return move.proofs
        if move.fact is Fact.CONFIRMED and self.status is Status.FIXED:
            return (*self.proofs, *move.proofs)
        return () if self.status is Status.FIXED and status is Status.OPEN else self.proofs


def reading_order(item: Item) -> tuple[int, str, int, int]:
    """Sort key: severity, file, line."""
    return (item.severity.rank, item.lead.spot.path, item.lead.spot.line or 0, item.number)
