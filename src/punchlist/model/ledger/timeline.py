"""The run's log: one short line per event, with its duration."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

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


Told = tuple[str, str, Tone, str]
"""Verb, what was done, how it went, and why."""


def make_moment(entry: ev.Entry, active: float, round_: int) -> Moment | None:
    """Return an entry's log line; None for events that only move the run on."""
    tell = _TELL.get(type(entry.event))
    if tell is None:
        return None
    verb, said, tone, why = tell(entry.event)
    return Moment(entry.at, active, entry.event.usage.seconds, round_, verb, said, tone, why)


def pluralize(number: int, thing: str, things: str = "") -> str:
    """Return "1 item" or "2 items"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def _describe_start(event: ev.Started) -> Told:
    return "start", f"the run is pinned at {event.change.head[:12]}", Tone.PLAIN, ""


def _describe_review(event: ev.Reviewed) -> Told:
    if event.failed:
        return "review", f"{event.reviewer} failed", Tone.BAD, event.failed
    if event.skipped:
        return "review", f"{event.reviewer} had nothing to do", Tone.PLAIN, event.skipped
    refused = (
        f", {pluralize(len(event.refused), 'entry', 'entries')} not understood"
        if event.refused
        else ""
    )
    looked = f" in {pluralize(event.looked_at, 'file')}" if event.looked_at else ""
    who = f"{event.reviewer} ({event.agent})" if event.agent else event.reviewer
    unopened = event.unopened and f"neither shown nor opened: {', '.join(event.unopened[:3])}"
    return (
        "review",
        f"{who} reports {pluralize(len(event.findings), 'finding')}{looked}{refused}",
        Tone.PLAIN,
        unopened or "",
    )


def _describe_questions(event: ev.Clarified) -> Told:
    if event.failed:
        return "clarify", f"{event.agent or 'the clarifier'} failed", Tone.BAD, event.failed
    said = pluralize(len(event.doubts), "question") if event.doubts else "nothing is unclear"
    return "clarify", f"{event.agent}: {said}", Tone.PLAIN, ""


def _describe_test(event: ev.Reproduced) -> Told:
    said = (
        f"item {event.item}: a private test fails on it"
        if event.red
        else f"item {event.item}: no private test"
    )
    return "reproduce", said, Tone.PLAIN, "" if event.red else event.why


def _describe_examination(event: ev.Examined) -> Told:
    proofs = sum(map(len, event.proofs.values()))
    said = f"batch {event.batch} " + (
        "is refuted" if event.refuted else f"passes, with {pluralize(proofs, 'test')} of its own"
    )
    return (
        "examine",
        said,
        Tone.BAD if event.refuted else Tone.PLAIN,
        event.refuted or "; ".join(event.noted[:2]),
    )


def _describe_challenge(event: ev.Challenged) -> Told:
    if event.failed:
        return "challenge", f"{event.agent} failed: nothing is approved", Tone.BAD, event.failed
    scores = ", ".join(
        f"item {score.item}: {'none' if score.score is None else score.score}"
        for score in event.scores[:5]
    )
    more = f" and {len(event.scores) - 5} more" if len(event.scores) > 5 else ""
    said = (
        f"{event.agent} approves {pluralize(len(event.approved), 'fix', 'fixes')}"
        f" at {event.threshold} ({scores}{more})"
    )
    return "challenge", said, Tone.PLAIN, event.canaries and f"it {event.canaries}"


def _describe_items(event: ev.Consolidated) -> Told:
    again = (
        f", {pluralize(len(event.sightings), 'finding')} of known ones" if event.sightings else ""
    )
    return "consolidate", f"{pluralize(len(event.items), 'new item')}{again}", Tone.PLAIN, ""


def _describe_plan(event: ev.Planned) -> Told:
    waiting = (
        f"; {pluralize(event.waiting, 'item waits', 'items wait')} for the next round"
        if event.waiting
        else ""
    )
    if event.failed:
        return "plan", "the plan cannot be used", Tone.BAD, event.failed
    if event.agent:
        return (
            "plan",
            f"{event.agent} planned {pluralize(len(event.todos), 'item')}",
            Tone.PLAIN,
            "",
        )
    return "plan", f"{pluralize(len(event.batches), 'batch', 'batches')}{waiting}", Tone.PLAIN, ""


def _describe_attempt(event: ev.Attempted) -> Told:
    if event.failed:
        return "fix", f"{event.agent or event.fixer} failed", Tone.BAD, event.failed
    if event.agent:
        claims = sum(move.fact is Fact.SAID_FIXED for move in event.moves)
        said = (
            f"{event.agent} claims {pluralize(claims, 'item')} fixed,"
            f" {pluralize(len(event.patches), 'patch', 'patches')}"
        )
        return "fix", said, Tone.PLAIN, "; ".join(event.refused.values())
    refused = f"; {event.fixer} refused {len(event.refused):,}" if event.refused else ""
    return (
        "fix",
        f"{pluralize(len(event.patches), 'patch', 'patches')} by {event.fixer}{refused}",
        Tone.PLAIN,
        "",
    )


def _describe_baseline(event: ev.Baselined) -> Told:
    if event.unusable:
        return "baseline", f"{event.check} cannot judge here", Tone.BAD, event.unusable
    per_test = event.passed or event.failed
    told = (
        pluralize(event.passed, "test passes", "tests pass")
        if per_test
        else f"exit code {event.exit_code}"
    )
    failing = f", {event.failed:,} already fail" if event.failed else ""
    return (
        "baseline",
        f"{event.check} on the base: {told}{failing}{' (remembered)' if event.cached else ''}",
        Tone.PLAIN,
        "",
    )


def _describe_recheck(event: ev.Rechecked) -> Told:
    failed = f"; {len(event.failed):,} failed" if event.failed else ""
    return (
        "re-check",
        f"{pluralize(len(event.passed), 'fix', 'fixes')} re-checked by the analyzers{failed}",
        Tone.PLAIN,
        "",
    )


def _describe_trial(event: ev.Tried) -> Told:
    part = "" if event.complete else ", only the tests in question"
    red = "; ".join(
        f"{verdict.check}: {verdict.why}" for verdict in event.verdicts if not verdict.passed
    )
    said = (
        f"checks over {pluralize(len(event.batches), 'fix', 'fixes')}{part}:"
        f" {'green' if event.green else 'red'}"
    )
    return "check", said, Tone.GOOD if event.green else Tone.BAD, red


def _describe_verdict(event: ev.Verified) -> Told:
    failed = f", {len(event.failed):,} may not" if event.failed else ""
    said = f"{pluralize(len(event.passed), 'fix', 'fixes')} may land{failed}"
    return (
        "verdict",
        said,
        Tone.BAD if event.unverified else Tone.PLAIN,
        event.unverified and f"unverified: {event.unverified}",
    )


def _describe_commits(event: ev.Committed) -> Told:
    if event.refused:
        return "commit", "a git hook refused", Tone.BAD, event.refused
    unheard = event.unheard and f"the pre-commit hook was not run: {event.unheard}"
    return (
        "commit",
        f"{pluralize(len(event.landed), 'commit')} on {event.branch}",
        Tone.GOOD,
        unheard,
    )


def _describe_branch(event: ev.Published) -> Told:
    if event.failed:
        return "publish", f"{event.branch} could not be shown", Tone.BAD, event.failed
    return "publish", f"{event.branch} is in your repository", Tone.PLAIN, ""


def _describe_dismissal(event: ev.Dismissed) -> str:
    if event.revoked:
        return f"{pluralize(len(event.fingerprints), 'dismissal')} taken back by {event.by}"
    return f"{pluralize(len(event.moves), 'item')} dismissed by {event.by}"


def _describe_filing(event: ev.Filed) -> Told:
    failed = (
        f", {len(event.failed) + len(event.owed):,} could not be"
        if event.failed or event.owed
        else ""
    )
    of_old = " of earlier runs" if event.settled or event.owed else ""
    how = "written as issue files" if event.tracker == "files" else f"filed with {event.tracker}"
    items = pluralize(len(event.moves) + len(event.settled), "unresolved item")
    said = f"{items}{of_old} {how}{failed}"
    return "file", said, Tone.BAD if failed else Tone.PLAIN, ""


def _describe_round(event: ev.RoundEnded) -> Told:
    if event.stop.startswith("settled"):
        return "round", f"round {event.round} done: nothing left to try", Tone.PLAIN, ""
    last = ", the loop ends" if event.stop else ""
    return "round", f"round {event.round} done{last}", Tone.PLAIN, event.stop


_TELL: dict[type[ev.Event], Callable[[Any], Told]] = {
    ev.Started: _describe_start,
    ev.Reviewed: _describe_review,
    ev.Clarified: _describe_questions,
    ev.Reproduced: _describe_test,
    ev.Consolidated: _describe_items,
    ev.Planned: _describe_plan,
    ev.Attempted: _describe_attempt,
    ev.Baselined: _describe_baseline,
    ev.Rechecked: _describe_recheck,
    ev.Examined: _describe_examination,
    ev.Challenged: _describe_challenge,
    ev.Tried: _describe_trial,
    ev.Verified: _describe_verdict,
    ev.Committed: _describe_commits,
    ev.Published: _describe_branch,
    ev.Filed: _describe_filing,
    ev.Dismissed: lambda event: ("dismiss", _describe_dismissal(event), Tone.PLAIN, event.why),
    ev.Failed: lambda event: ("trouble", "an action failed", Tone.BAD, event.reason),
    ev.RoundEnded: _describe_round,
    ev.Asked: lambda event: ("question", "a person is asked", Tone.PLAIN, event.question),
    ev.Answered: lambda event: (
        "answer",
        f"{event.by} answers {event.choice or ', '.join(event.answers)}",
        Tone.PLAIN,
        "",
    ),
    ev.Halted: lambda event: ("limit", "a limit was reached", Tone.BAD, event.limit),
    ev.Returned: lambda event: (
        "return",
        f"{pluralize(len(event.moves), 'claim')} not confirmed",
        Tone.BAD,
        event.why,
    ),
    ev.Interrupted: lambda event: ("stop", "the run was interrupted", Tone.BAD, event.reason),
    ev.Resumed: lambda event: (
        "resume",
        f"the run goes on, with punchlist {event.version}",
        Tone.PLAIN,
        "",
    ),
    ev.Ended: lambda event: ("end", "the run ended", Tone.PLAIN, ""),
}
