"""Summary of a run in plain words: headline, numbers, gaps and advice."""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from punchlist.model.dedup.baseline import BASELINE
from punchlist.model.finding.finding import RefusedEntry
from punchlist.model.finding.languages import ANALYZED_BY, MissedFiles
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import ENDED, Status
from punchlist.model.item.proof import TESTED, ProofClass, has_test
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run, count_statuses
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.item_words import ACCEPT, PROOF_WORDS
from punchlist.views.run_state import is_review
from punchlist.views.words import NO_ROUNDS

_EMPTY = frozenset({RunOutcome.CLEAN, RunOutcome.NOTHING_FOUND})
NONE_SOUGHT = "the workflow runs none, so none was looked for"
_USUAL = (NONE_SOUGHT, "no files it looks at", "the project has no settings for ")
_RAW = 200
_SYNTAX = ("invalid-syntax", "syntax-error", "E999")
_NAMED = 10


class Gap(Struct, frozen=True):
    """Something this run did not verify, or could not hold. `about`: reviewer, check, entry, scope,
    limit, stop, trouble, filing, network, sandbox or flag.
    """

    about: str
    what: str
    why: str = ""


def is_usual(gap: Gap) -> bool:
    """Return whether it is as expected, and only of interest where all notes are wanted."""
    return gap.why.startswith(_USUAL)


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
    made: int = 0
    """Items in scope that fixes of this run brought about; the other numbers include them."""
    made_fixed: int = 0
    left_out: int = 0
    """Findings that options, settings or the baseline leave out."""


class Summary(Struct, frozen=True, kw_only=True):
    outcome: RunOutcome
    headline: str
    numbers: Numbers
    by_status: dict[Status, int]
    gaps: tuple[Gap, ...]
    advice: str


def summarize_run(run: Run) -> Summary:
    numbers = count_items(run)
    result = run_outcome(run)
    return Summary(
        outcome=result,
        headline=f"{_write_headline(result, numbers, run)}{_describe_old(run)}"
        f"{_describe_decision(run)}",
        numbers=numbers,
        by_status=count_statuses(run.items),
        gaps=tuple(find_gaps(run)),
        advice=_write_advice(result, numbers, run),
    )


def count_items(run: Run) -> Numbers:
    tally = count_statuses(run.items)
    inside = sum(tally.values())
    return Numbers(
        reported=run.reviewing.reported,
        items=len(run.items),
        in_scope=inside,
        outside=len(run.items) - inside - len(run.left_out),
        merged=sum(len(item.findings) - 1 for item in run.items.values()),
        again=sum(item.sightings for item in run.items.values()),
        pending=len(run.reviewing.fresh),
        refused=len(run.reviewing.refused),
        fixed=tally[Status.FIXED],
        filed=tally[Status.FILED],
        dismissed=tally[Status.DISMISSED],
        left=sum(count for status, count in tally.items() if status not in ENDED),
        commits=len(run.landing.commits),
        check_runs=run.usage.checks,
        made=sum(item.made for item in run.in_scope),
        left_out=sum(len(item.findings) for item in run.left_out),
        made_fixed=sum(item.made and item.status is Status.FIXED for item in run.in_scope),
    )


def _write_headline(result: RunOutcome, numbers: Numbers, run: Run) -> str:
    old_only = result is RunOutcome.LEFTOVERS and not numbers.refused
    if not numbers.in_scope and result not in _EMPTY and not old_only:
        return _describe_empty(numbers, run)
    if not numbers.in_scope:
        return _describe_none(numbers, run)
    seen = _proof_caveat(run)
    there = {number: item for number, item in run.items.items() if not item.made}
    tally = count_statuses(there)
    fixed, total = tally[Status.FIXED], sum(tally.values())
    if is_review(run):
        return _describe_review(run, tally)
    if fixed == total:
        all_ = {1: "The only item is", 2: "Both items are"}.get(fixed, f"All {fixed:,} items are")
        proof = seen or (", with a proof" if fixed == 1 else ", each with a proof")
        return f"{all_} fixed{proof}.{_describe_made(numbers)}"
    proof = seen or " with a proof" if fixed else ""
    done = f"{fixed:,} of {pluralize(total, 'item')} fixed{proof}"
    left = sum(count for status, count in tally.items() if status not in ENDED)
    rest = [(tally[Status.FILED], "filed"), (left, "left"), (tally[Status.DISMISSED], "dismissed")]
    parts = [done, *(f"{count:,} {word}" for count, word in rest if count)]
    return f"{', '.join(parts)}.{_describe_made(numbers)}"


def _describe_review(run: Run, tally: dict[Status, int]) -> str:
    """Return how much a review found, and how bad it is."""
    left = [item for item in run.in_scope if item.status is not Status.DISMISSED]
    by_severity = Counter(item.severity for item in left)
    bad = ", ".join(f"{by_severity[each]:,} {each}" for each in Severity if by_severity[each])
    found = f"{pluralize(len(left), 'item')} found: {bad}" if left else "Nothing is left"
    dismissed = f"; {tally[Status.DISMISSED]:,} dismissed" if tally[Status.DISMISSED] else ""
    return f"{found}{dismissed}."


def _describe_decision(run: Run) -> str:
    """Return what the user decided about the findings that a loop left, or ''."""
    ended = run.position.decisions
    asked = [each for each in run.asking.questions if each.answer and ended.get(each.place)]
    if not asked:
        return ""
    about, by = run.started.story.label or "The review", asked[-1].by
    if asked[-1].answer == ACCEPT:
        return f" {about} is done: {by} accepted the findings that were open."
    return f" {about} is blocked, for {by} to fix by hand; all that the run did is kept."


def _describe_old(run: Run) -> str:
    """Return which must-fix items outside the change are open, or ''."""
    old = [str(item.number) for item in run.old_must_fix]
    if not old:
        return ""
    named = ", ".join(old[:_NAMED]) + (", ..." if len(old) > _NAMED else "")
    items = pluralize(len(old), "must-fix item is", "must-fix items are")
    return f" Outside the change {items} open: {'item' if len(old) == 1 else 'items'} {named}."


def _describe_made(numbers: Numbers) -> str:
    """Return what became of items that the fixes themselves brought about, or ''."""
    if not numbers.made:
        return ""
    items = pluralize(numbers.made, "more item")
    fixed = f"{numbers.made_fixed or 'none'} of them fixed"
    if numbers.made_fixed == numbers.made:
        fixed = "also fixed"
    return f" The fixes brought about {items}, {fixed}."


def _proof_caveat(run: Run) -> str:
    """Return a caveat if no test judged any of the fixes, or ""."""
    fixed = [item for item in run.in_scope if item.status is Status.FIXED]
    kinds = {proof.kind for item in fixed for proof in item.proofs}
    if not kinds or kinds & TESTED:
        return ""
    known = sorted(kinds, key=lambda kind: -kind.strength)
    proofs = " and ".join(PROOF_WORDS[kind][0] for kind in known)
    return f" ({proofs} only; no {'test could judge' if run.usage.checks else 'tests ran'})"


def _describe_none(numbers: Numbers, run: Run) -> str:
    looked = sum(not (r.failed or r.skipped) for r in run.reviewing.reviews.values())
    where = "about this change" if numbers.outside else "here"
    if run.started.change.empty and not numbers.outside:
        return "Nothing changed, so nothing was looked at; --all looks at everything."
    if not looked:
        return f"No program file {where}, so nothing was looked at."
    if numbers.left_out:
        left_out = pluralize(numbers.left_out, "finding is", "findings are")
        return f"{pluralize(looked, 'reviewer')} looked: {left_out} left out, no other {where}."
    return f"{pluralize(looked, 'reviewer')} looked and reported nothing {where}."


def _describe_empty(numbers: Numbers, run: Run) -> str:
    if numbers.pending:
        findings = pluralize(numbers.pending, "finding")
        return f"{findings} reported so far, not yet sorted into items."
    if not run.reviewing.reviews and not run.ended:
        return "Nothing was looked at yet."
    if run.reviewing.reviews and all(review.skipped for review in run.reviewing.reviews.values()):
        return "No items, but that does not mean clean: no analyzer here looks at these files."
    return "No items, but that does not mean clean: not everything was looked at."


def _write_advice(result: RunOutcome, numbers: Numbers, run: Run) -> str:
    commits = pluralize(numbers.commits, "commit")
    merge = f"`punchlist apply {run.id}` merges {commits} into your branch"
    apply = merge if numbers.commits else ""
    match result:
        case RunOutcome.CLEAN:
            return "nothing to do"
        case RunOutcome.NOTHING_FOUND:
            unseen = run.started.change.unseen
            return f"{pluralize(unseen, 'edited file')} to look at" if unseen else "nothing to do"
        case RunOutcome.FIXED | RunOutcome.DISMISSED:
            return apply or "nothing to do"
        case RunOutcome.LEFTOVERS:
            left = numbers.left + numbers.refused + len(run.old_must_fix)
            kinds = ((numbers.filed, "filed item"), (left, "unresolved item"))
            rest = " and ".join(pluralize(count, kind) for count, kind in kinds if count)
            return "; ".join(filter(None, (apply, f"look at {rest}")))
        case RunOutcome.INCOMPLETE:
            incomplete = "this run is not complete: see what was not checked"
            return "; ".join(filter(None, (incomplete, apply)))


def _weak_sandboxes(run: Run) -> Iterator[Gap]:
    """Yield one line about sandboxes that lacked something, by what they lacked, and one about what
    a worker did not let the run have.
    """
    kinds: dict[str, list[str]] = {}
    for weakness in sorted(run.weaknesses):
        kind, _, lack = weakness.partition(": ")
        kinds.setdefault(lack, []).append(kind)
    if kinds:
        said = "; ".join(f"{', '.join(who)}: {lack}" for lack, who in kinds.items())
        yield Gap("sandbox", "Programs ran in an incomplete sandbox", said)
    if run.overrides:
        what = "The worker's own settings went before those of the run"
        yield Gap("sandbox", what, "; ".join(run.overrides))


def find_gaps(run: Run) -> Iterator[Gap]:
    """Yield what was not checked, worst first."""
    yield from broken_checks(run)
    yield from silent_reviewers(run)
    yield from unseen_files(run)
    yield from overlooked_files(run)
    yield from _absent_agents(run)
    yield from _idle_checks(run)
    yield from _self_reviews(run)
    for agent, install in sorted(run.started.missing_agents.items()):
        what = f"{agent} was to be asked where another agent fails, and is not installed"
        yield Gap("reviewer", what, install)
    for agent, why in run.checks.absent_judges.items():
        what = f"{agent} was to judge fixes and gave no verdict: the other proofs decided"
        yield Gap("reviewer", what, why)
    yield from reached_limits(run)
    yield from _weak_sandboxes(run)
    if run.interrupted:
        yield Gap("stop", "The run was interrupted", f"`punchlist resume {run.id}` goes on")
    yield from _refused_tries(run)
    yield from (Gap("trouble", "An action failed", reason) for reason in run.trouble)
    if run.landing.unpublished:
        what = (
            f"Your repository does not have all of {run.landing.branch};"
            f" `punchlist apply {run.id}` merges all of it into your branch"
        )
        yield Gap("trouble", what, run.landing.unpublished)
    if run.landing.unheard:
        yield Gap("check", "The pre-commit hook was not run", run.landing.unheard)
    yield from _unfiled_items(run)
    if (copy := run.filing.kept) and copy.failed:
        yield Gap("trouble", f"The results could not be kept at {copy.to}", copy.failed)
    yield from _skipped_reviewers(run)
    for each in refused_entries(run):
        what = f"An entry of {each.source} was not understood: {each.raw[:_RAW]}"
        yield Gap("entry", what, each.reason)
    for item in run.items.values():
        yield from (Gap("flag", f"Item {item.number} is flagged", flag) for flag in item.flags)
    yield from _noisy_checks(run)
    yield from _unkept_gates(run)
    yield from _unmeasured_lines(run)
    yield from _left_out_findings(run)
    yield from _excluded_files(run)
    yield from _uncounted_files(run)
    yield from _vendored_files(run)
    outside = [item for item in run.items.values() if not item.in_scope and not item.left_out]
    if outside:
        where = pluralize(len({item.lead.spot.path for item in outside}), "file")
        what = f"{pluralize(len(outside), 'item')} in {where} outside the change"
        yield Gap("scope", what, "listed, and not worked on")
    yield from (Gap("scope", note) for note in run.started.change.notes)


def _left_out_findings(run: Run) -> Iterator[Gap]:
    """Yield how many findings are left out, by what, and what `fail-on` lets pass."""
    counts: Counter[str] = Counter()
    for item in run.left_out:
        counts[item.left_out] += len(item.findings)
    if counts:
        by = ", ".join(f"{count:,} by {what}" for what, count in counts.most_common())
        findings = pluralize(counts.total(), "finding")
        yield Gap("scope", f"{findings} left out: {by}", f"punchlist show {run.id} --left-out")
    yield from _stale_baseline(run, counts)
    ends = {Status.FIXED, Status.DISMISSED}
    selections = [each.selection for each in run.started.selections.values()]
    demanding = any(each.fail_on is not Severity.MINOR for each in selections)
    open_ = (*run.in_scope, *run.old_must_fix) if demanding else ()
    lesser = sum(item.status not in ends and not run.fails_gate(item) for item in open_)
    if lesser:
        items = pluralize(lesser, "unresolved item is", "unresolved items are")
        yield Gap("scope", f"{items} less severe than fail-on demands for a failing exit code")


def _stale_baseline(run: Run, left_out: Counter[str]) -> Iterator[Gap]:
    """Yield how many findings of the baseline are gone, if nothing else could hide them."""
    seen = sum(map(run.could_see, run.started.baseline))
    gone = seen - left_out[BASELINE]
    if gone > 0 and left_out.keys() <= {BASELINE} and not run.landing.landed:
        findings = pluralize(gone, "finding of the baseline is", "findings of the baseline are")
        yield Gap("scope", f"{findings} gone", "`punchlist baseline --stale`, and --prune")


def _refused_tries(run: Run) -> Iterator[Gap]:
    """Yield, by child, the hosts that it tried to reach and may not."""
    tries: dict[str, dict[str, str]] = {}
    for each in run.children.tries:
        tries.setdefault(each.child, {}).setdefault(each.target or "a host", each.why)
    for child, targets in tries.items():
        named = ", ".join(f"{target} ({why})" for target, why in [*targets.items()][:_NAMED])
        more = f" and {len(targets) - _NAMED:,} more" if len(targets) > _NAMED else ""
        what = f"{child} tried to reach {pluralize(len(targets), 'other host')}, and was refused"
        yield Gap("network", what, f"{named}{more}")


def reached_limits(run: Run) -> Iterator[Gap]:
    if run.started.rounds == 0:
        yield Gap("limit", NO_ROUNDS)
    if run.halted:
        landed = "; what was proven by then is on the branch"
        why = f"{run.halted}{landed if run.landing.landed else ''}"
        yield Gap("limit", "The run stopped before it was through", why)


def _unfiled_items(run: Run) -> Iterator[Gap]:
    for number, why in sorted(run.filing.unfiled.items()):
        yield Gap("filing", f"Item {number} could not be filed; the next run tries again", why)
    for name, why in sorted(run.filing.owed.items()):
        yield Gap("filing", f"Item {name} of an earlier run could not be filed", why)


def silent_reviewers(run: Run) -> Iterator[Gap]:
    reviews = run.reviewing.reviews
    for review in reviews.values():
        if review.failed:
            yield Gap("reviewer", f"{review.reviewer} failed", review.failed)
    for name in (*run.started.reviewers, *run.started.documents):
        if name not in reviews:
            yield Gap("reviewer", f"{name} did not get to look")


def _skipped_reviewers(run: Run) -> Iterator[Gap]:
    for review in run.reviewing.reviews.values():
        if review.skipped and not review.failed and not run.started.change.empty:
            yield Gap("reviewer", f"{review.reviewer} did not look", review.skipped)
    for name, why in sorted(run.reviewing.unproven.items()):
        what = f"That {name} no longer reports what an agent fixed proves nothing"
        yield Gap("reviewer", what, why)


def overlooked_files(run: Run) -> Iterator[Gap]:
    files = run.overlooked
    if files:
        what = f"No agent looked at {pluralize(len(files), 'file')} of the change"
        yield Gap("reviewer", what, ", ".join(files[:10]) + (", ..." if len(files) > 10 else ""))


def _absent_agents(run: Run) -> Iterator[Gap]:
    """Yield what waits because an agent gave no answer, by reason."""
    waiting = Counter(item.attempts[-1].why for item in run.in_scope if item.awaits_agent)
    for why, count in waiting.items():
        items = pluralize(count, "item waits", "items wait")
        yield Gap("trouble", f"{items} for an agent; nothing was tried, nothing was filed", why)


def _self_reviews(run: Run) -> Iterator[Gap]:
    """Yield a gap if the agent that judges the fixes also makes them."""
    judges, fixers = run.started.crew.get("challenger", ()), run.started.crew.get("fixer", ())
    same = run.started.same_agents.get(f"challenger {judges[0]}", judges[:1]) if judges else ()
    if run.by_item.scores and fixers and fixers[0] in same:
        what = f"{judges[0]} judged its own fixes: that is self-review, and no proof"
        yield Gap("reviewer", what, "name a second agent, for example --agent claude --agent codex")


def unseen_files(run: Run) -> Iterator[Gap]:
    broken = _find_syntax_errors(run)
    for path, line in broken.items():
        what = f"{path} has a syntax error in line {line}"
        yield Gap("reviewer", what, "the rest of the file was not reviewed")
    for each in run.reviewing.unseen:
        paths = [path for path in each.paths if path not in broken]
        count = each.count - len(each.paths) + len(paths)
        if not count:
            continue
        files = pluralize(count, f"{each.language} file")
        named = ", ".join(paths[:_NAMED]) + (", ..." if count > _NAMED else "")
        who = ANALYZED_BY.get(each.language)
        tools = f"{who}, an agent (--agent)" if who else "an agent (--agent)"
        remedy = f"{tools} or a tool of your own (analyzers.custom) can"
        yield Gap("reviewer", f"No reviewer looked at {files}", f"{named}; {remedy}")
    yield from missed_files(run)
    for name in run.reviewing.unknown:
        what = f"It is not known which files {name} looks at, except for those that it reports on"
        why = "say it with `files` in its entry of analyzers.custom"
        yield Gap("reviewer", what, why)
    if run.reviewing.left_out:
        files = pluralize(run.reviewing.left_out, "program file")
        why = "analyzers.unreviewed in the settings says so"
        yield Gap("scope", f"{files} left out of the review", why)


def refused_entries(run: Run) -> Iterator[RefusedEntry]:
    """Yield the entries of reports that were not understood, but for those that only say again
    that a file has a syntax error.
    """
    broken = _find_syntax_errors(run)
    for each in run.reviewing.refused:
        if "syntax error" not in each.reason or not any(path in each.raw for path in broken):
            yield each


def _find_syntax_errors(run: Run) -> dict[str, int]:
    """Return the files that no reviewer could parse, with the line that an analyzer names."""
    unseen = {path for each in run.reviewing.unseen for path in each.paths}
    lines: dict[str, int] = {}
    for item in run.items.values():
        for finding in item.findings:
            path, line = finding.spot.path, finding.spot.line or 1
            if finding.rule in _SYNTAX and path in unseen:
                lines[path] = min(line, lines.get(path, line))
    return lines


def missed_files(run: Run) -> Iterator[Gap]:
    """Yield the files that an analyzer was given and did not look at."""
    for each in run.reviewing.missed:
        remedy = "analyzers.unreviewed in the settings names files that need no reviewer"
        yield Gap("reviewer", _describe_missed(each), f"{each.why}; {remedy}")


def _excluded_files(run: Run) -> Iterator[Gap]:
    for each in run.reviewing.excluded:
        yield Gap("scope", _describe_missed(each), each.why)


def _uncounted_files(run: Run) -> Iterator[Gap]:
    """Yield the files that no reviewer looked at, in languages that do not count."""
    for each in run.reviewing.uncounted:
        files = pluralize(each.count, f"{each.language} file")
        named = ", ".join(each.paths[:_NAMED]) + (", ..." if each.count > _NAMED else "")
        why = f"{named}; {each.language} does not count here (analyzers.languages)"
        yield Gap("scope", f"No reviewer looked at {files}", why)


def _vendored_files(run: Run) -> Iterator[Gap]:
    """Yield how many vendored and generated files a whole repository has, by what says so."""
    counts = Counter(run.reviewing.vendored)
    if counts:
        named = [f"{name} ({count:,})" for name, count in counts.most_common()]
        more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
        files = pluralize(counts.total(), "vendored or generated file")
        why = f"{', '.join(named[:_NAMED])}{more}; analyzers.leave_out in the settings lists them"
        yield Gap("scope", f"{files} left out", why)


def _describe_missed(each: MissedFiles) -> str:
    named = ", ".join(each.paths[:_NAMED]) + (", ..." if each.count > _NAMED else "")
    return f"{each.reviewer} did not look at {pluralize(each.count, 'file')}: {named}"


class BrokenCheck(Struct, frozen=True):
    """A check that could not judge: in one line each what, the cause, and what the user can do."""

    what: str
    cause: str
    remedy: str


def find_broken(run: Run) -> Iterator[BrokenCheck]:
    """Yield the checks that could not judge, or not wholly."""
    for name, seen in run.checks.baselines.items():
        if seen.unusable:
            yield BrokenCheck(f"{name} could not judge", seen.unusable, seen.remedy)
        elif seen.unloaded:
            files = pluralize(len(seen.unloaded), "test file")
            named = ", ".join(seen.unloaded[:3]) + (", ..." if len(seen.unloaded) > 3 else "")
            cause = f"{named}: {seen.cause}" if seen.cause else named
            yield BrokenCheck(f"{name} could not load {files}", cause, seen.remedy)
        elif seen.cause:
            tests = pluralize(seen.failed, "test")
            what = f"A package is missing for {name}, and {tests} failed before any fix"
            yield BrokenCheck(what, seen.cause, seen.remedy)


def broken_checks(run: Run) -> Iterator[Gap]:
    for each in find_broken(run):
        remedy = f". To repair it: {each.remedy}" if each.remedy else ""
        yield Gap("check", each.what, f"{each.cause}{remedy}")


def shorten_reason(run: Run, why: str) -> str:
    """Return a reason in which a check that could not judge is named without its cause, where
    that is shown elsewhere.
    """
    for name, seen in run.checks.baselines.items():
        if seen.unusable:
            why = why.replace(f"{name}: {seen.unusable}", f"{name} could not judge")
    return why


def _unmeasured_lines(run: Run) -> Iterator[Gap]:
    """Yield the checks of which it is not known whether they execute what the fixes change."""
    fixed = run.find_items(Status.FIXED)
    if any(proof.kind is ProofClass.CHECKED for item in fixed for proof in item.proofs):
        for name, seen in run.checks.baselines.items():
            if seen.lines_unknown:
                what = f"It is not known whether {name} executes the changed lines"
                yield Gap("check", what, seen.lines_unknown)


def _unkept_gates(run: Run) -> Iterator[Gap]:
    """Yield the project's linters, formatters and doctests that the fixes could turn red."""
    for name, seen in run.checks.gates.items():
        if seen.unusable:
            yield Gap("check", f"{name} was not kept green", seen.unusable)


def _noisy_checks(run: Run) -> Iterator[Gap]:
    if run.checks.flaky:
        tests = pluralize(len(run.checks.flaky), "test is", "tests are")
        yield Gap("check", f"{tests} flaky, and not counted", ", ".join(sorted(run.checks.flaky)))
    if run.checks.noise:
        what = "The checks were red, and green when they ran again with the same fixes"
        why = "no fix was blamed for that; a busy machine, chance or the time of day can cause it"
        yield Gap("check", what, why)


def _idle_checks(run: Run) -> Iterator[Gap]:
    fixed = run.find_items(Status.FIXED)
    tested = bool(fixed) and all(has_test(item.proofs) for item in fixed)
    if run.checks.unverified and fixed and not tested:
        what = "The fixes are unverified"
        yield Gap("check", what, run.checks.unverified)
    if not run.started.seeks_checks and not run.started.checks:
        yield Gap("check", "No tests or other checks of the project were run", NONE_SOUGHT)
    for check in run.started.checks:
        known = run.checks.find_baseline(check.name)
        idle = is_review(run) or (check.is_gate and not run.landing.landed)
        if known is None and not run.checks.unverified and not idle:
            why = "" if run.landing.landed else "there was no fix for it to judge"
            yield Gap("check", f"{check.name} was not run", why)
