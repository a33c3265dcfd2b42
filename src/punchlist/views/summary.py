"""Summary of a run in plain words: headline, numbers, gaps and advice."""

from collections.abc import Iterator

from msgspec import Struct

from punchlist.model.item.item import ENDED, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run, count_statuses
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.item_words import PROOF_WORDS

_RAW = 200


class Gap(Struct, frozen=True):
    """Something this run did not verify. `about`: reviewer, check, entry, scope, limit, stop,
    trouble, filing or flag.
    """

    about: str
    what: str
    why: str = ""


class Numbers(Struct, frozen=True, kw_only=True):
    """Where every reported finding went: `reported` is `merged` + `again` + `pending` + one for
    each item.
    """

    reported: int
    items: int
    in_scope: int
    outside: int
    merged: int
    """Findings that say the same as the first one of their item."""
    again: int
    """Findings of a later look that were known items."""
    pending: int
    """Reported, and not yet sorted into items."""
    refused: int
    fixed: int
    filed: int
    dismissed: int
    left: int
    """In scope and without an end: open, claimed, deferred or blocked."""
    commits: int
    check_runs: int


class Summary(Struct, frozen=True, kw_only=True):
    outcome: RunOutcome
    headline: str
    numbers: Numbers
    by_status: dict[Status, int]
    gaps: tuple[Gap, ...]
    advice: str


def summarize_run(run: Run) -> Summary:
    numbers = _item_numbers(run)
    result = run_outcome(run)
    return Summary(
        outcome=result,
        headline=_write_headline(result, numbers, run),
        numbers=numbers,
        by_status=count_statuses(run.items),
        gaps=tuple(find_gaps(run)),
        advice=_write_advice(result, numbers, run),
    )


def _item_numbers(run: Run) -> Numbers:
    tally = count_statuses(run.items)
    inside = sum(tally.values())
    return Numbers(
        reported=run.reviewing.reported,
        items=len(run.items),
        in_scope=inside,
        outside=len(run.items) - inside,
        merged=sum(len(item.findings) - 1 for item in run.items.values()),
        again=sum(item.sightings for item in run.items.values()),
        pending=len(run.reviewing.fresh),
        refused=len(run.reviewing.refused),
        fixed=tally[Status.FIXED],
        filed=tally[Status.FILED],
        dismissed=tally[Status.DISMISSED],
        left=sum(count for status, count in tally.items() if status not in ENDED),
        commits=len(run.landing.landed),
        check_runs=run.usage.checks,
    )


def _write_headline(result: RunOutcome, numbers: Numbers, run: Run) -> str:
    if not numbers.in_scope:
        looked = pluralize(
            sum(not (r.failed or r.skipped) for r in run.reviewing.reviews.values()), "reviewer"
        )
        return (
            f"{looked} looked and reported nothing here."
            if result is RunOutcome.CLEAN
            else _describe_empty(numbers, run)
        )
    seen = _proof_caveat(run)
    if numbers.fixed == numbers.in_scope:
        all_ = "The one item is" if numbers.fixed == 1 else f"All {numbers.fixed:,} items are"
        return f"{all_} fixed{seen or ', each with a proof'}."
    done = f"{numbers.fixed:,} of {pluralize(numbers.in_scope, 'item')} fixed" + (
        seen or " with a proof" if numbers.fixed else ""
    )
    rest = [(numbers.filed, "filed"), (numbers.left, "left"), (numbers.dismissed, "dismissed")]
    return ", ".join([done, *(f"{count:,} {word}" for count, word in rest if count)]) + "."


def _proof_caveat(run: Run) -> str:
    """Return a caveat if no test judged any of the fixes, or ""."""
    kinds = {
        proof.kind
        for item in run.find_items(Status.FIXED)
        if item.in_scope
        for proof in item.proofs
    }
    if not kinds or kinds & {ProofClass.CHECKED, ProofClass.WITNESSED, ProofClass.REPRODUCED}:
        return ""
    known = sorted(kinds, key=lambda kind: -kind.strength)
    return (
        f" ({' and '.join(PROOF_WORDS[kind][0] for kind in known)} only; no"
        f" {'test could judge' if run.usage.checks else 'tests ran'})"
    )


def _describe_empty(numbers: Numbers, run: Run) -> str:
    if numbers.pending:
        return (
            f"{pluralize(numbers.pending, 'finding')} reported so far, not yet sorted into items."
        )
    if not run.reviewing.reviews and not run.ended:
        return "Nothing was looked at yet."
    if run.reviewing.reviews and all(review.skipped for review in run.reviewing.reviews.values()):
        return "No items, but that does not mean clean: no analyzer here looks at these files."
    return "No items, but that does not mean clean: not everything was looked at."


def _write_advice(result: RunOutcome, numbers: Numbers, run: Run) -> str:
    apply = (
        f"`punchlist apply {run.id}` merges {pluralize(numbers.commits, 'commit')} into your branch"
        if numbers.commits
        else ""
    )
    match result:
        case RunOutcome.CLEAN:
            return "nothing to do"
        case RunOutcome.FIXED | RunOutcome.DISMISSED:
            return apply or "nothing to do"
        case RunOutcome.LEFTOVERS:
            rest = numbers.filed + numbers.left + numbers.refused
            return "; ".join(filter(None, (apply, f"look at {pluralize(rest, 'unresolved item')}")))
        case RunOutcome.INCOMPLETE:
            return "; ".join(
                filter(None, ("this run is not complete: see what was not checked", apply))
            )


def find_gaps(run: Run) -> Iterator[Gap]:
    """Yield what was not checked, worst first."""
    yield from _silent_reviewers(run)
    yield from _idle_checks(run)
    yield from _overlooked_files(run)
    judged = run.work.challenged
    if judged is not None and judged.failed:
        yield Gap(
            "reviewer",
            f"{judged.agent} was to judge the last fixes and failed: none of them counts",
            judged.failed,
        )
    if run.halted:
        yield Gap("limit", "The run stopped before it was through", run.halted)
    if run.interrupted:
        yield Gap("stop", "The run was interrupted", f"`punchlist resume {run.id}` goes on")
    yield from (Gap("trouble", "An action failed", reason) for reason in run.trouble)
    if run.landing.unpublished:
        what = (
            f"Your repository does not have all of {run.landing.branch};"
            f" `punchlist apply {run.id}` merges all of it into your branch"
        )
        yield Gap("trouble", what, run.landing.unpublished)
    if run.landing.unheard:
        yield Gap("check", "The pre-commit hook was not run", run.landing.unheard)
    yield from (
        Gap("filing", f"Item {number} could not be filed; the next run tries again", why)
        for number, why in sorted(run.filing.unfiled.items())
    )
    yield from (
        Gap("filing", f"Item {name} of an earlier run could not be filed", why)
        for name, why in sorted(run.filing.owed.items())
    )
    yield from (
        Gap(
            "entry", f"An entry of {each.source} was not understood: {each.raw[:_RAW]}", each.reason
        )
        for each in run.reviewing.refused
    )
    yield from (
        Gap("flag", f"Item {item.number} is flagged", flag)
        for item in run.items.values()
        for flag in item.flags
    )
    if run.checks.flaky:
        yield Gap(
            "check",
            f"{pluralize(len(run.checks.flaky), 'test is', 'tests are')} flaky, and not counted",
            ", ".join(sorted(run.checks.flaky)),
        )
    outside = [item for item in run.items.values() if not item.in_scope]
    if outside:
        where = pluralize(len({item.lead.spot.path for item in outside}), "file")
        yield Gap(
            "scope",
            f"{pluralize(len(outside), 'item')} in {where} outside the change",
            "listed, and not worked on",
        )
    yield from (Gap("scope", note) for note in run.started.change.notes)


def _silent_reviewers(run: Run) -> Iterator[Gap]:
    reviews = run.reviewing.reviews.values()
    expected = (*run.started.reviewers, *run.started.documents)
    yield from (
        Gap("reviewer", f"{review.reviewer} failed", review.failed)
        for review in reviews
        if review.failed
    )
    yield from (
        Gap("reviewer", f"{name} did not get to look")
        for name in expected
        if name not in run.reviewing.reviews
    )
    yield from (
        Gap("reviewer", f"{each.reviewer} did not look", each.skipped)
        for each in reviews
        if each.skipped and not each.failed
    )


def _overlooked_files(run: Run) -> Iterator[Gap]:
    nobody = run.overlooked
    if nobody:
        what = f"No agent looked at {pluralize(len(nobody), 'file')} of the change"
        yield Gap("reviewer", what, ", ".join(nobody[:10]) + (", ..." if len(nobody) > 10 else ""))


def _idle_checks(run: Run) -> Iterator[Gap]:
    if run.checks.unverified:
        yield Gap(
            "check",
            "The fixes are unverified: no check of the project judged them",
            run.checks.unverified,
        )
    started = run.started
    for check in started.checks:
        known = run.checks.baselines.get(check.name)
        if known is not None and known.unusable:
            yield Gap("check", f"{check.name} could not judge", known.unusable)
        elif known is None and not run.checks.unverified:
            yield Gap(
                "check",
                f"{check.name} was not run",
                "" if run.landing.landed else "there was no fix for it to judge",
            )
