"""Which fresh findings a review leaves out, and by what; they are kept, counted and listed."""

from collections.abc import Iterator

from punchlist.model.dedup.baseline import BASELINE, match_baseline
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.selection import find_selection
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change


def find_left_out(run: Run, change: Change) -> dict[str, str]:
    """Return by finding what leaves it out, in words. Issues that were chosen all count."""
    if run.started.issue_ids:
        return {}
    found = dict.fromkeys(_find_known(run, change), BASELINE)
    old = run.reviewing.old
    for finding in run.reviewing.fresh:
        scope = find_selection(run.started.selections, finding.spot.path)
        if reason := scope.find_reason(finding):
            found[finding.id] = reason
        elif finding.id in old and scope.selection.new_only:
            found[finding.id] = scope.describe_key("new-only")
    return found


def _find_known(run: Run, change: Change) -> Iterator[str]:
    """Yield the findings that the baseline has. What lies in changed lines comes last: of two
    copies of a defect, the new one is reported.
    """
    known, fresh = run.started.baseline, run.reviewing.fresh
    if not known or not fresh:
        return
    ordered = sorted(fresh, key=lambda each: (_is_changed(each, change), each.spot.line or 0))
    pairs = match_baseline(known, ordered, run.started.gone)
    yield from (ordered[index].id for index in pairs)


def _is_changed(finding: Finding, change: Change) -> bool:
    lines = change.files.get(finding.spot.path)
    return bool(lines) and change.covers(
        finding.spot.path, finding.spot.line, finding.spot.last_line
    )
