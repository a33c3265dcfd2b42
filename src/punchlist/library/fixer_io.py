"""What a fixer is given, and what it must report."""

from collections import Counter
from collections.abc import Iterator

from punchlist.library.answers import parse_claims
from punchlist.library.json_values import JsonValue
from punchlist.library.tracked import FindingStatus, FixAttempt
from punchlist.model.finding.severity import Severity
from punchlist.model.item.claim import ClaimOutcome
from punchlist.steps.support.agent_fix import NO_STATUS

_REPORTED = (FindingStatus.FIXED, FindingStatus.BLOCKED, FindingStatus.DEFERRED)


class FixerInputItem(JsonValue, frozen=True):
    """One finding to fix, with the attempts so far."""

    finding_id: str
    severity: Severity
    title: str
    description: str = ""
    file_path: str = ""
    line_start: int | None = None
    line_end: int | None = None
    suggested_fix: str = ""
    previous_attempts: tuple[FixAttempt, ...] = ()


class FixerInput(JsonValue, frozen=True):
    """All findings of one round of fixing; `iteration` counts from 1."""

    iteration: int
    items: tuple[FixerInputItem, ...]

    @property
    def ids(self) -> list[str]:
        return [item.finding_id for item in self.items]


class FixerOutputItem(JsonValue, frozen=True):
    """The fixer's report on one finding."""

    finding_id: str
    status: FindingStatus
    justification: str = ""
    changes_made: str = ""

    def __post_init__(self) -> None:
        self._take_word("status", FindingStatus)
        if self.status not in _REPORTED:
            words = ", ".join(_REPORTED)
            raise ValueError(f"{self.finding_id}: {self.status!r} is not one of: {words}")


class FixerOutput(JsonValue, frozen=True):
    items: tuple[FixerOutputItem, ...]
    summary: str = ""

    @classmethod
    def from_answer(cls, text: str, fixer_input: FixerInput) -> "FixerOutput":
        """Return the reports in a fixer's answer, one per finding that was asked about; what it
        does not mention is deferred. Raise UsageError if the answer has no outcome at all.
        """
        ids = fixer_input.ids
        claims = zip(ids, parse_claims(text, ids), strict=True)
        return cls(tuple(_make_item(name, claim.outcome, claim.why) for name, claim in claims))

    def validate(self, fixer_input: FixerInput) -> tuple[str, ...]:
        """Return what is wrong with the reports, one sentence each; nothing if all is well."""
        return tuple(self._find_problems(fixer_input))

    def _find_problems(self, fixer_input: FixerInput) -> Iterator[str]:
        counts = Counter(item.finding_id for item in self.items)
        yield from (f"{name}: {NO_STATUS}" for name in fixer_input.ids if name not in counts)
        yield from (f"{name}: was not asked about" for name in counts.keys() - set(fixer_input.ids))
        yield from (f"{name}: is reported {n} times" for name, n in counts.items() if n > 1)
        for item in self.items:
            if item.status is not FindingStatus.FIXED and not item.justification.strip():
                yield f"{item.finding_id}: {item.status}, and no reason was given"

    def complete(self, fixer_input: FixerInput) -> "FixerOutput":
        """Return exactly one report per finding that was asked about: a missing one is deferred,
        and so is one with several different reports.
        """
        said: dict[str, list[FixerOutputItem]] = {}
        for item in self.items:
            said.setdefault(item.finding_id, []).append(item)
        items = (_choose_report(name, said.get(name, [])) for name in fixer_input.ids)
        return FixerOutput(tuple(items), self.summary)


def _choose_report(name: str, said: list[FixerOutputItem]) -> FixerOutputItem:
    if not said:
        return FixerOutputItem(name, FindingStatus.DEFERRED, NO_STATUS)
    if len({item.status for item in said}) > 1:
        why = "two answers contradict each other"
        return FixerOutputItem(name, FindingStatus.DEFERRED, why)
    return said[-1]


def _make_item(name: str, claim: ClaimOutcome, why: str) -> FixerOutputItem:
    if claim is ClaimOutcome.CONTESTED:
        return FixerOutputItem(name, FindingStatus.DEFERRED, f"contested: {why}")
    status = FindingStatus(claim.value)
    if status is FindingStatus.FIXED:
        return FixerOutputItem(name, status, changes_made=why)
    return FixerOutputItem(name, status, why)
