"""What `prove` says: of each claim, of each commit, of all."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from punchlist.model.item.proof import ProofClass


class Verdict(StrEnum):
    """AGREE: it was executed again, with the same result. DISAGREE: with another result, or commit
    and evidence contradict each other. CANNOT_TELL: it could not be executed here.
    """

    AGREE = "agree"
    DISAGREE = "disagree"
    CANNOT_TELL = "cannot tell"


class ClaimVerdict(Struct, frozen=True, kw_only=True):
    """One claim of a commit's trailers: this kind of proof of this item."""

    item: int
    claim: ProofClass
    verdict: Verdict
    said: str
    tests: tuple[str, ...] = ()
    """The tests that were run for it, if it names single ones."""


class CommitVerdict(Struct, frozen=True, kw_only=True):
    commit: str
    run: str
    verdict: Verdict
    said: str = ""
    """Why nothing was executed, if nothing was."""
    claims: tuple[ClaimVerdict, ...] = ()
    ledger: str = ""
    """The hash of the ledger that its trailers name."""
    evidence: str = ""
    """SHA-256 of the evidence."""
    faults: tuple[str, ...] = ()
    """What speaks against it, besides its claims."""
    noted: tuple[str, ...] = ()
    """Where the evidence differs from what was chosen here, and what could not judge here."""


class ProofReport(Struct, frozen=True, kw_only=True):
    verdict: Verdict
    commits: tuple[CommitVerdict, ...]
    checks: tuple[str, ...] = ()
    """The commands of the checks that were run, as this machine has them."""
    skipped: int = 0
    """Commits of the range that claim nothing."""
    unclaimed: tuple[str, ...] = ()
    """These commits."""
    unclaimed_allowed: bool = False
    base: str = ""
    """The commit whose tests, configuration and findings everything was compared with."""
    chosen: str = ""
    """How the base was chosen here."""
    end: str = ""
    """The last commit of the range."""
    analyzers: tuple[str, ...] = ()
    """The analyzers that looked at the end of the range and at the base."""
    findings: tuple[str, ...] = ()
    """What they report of the end and not of the base."""
    faults: tuple[str, ...] = ()
    """What speaks against the range as a whole."""
    noted: tuple[str, ...] = ()


Said = tuple[Verdict, str]
"""A verdict and its reason."""

EXECUTABLE = frozenset(
    {ProofClass.CHECKED, ProofClass.RECHECKED, ProofClass.WITNESSED, ProofClass.REPRODUCED}
)
"""The other classes are the word of an agent: there is nothing to execute."""


def join_verdicts(verdicts: Iterable[Verdict]) -> Verdict:
    """Return DISAGREE if one is, else CANNOT_TELL if one is or there is none."""
    known = set(verdicts)
    for each in (Verdict.DISAGREE, Verdict.CANNOT_TELL):
        if each in known:
            return each
    return Verdict.AGREE if known else Verdict.CANNOT_TELL


def judge_claims(items: Iterable[int], claims: Iterable[ClaimVerdict]) -> Verdict:
    """Return the verdict of a commit: of each item, what can be executed counts; an item of which
    nothing can be is not agreed to.
    """
    by_item: dict[int, list[ClaimVerdict]] = {item: [] for item in items}
    for each in claims:
        by_item.setdefault(each.item, []).append(each)
    return join_verdicts(
        join_verdicts(each.verdict for each in known if each.claim in EXECUTABLE)
        for known in by_item.values()
    )
