"""The run's log: one short line per event, with its duration."""

from collections.abc import Callable, Sequence, Sized
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct

from punchlist.model.item.item import Fact
from punchlist.model.ledger import events as ev


class Tone(StrEnum):
    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"


class Moment(Struct, frozen=True, omit_defaults=True):
    """One line of the log. `ended` counts active seconds, so pauses take no room."""

    at: float
    ended: float
    seconds: float
    round: int
    verb: str
    said: str
    tone: Tone = Tone.PLAIN
    why: str = ""


class _Line(NamedTuple):
    """What was done, how it went, and why."""

    said: str
    tone: Tone = Tone.PLAIN
    why: str = ""


def make_moment(entry: ev.Entry, active: float, round_: int) -> Moment | None:
    """Return an entry's log line; None for events that only move the run on."""
    if type(entry.event) not in _LINES:
        return None
    verb, describe = _LINES[type(entry.event)]
    seconds = entry.event.usage.seconds
    return Moment(entry.at, active, seconds, round_, verb, *describe(entry.event))


def pluralize(number: int, thing: str, things: str = "") -> str:
    """Return "1 item" or "2 items"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def _count_fixes(fixes: Sized) -> str:
    return pluralize(len(fixes), "fix", "fixes")


def _name_first(texts: Sequence[str], most: int, glue: str) -> str:
    """Return the first few texts, and how many more there are."""
    more = [f"and {len(texts) - most:,} more"] if len(texts) > most else []
    return glue.join([*texts[:most], *more])


def _describe_review(event: ev.Reviewed) -> _Line:
    if event.failed:
        return _Line(f"{event.reviewer} failed", Tone.BAD, event.failed)
    if event.skipped:
        return _Line(f"{event.reviewer} had nothing to do", why=event.skipped)
    entries = pluralize(len(event.refused), "entry", "entries")
    refused = f", {entries} not understood" if event.refused else ""
    looked = f" in {pluralize(event.looked_at, 'file')}" if event.looked_at else ""
    who = f"{event.reviewer} ({event.agent})" if event.agent else event.reviewer
    findings = pluralize(len(event.findings), "finding")
    unopened = f"neither shown nor opened: {_name_first(event.unopened, 3, ', ')}"
    why = unopened if event.unopened else ""
    return _Line(f"{who} reports {findings}{looked}{refused}", why=why)


def _describe_survey(event: ev.Surveyed) -> _Line:
    if event.unseen:
        files = ", ".join(f"{each.count} {each.language}" for each in event.unseen)
        return _Line(f"no reviewer looked at these files: {files}", Tone.BAD)
    for each in event.missed:
        files = pluralize(each.count, "file")
        return _Line(f"{each.reviewer} did not look at {files} that it was given", Tone.BAD)
    rest = ", ".join(f"{each.count} {each.language}" for each in event.uncounted)
    but = f", but for {rest}" if rest else ""
    return _Line(f"a reviewer looked at every program file under review{but}")


def _describe_copy(event: ev.Kept) -> _Line:
    if event.failed:
        return _Line(f"the results could not be kept at {event.to}", Tone.BAD, event.failed)
    return _Line(f"{pluralize(event.files, 'file')} kept at {event.to}")


def _describe_questions(event: ev.Clarified) -> _Line:
    if event.failed:
        return _Line(f"{event.agent or 'the clarifier'} failed", Tone.BAD, event.failed)
    said = pluralize(len(event.doubts), "question") if event.doubts else "nothing is unclear"
    return _Line(f"{event.agent}: {said}")


def _describe_test(event: ev.Reproduced) -> _Line:
    if event.red:
        return _Line(f"item {event.item}: a private test fails on it")
    return _Line(f"item {event.item}: no private test", why=event.why)


def _describe_examination(event: ev.Examined) -> _Line:
    if event.refuted:
        return _Line(f"batch {event.batch} is refuted", Tone.BAD, event.refuted)
    tests = pluralize(sum(map(len, event.proofs.values())), "test")
    why = _name_first(event.noted, 2, "; ")
    return _Line(f"batch {event.batch} passes, with {tests} of its own", why=why)


def _describe_challenge(event: ev.Challenged) -> _Line:
    if event.failed:
        said = f"{event.agent} gave no verdict: the other proofs decide"
        return _Line(said, Tone.BAD, event.failed)
    scores = ", ".join(
        f"item {score.item}: {'none' if score.score is None else score.score}"
        for score in event.scores[:5]
    )
    more = f" and {len(event.scores) - 5} more" if len(event.scores) > 5 else ""
    fixes = _count_fixes(event.approved)
    return _Line(
        f"{event.agent} approves {fixes} at {event.threshold} ({scores}{more})",
        why=event.canaries and f"it {event.canaries}",
    )


def _describe_items(event: ev.Consolidated) -> _Line:
    known = pluralize(len(event.sightings), "finding")
    again = f", {known} of known ones" if event.sightings else ""
    return _Line(f"{pluralize(len(event.items), 'new item')}{again}")


def _describe_plan(event: ev.Planned) -> _Line:
    if event.failed:
        return _Line("the plan cannot be used", Tone.BAD, event.failed)
    if event.agent:
        return _Line(f"{event.agent} planned {pluralize(len(event.todos), 'item')}")
    waiting = pluralize(event.waiting, "item waits", "items wait")
    rest = f"; {waiting} for the next round" if event.waiting else ""
    return _Line(f"{pluralize(len(event.batches), 'batch', 'batches')}{rest}")


def _describe_attempt(event: ev.Attempted) -> _Line:
    if event.failed:
        return _Line(f"{event.agent or event.fixer} failed", Tone.BAD, event.failed)
    patches = pluralize(len(event.patches), "patch", "patches")
    if event.agent:
        claims = pluralize(sum(move.fact is Fact.SAID_FIXED for move in event.moves), "item")
        why = "; ".join(event.refused.values())
        return _Line(f"{event.agent} claims {claims} fixed, {patches}", why=why)
    refused = f"; {event.fixer} refused {len(event.refused):,}" if event.refused else ""
    return _Line(f"{patches} by {event.fixer}{refused}")


def _describe_baseline(event: ev.Baselined) -> _Line:
    if event.unusable:
        return _Line(f"{event.check} cannot judge here", Tone.BAD, event.unusable)
    result = f"exit code {event.exit_code}"
    if event.passed or event.failed:
        result = pluralize(event.passed, "test passes", "tests pass")
    failing = f", {event.failed:,} already fail" if event.failed else ""
    cached = " (remembered)" if event.cached else ""
    return _Line(f"{event.check} on the base: {result}{failing}{cached}")


def _describe_recheck(event: ev.Rechecked) -> _Line:
    failed = f"; {len(event.failed):,} failed" if event.failed else ""
    formatted = f"; {len(event.formatted):,} adapted to the project's own tools" * bool(
        event.formatted
    )
    return _Line(f"{_count_fixes(event.passed)} re-checked by the analyzers{formatted}{failed}")


def _describe_coverage(event: ev.Covered) -> _Line:
    if not event.untried:
        return _Line("the checks can judge all fixes")
    why = next(iter(event.untried.values()))
    return _Line(f"{_count_fixes(event.untried)} not tried: no check can judge them", why=why)


def _describe_trial(event: ev.Tried) -> _Line:
    part = "" if event.complete else ", only the tests in question"
    failures = "; ".join(
        f"{verdict.check}: {verdict.why}" for verdict in event.verdicts if not verdict.passed
    )
    color, tone = ("green", Tone.GOOD) if event.green else ("red", Tone.BAD)
    return _Line(f"checks over {_count_fixes(event.batches)}{part}: {color}", tone, failures)


def _describe_verdict(event: ev.Verified) -> _Line:
    failed = f", {len(event.failed):,} may not" if event.failed else ""
    said = f"{_count_fixes(event.passed)} may land{failed}"
    if event.unverified:
        return _Line(said, Tone.BAD, f"unverified: {event.unverified}")
    return _Line(said)


def _describe_commits(event: ev.Committed) -> _Line:
    if event.refused:
        return _Line("a git hook refused", Tone.BAD, event.refused)
    unheard = event.unheard and f"the pre-commit hook was not run: {event.unheard}"
    return _Line(f"{_count_fixes(event.landed)} on {event.branch}", Tone.GOOD, unheard)


def _describe_branch(event: ev.Published) -> _Line:
    if event.failed:
        return _Line(f"{event.branch} could not be shown", Tone.BAD, event.failed)
    commits = f", as {pluralize(len(event.commits), 'commit')}" if event.commits else ""
    return _Line(f"{event.branch} is in your repository{commits}")


def _describe_dismissal(event: ev.Dismissed) -> _Line:
    what = f"{pluralize(len(event.moves), 'item')} dismissed"
    if event.revoked:
        what = f"{pluralize(len(event.fingerprints), 'dismissal')} taken back"
    return _Line(f"{what} by {event.by}", why=event.why)


def _describe_order(event: ev.Ordered) -> _Line:
    tone = Tone.BAD if event.refused else Tone.PLAIN
    what = "was not obeyed" if event.refused else "obeyed"
    return _Line(f"{event.by} on the pull request: {event.order}: {what}", tone, event.refused)


def _describe_showing(event: ev.Shown) -> _Line:
    updates = pluralize(event.updates, "update")
    return _Line(f"{event.pull} shows the run, {updates}", why="; ".join(event.notes))


def _describe_filing(event: ev.Filed) -> _Line:
    unfiled = len(event.failed) + len(event.owed)
    failed = f", {unfiled:,} could not be" if unfiled else ""
    of_old = " of earlier runs" if event.settled or event.owed else ""
    how = "written as issue files" if event.tracker == "files" else f"filed with {event.tracker}"
    items = pluralize(len(event.moves) + len(event.settled), "unresolved item")
    return _Line(f"{items}{of_old} {how}{failed}", Tone.BAD if failed else Tone.PLAIN)


def _describe_round(event: ev.RoundEnded) -> _Line:
    if event.stop.startswith("settled"):
        return _Line(f"round {event.round} done: nothing left to try")
    last = ", the loop ends" if event.stop else ""
    return _Line(f"round {event.round} done{last}", why=event.stop)


def _describe_answer(event: ev.Answered) -> _Line:
    return _Line(f"{event.by} answers {event.choice or ', '.join(event.answers)}")


def _describe_refusal(event: ev.ConnectionRefused) -> _Line:
    target = event.target or "a host"
    return _Line(f"{event.child} tried to reach {target}, and was refused", Tone.BAD, event.why)


def _describe_return(event: ev.Returned) -> _Line:
    return _Line(f"{pluralize(len(event.moves), 'claim')} not confirmed", Tone.BAD, event.why)


def _describe_resumption(event: ev.Resumed) -> _Line:
    return _Line(f"the run goes on, with punchlist {event.version}", why="; ".join(event.overrides))


_LINES: dict[type[ev.Event], tuple[str, Callable[[Any], _Line]]] = {
    ev.Started: ("start", lambda event: _Line(f"the run is pinned at {event.change.head[:12]}")),
    ev.Reviewed: ("review", _describe_review),
    ev.Clarified: ("clarify", _describe_questions),
    ev.Reproduced: ("reproduce", _describe_test),
    ev.Consolidated: ("consolidate", _describe_items),
    ev.Planned: ("plan", _describe_plan),
    ev.Attempted: ("fix", _describe_attempt),
    ev.Baselined: ("baseline", _describe_baseline),
    ev.Rechecked: ("re-check", _describe_recheck),
    ev.Examined: ("examine", _describe_examination),
    ev.Challenged: ("challenge", _describe_challenge),
    ev.Covered: ("coverage", _describe_coverage),
    ev.Tried: ("check", _describe_trial),
    ev.Verified: ("verdict", _describe_verdict),
    ev.Committed: ("commit", _describe_commits),
    ev.Published: ("publish", _describe_branch),
    ev.Filed: ("file", _describe_filing),
    ev.Surveyed: ("survey", _describe_survey),
    ev.Kept: ("keep", _describe_copy),
    ev.Dismissed: ("dismiss", _describe_dismissal),
    ev.Ordered: ("order", _describe_order),
    ev.Shown: ("show", _describe_showing),
    ev.Failed: ("trouble", lambda event: _Line("an action failed", Tone.BAD, event.reason)),
    ev.RoundEnded: ("round", _describe_round),
    ev.Asked: ("question", lambda event: _Line("a person is asked", why=event.question)),
    ev.Answered: ("answer", _describe_answer),
    ev.ConnectionRefused: ("network", _describe_refusal),
    ev.Halted: ("limit", lambda event: _Line("a limit was reached", Tone.BAD, event.limit)),
    ev.Returned: ("return", _describe_return),
    ev.Interrupted: (
        "stop",
        lambda event: _Line("the run was interrupted", Tone.BAD, event.reason),
    ),
    ev.Resumed: ("resume", _describe_resumption),
    ev.Ended: ("end", lambda event: _Line("the run ended")),
}
