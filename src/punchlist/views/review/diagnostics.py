"""Unresolved items of a run as the diagnostics of a linter: a place, a rule and a message each."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from punchlist.model.finding.finding import Finding, Safety, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views import summary
from punchlist.views.escaping import one_line

_DONE = (Status.FIXED, Status.DISMISSED)
_UNRULED = "finding"


class ReviewDiagnostic(Struct, frozen=True, kw_only=True, gc=False):
    """`rule` is one word; a finding without a rule has the name of its reviewer there."""

    number: int
    spot: Spot
    severity: Severity
    fixable: bool
    """Whether a tool knows a fix that it calls safe or unsafe; fixes only to be shown do not count.
    """
    in_scope: bool
    finding: Finding
    fingerprint: str

    @property
    def rule(self) -> str:
        named = one_line(self.finding.rule or self.finding.source)
        return "-".join(named.split()) or _UNRULED

    @property
    def message(self) -> str:
        return _drop_rule(one_line(self.finding.title), self.rule) or "(no words)"


class RuleCount(Struct, frozen=True, kw_only=True):
    rule: str
    count: int
    fixable: int
    """How many of them a tool can fix."""
    severity: Severity
    """The worst of them."""
    example: str


def list_diagnostics(run: Run) -> list[ReviewDiagnostic]:
    """Return the unresolved items by file and line: those in scope, and outside of the change those
    that must be fixed.
    """
    old = {item.number for item in run.old_must_fix}
    wanted = (item for item in run.items.values() if item.in_scope or item.number in old)
    found = [_make_diagnostic(item) for item in wanted if item.status not in _DONE]
    return sorted(found, key=_sort_key)


def _sort_key(found: ReviewDiagnostic) -> tuple[str, int, int, int]:
    spot = found.spot
    return spot.path, spot.line or 0, spot.column or 0, found.number


def _make_diagnostic(item: Item) -> ReviewDiagnostic:
    lead = item.current
    fix = lead.fix
    return ReviewDiagnostic(
        number=item.number,
        spot=lead.spot,
        severity=item.severity,
        fixable=fix is not None and fix.safety is not Safety.DISPLAY,
        in_scope=item.in_scope,
        finding=item.lead,
        fingerprint=item.fingerprint,
    )


def _drop_rule(title: str, rule: str) -> str:
    """Return a title without the rule that it begins with."""
    rest = title.removeprefix(rule)
    return rest.lstrip(": ") if rest[:1] in (":", " ") else title


def count_rules(found: Iterable[ReviewDiagnostic]) -> list[RuleCount]:
    """Return how many there are of each rule, the most frequent first."""
    by_rule: dict[str, list[ReviewDiagnostic]] = {}
    for each in found:
        by_rule.setdefault(each.rule, []).append(each)
    counts = [
        RuleCount(
            rule=rule,
            count=len(group),
            fixable=sum(each.fixable for each in group),
            severity=min((each.severity for each in group), key=lambda severity: severity.rank),
            example=group[0].message,
        )
        for rule, group in by_rule.items()
    ]
    return sorted(counts, key=lambda each: (-each.count, each.rule))


def describe_found(found: Iterable[ReviewDiagnostic]) -> str:
    """Return how many problems there are, where, and how bad they are."""
    found = list(found)
    files = len({each.spot.path for each in found if each.spot.path})
    where = f" in {pluralize(files, 'file')}" if files else ""
    return f"{pluralize(len(found), 'problem')}{where}: {count_severities(found)}"


def count_severities(found: Iterable[ReviewDiagnostic | Item]) -> str:
    """Return "1 critical, 2 minor"."""
    tally = Counter(each.severity for each in found)
    return ", ".join(f"{tally[each]:,} {each}" for each in Severity if tally[each])


def find_unreviewed(run: Run) -> Iterator[summary.Gap]:
    """Yield why the review is not complete: what failed, was cut off or was not read."""
    yield from summary.silent_reviewers(run)
    yield from summary.unseen_files(run)
    yield from summary.overlooked_files(run)
    yield from summary.reached_limits(run)
    yield from (summary.Gap("trouble", "An action failed", reason) for reason in run.trouble)
    if run.reviewing.fresh:
        fresh = pluralize(len(run.reviewing.fresh), "finding")
        yield summary.Gap("stop", f"{fresh} not yet sorted into items")
    if not run.ended:
        yield summary.Gap("stop", "The run has not ended", f"`punchlist resume {run.id}` goes on")
    for each in summary.refused_entries(run):
        yield summary.Gap("entry", f"An entry of {each.source} was not understood", each.reason)
