"""A review as a linter prints it: a line for each problem, then what it comes to."""

from collections.abc import Iterator, Sequence

from punchlist.cli.drawing import Part, Text
from punchlist.cli.show.caveats import suggest_analyzers
from punchlist.cli.show.leftovers import SEVERITIES
from punchlist.cli.show.words import escape_text, one_line
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.model.patch.change import ScopeKind
from punchlist.views.review.diagnostics import (
    ReviewDiagnostic,
    RuleCount,
    count_rules,
    describe_found,
    find_unreviewed,
    list_diagnostics,
)
from punchlist.views.summary import find_gaps, is_usual

_FIXABLE = "[*]"
_NO_FILE = "(no file)"
_NOTES = 3
_LOUD = frozenset({Severity.CRITICAL, Severity.MAJOR})


def render_review(
    run: Run, *, statistics: bool = False, most: int = 0, verbose: bool = False
) -> Iterator[Part]:
    """Yield a line for each problem, by file and line, or for each rule; then notes on what was
    and was not read; then one line that sums it up. `most`: of problems; 0 for all. `verbose`: with
    all notes.
    """
    found = list_diagnostics(run)
    if statistics:
        yield from _render_counts(count_rules(found))
    else:
        yield from map(_render_diagnostic, found[: most or None])
    if not statistics and 0 < most < len(found):
        yield _note("more", f"{pluralize(len(found) - most, 'problem')}: -n 0")
    yield from _render_notes(run, verbose=verbose)
    yield _render_closing(run, found)


def count_document(run: Run) -> list[RuleCount]:
    """Return the --json output of --statistics."""
    return count_rules(list_diagnostics(run))


def _line(*parts: "str | tuple[str, str]") -> Part:
    return Text.assemble(*parts, no_wrap=True)


def _render_diagnostic(found: ReviewDiagnostic) -> Part:
    """Return `file:line:col: RULE message`; what lacks a line or column has 1 there, as editors and
    problem matchers want a number.
    """
    spot = found.spot
    path = _format_path(spot.path)
    mark = f"{_FIXABLE} " if found.fixable else ""
    outside = "" if found.in_scope else ", outside the change"
    loud = f"{found.severity}, " if found.severity in _LOUD else ""
    return _line(
        (path, "bold"),
        (f":{spot.line or 1}:{spot.column or 1}: ", "cyan"),
        (_disarm(found.rule), SEVERITIES[found.severity]),
        " ",
        (mark, "green"),
        _disarm(found.message),
        (f" ({loud}item {found.number}{outside})", "dim"),
    )


def _format_path(path: str) -> str:
    """Return the path; a name like `::error` must not begin a line, which GitHub would obey."""
    shown = escape_text(path).replace("\n", "\\n").replace("\t", "\\t").replace("##[", "## [")
    shown = shown or _NO_FILE
    return f"./{shown}" if shown.startswith((":", "#")) else shown


def _disarm(text: str) -> str:
    """Return one line in which `##[`, a command of CI services anywhere in a line, is none."""
    return one_line(text).replace("##[", "## [")


def _render_counts(counts: Sequence[RuleCount]) -> Iterator[Part]:
    width = max((len(_disarm(each.rule)) for each in counts), default=0)
    digits = max((len(f"{each.count:,}") for each in counts), default=0)
    for each in counts:
        some = f"[{each.fixable:,} of them fixable] "
        mark = f"{_FIXABLE} " if each.fixable == each.count else some if each.fixable else ""
        blank = " " * len(_FIXABLE) + " "
        yield _line(
            f"{each.count:>{digits},}  ",
            (f"{_disarm(each.rule):<{width}}", SEVERITIES[each.severity]),
            "  ",
            (mark or blank, "green"),
            _disarm(each.example),
        )


def _render_notes(run: Run, *, verbose: bool) -> Iterator[Part]:
    """Yield what the reviewers read, by language, what none of them read, and other notes."""
    if run.reviewing.seen:
        files = ", ".join(
            pluralize(count, f"{name} file") for name, count in run.reviewing.seen.items()
        )
        yield _note("reviewed", f"{files} ({_name_reviewers(run)})")
    unread = [*find_unreviewed(run)]
    for gap in unread:
        yield _note("not reviewed", f"{gap.what}: {gap.why}" if gap.why else gap.what, "yellow")
    for text in suggest_analyzers(run):
        yield _note("not reviewed", text, "yellow")
    notes = [gap for gap in find_gaps(run) if gap not in unread]
    if not verbose:  # a review runs no checks: its users know
        notes = [gap for gap in notes if not is_usual(gap)]
    for gap in notes if verbose else notes[:_NOTES]:
        yield _note("note", f"{gap.what}: {gap.why}" if gap.why else gap.what)
    if not verbose and len(notes) > _NOTES:
        yield _note("more", f"{pluralize(len(notes) - _NOTES, 'note')}: -v")


def _name_reviewers(run: Run) -> str:
    """Return who looked, and apart from these the analyzers that do not say what they read."""
    done = [
        each
        for each in run.reviewing.reviews.values()
        if not each.failed and not each.skipped
        if each.looked_at or each.reviewer not in run.started.reviewers
    ]
    looked = sorted(each.reviewer for each in done if not each.given)
    given = sorted(each.reviewer for each in done if each.given)
    by = [f"by {', '.join(looked)}"] if looked else []
    by += [f"given to {', '.join(given)}, which does not say what it read"] if given else []
    return "; ".join(by)


def _note(word: str, text: str, style: str = "dim") -> Part:
    return _line((f"{word}: ", f"bold {style}"), (_disarm(text), style))


def _render_closing(run: Run, found: Sequence[ReviewDiagnostic]) -> Part:
    """Return the one line that says what the review comes to, and what to type next."""
    complete = run_outcome(run) is not RunOutcome.INCOMPLETE
    head = describe_found(found) if found else _describe_none(run, complete=complete)
    dismissed = sum(
        item.status is Status.DISMISSED and item.in_scope for item in run.items.values()
    )
    left_out = sum(len(item.findings) for item in run.left_out)
    beside = {"dismissed": dismissed, "left out": left_out}
    named = ", ".join(f"{count:,} {word}" for word, count in beside.items() if count)
    more = f" ({named})" if named else ""
    cut = "" if complete else "; the review is not complete, see above"
    style = "bold" if found else "bold green" if complete else "bold yellow"
    fixable = sum(each.fixable for each in found)
    tip = ""
    if fixable:
        which = "all of them" if fixable == len(found) > 1 else f"{fixable:,} of them"
        which = "it" if len(found) == 1 else which
        tip = f" Tools can fix {which} {_FIXABLE}: punchlist fix --from {run.id}"
    elif found:
        tip = f" Each in full: punchlist show {run.id}"
    return _line((f"{head}{more}{cut}.", style), (tip, "dim" if fixable == 0 else ""))


def _describe_none(run: Run, *, complete: bool) -> str:
    where = "" if run.started.change.kind is ScopeKind.ALL else " in this change"
    if run.started.change.empty:
        return "Nothing changed, so nothing was looked at; --all looks at everything"
    if unseen := run.started.change.unseen:
        said = pluralize(unseen, "edited file was", "edited files were")
        return f"No problems found{where}; {said} not looked at"
    if run_outcome(run) is RunOutcome.NOTHING_FOUND:
        return "No program file in this change, so nothing was looked at"
    return f"{'Clean: no' if complete else 'No'} problems found{where}"
