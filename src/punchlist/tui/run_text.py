"""A run in words: its head, its story, what is under way, and what was and was not checked."""

import time
from collections.abc import Iterable, Iterator
from datetime import datetime

from textual.content import Content

from punchlist.app.drive.background import Said
from punchlist.model.ledger.outcome import Outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import Moment, amount
from punchlist.tui.snapshot import Look
from punchlist.tui.text import ACCENT, BAD, GOOD, MUTED, TONES, WARNING, Part, block, line
from punchlist.views.run_state import OUTCOME_WORDS, STATE_WORDS, State
from punchlist.views.words import clock, dollars, duration, tokens

_STYLES = {
    Outcome.CLEAN: f"bold {GOOD}",
    Outcome.FIXED: f"bold {GOOD}",
    Outcome.DISMISSED: "bold",
    Outcome.LEFTOVERS: f"bold {WARNING}",
    Outcome.INCOMPLETE: f"bold {BAD}",
}
_IN = "  "


def head(look: Look, now: float) -> list[Content]:
    """What stands above everything else: which run, how it stands, what it has come to, what it
    cost.
    """
    run = look.run
    name = run.started.workflow_name
    state, style = STATE_WORDS[look.state], f"bold {ACCENT}"
    if run.ended:
        state, style = ": ".join(OUTCOME_WORDS[look.told.outcome]), _STYLES[look.told.outcome]
    first: list[Part] = [
        (f"Run {run.id}", "bold"),
        f" · {name} · round {run.position.round} · {clock(_seconds(look, now))} · ",
        (state, style),
    ]
    if look.driver:
        first.append((f" ({look.driver})", MUTED))
    return [line(*first), line(look.told.headline, (f"  {_spent(run)}", MUTED))]


def _seconds(look: Look, now: float) -> float:
    """While somebody drives it, time goes on between two entries."""
    return look.run.active + (
        max(0, now - look.run.last_at) if look.state is State.UNDER_WAY else 0
    )


def _spent(run: Run) -> str:
    usage = run.usage
    parts = [amount(len(run.landing.landed), "commit"), amount(usage.checks, "check run")]
    if usage.input_tokens or usage.output_tokens or usage.dollars:
        parts += [tokens(usage), dollars(usage.dollars)]
    return " · ".join(parts)


def banner(look: Look) -> Content | None:
    """What somebody should do now, if anything, and with which key."""
    run = look.run
    if look.trouble:
        return line(("! ", "bold"), look.trouble)
    if run.waits and not run.ended:
        question = (
            run.waiting_for.question
            if run.waiting_for
            else f"{run.unanswered[0].id}: {run.unanswered[0].question}"
        )
        more = (
            f" (and {len(run.unanswered) - 1} more)"
            if not run.waiting_for and len(run.unanswered) > 1
            else ""
        )
        return line(("? The run asks (press a to answer): ", "bold"), question, more)
    if look.state in (State.STOPPED, State.KILLED):
        word = STATE_WORDS[look.state]
        return line(
            (f"! The run was {word}.", "bold"), " ", ("press r to go on with it here", "bold")
        )
    return line(("> ", "bold"), look.told.advice) if run.ended else None


def moment_row(told: Moment, width: int) -> Content:
    """A line of the story."""
    why = f" ({told.why})" if told.why else ""
    took = duration(told.seconds) if told.seconds >= 1 else ""
    return line(
        (f"{clock(told.ended):>8} ", MUTED),
        (f"{told.round:>2} ", MUTED),
        (f"{told.verb:<11} ", "bold"),
        (f"{told.said}{why}"[: width * 2], TONES[told.tone]),
        (f"  {took}", MUTED),
    )


def moment_page(told: Moment) -> list[Content]:
    """The same, whole."""
    when = datetime.fromtimestamp(told.at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    took = f", after {told.seconds:.1f} s" if told.seconds else ""
    head_ = line((told.verb, "bold"), (f"  round {told.round}, {when}{took}", MUTED))
    return [head_, line(""), *block(told.said, style=TONES[told.tone]), *block(told.why)]


def under_way(look: Look, talk: Iterable[Said], now: float | None = None) -> Iterator[Content]:
    """What has begun and not ended, and what agents say meanwhile."""
    yield line(("Running" if look.state is State.UNDER_WAY else "Next", f"bold underline {ACCENT}"))
    if not look.begun and not look.due:
        yield line((f"{_IN}{_idle(look)}", MUTED))
    clock_now = time.time() if now is None else now
    for begun in look.begun:
        yield line(
            (f"{_IN}* ", "bold"),
            (f"{begun.place:<7} ", MUTED),
            begun.about,
            (f"  {clock(clock_now - begun.at)}", MUTED),
        )
    for action in look.due:
        yield line((f"{_IN}- ", MUTED), action.about or action.key)
    if look.more_due:
        yield line((f"{_IN}  and {look.more_due:,} more", MUTED))
    yield line("")
    yield line(("Agents", f"bold underline {ACCENT}"))
    said = list(talk)
    if not said:
        yield line((f"{_IN}{_silence(look)}", MUTED))
    yield from _spoken(said)


def _idle(look: Look) -> str:
    return "the run has ended" if look.run.ended else "nothing at this moment"


def _silence(look: Look) -> str:
    if look.state is not State.UNDER_WAY:
        return "no agent is at work"
    return (
        "nothing was said yet"
        if look.here
        else "another process drives this run; its output is shown there"
    )


def _spoken(said: Iterable[Said]) -> Iterator[Content]:
    """By speaker: who goes on speaking is named once."""
    last = ""
    for each in said:
        if each.label != last:
            yield line((f"{_IN}{each.label}", "bold"))
            last = each.label
        yield from block(each.text, _IN * 2)


def checks(run: Run, look: Look) -> Iterator[Content]:
    """Who looked, what judged, what was not checked, and how the rounds went."""
    yield from _questions(run)
    yield line(("Not checked", f"bold underline {ACCENT}"))
    for gap in look.told.gaps:
        yield line(
            (f"{_IN}! ", f"bold {WARNING}"), gap.what, (f": {gap.why}" if gap.why else "", MUTED)
        )
    if not look.told.gaps:
        yield line(
            (f"{_IN}nothing that we know of" if run.ended else f"{_IN}nothing so far", MUTED)
        )
    yield from _judges(run)
    yield from _reviewers(run)
    yield from _rounds(run)


def _questions(run: Run) -> Iterator[Content]:
    answered = [question for question in run.asking.questions if question.answer]
    if answered:
        yield line(("Decided", f"bold underline {ACCENT}"))
        for each in answered:
            yield line(
                _IN,
                each.question,
                (f"  {each.by}: {each.answer} ({each.choices.get(each.answer, '')})", "bold"),
            )
        yield line("")


def _judges(run: Run) -> Iterator[Content]:
    started = run.started
    yield line("")
    yield line(("Checks", f"bold underline {ACCENT}"))
    if not started.checks:
        yield line((f"{_IN}no checks: fixes are unverified", WARNING))
        return
    for check in started.checks:
        known = run.checks.baselines.get(check.name)
        if not started.checks_allowed:
            said, style = "may not run: `punchlist allow`", WARNING
        elif known is None:
            said, style = "not run yet", MUTED
        elif known.unusable:
            said, style = f"cannot judge: {known.unusable}", BAD
        else:
            said, style = (
                (
                    f"on the base {known.passed:,} passed, {known.failed:,} failed,"
                    f" {known.skipped:,} skipped"
                ),
                "",
            )
        yield line(
            _IN, (check.name, "bold"), (f" {' '.join(check.command)}", MUTED), (f"  {said}", style)
        )
    if run.checks.unverified:
        yield line((f"{_IN}! unverified: {run.checks.unverified}", WARNING))


def _reviewers(run: Run) -> Iterator[Content]:
    yield line("")
    yield line(("Reviewers", f"bold underline {ACCENT}"))
    for review in run.reviewing.reviews.values():
        if review.failed:
            said, style = f"failed: {review.failed}", BAD
        elif review.skipped:
            said, style = f"did not look: {review.skipped}", MUTED
        else:
            said, style = (
                f"{amount(review.findings, 'finding')} in {amount(review.looked_at, 'file')}",
                "",
            )
        yield line(_IN, (review.reviewer, "bold"), (f"  {said}", style))
    crew = run.started.crew
    for role, agents in crew.items():
        yield line(_IN, (role, "bold"), (f"  played by {', '.join(agents)}", MUTED))


def _rounds(run: Run) -> Iterator[Content]:
    if not run.position.rounds:
        return
    yield line("")
    yield line(("Rounds", f"bold underline {ACCENT}"))
    for past in run.position.rounds:
        stop = f"  {past.stop}" if past.stop else ""
        told = f"{past.open:,} open, {past.fixed:,} fixed, {amount(past.landed, 'commit')}"
        yield line(_IN, (f"round {past.round}", "bold"), f"  {told}", (stop, MUTED))
