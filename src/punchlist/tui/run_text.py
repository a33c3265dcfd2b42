"""One run as text: head, banner, log, running actions and checks."""

import time
from collections.abc import Iterable, Iterator
from datetime import datetime

from textual.content import Content

from punchlist.app.drive.background import AgentOutput
from punchlist.model.ledger.outcome import RunOutcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import Moment, pluralize
from punchlist.tui.snapshot import Snapshot
from punchlist.tui.text import ACCENT, BAD, GOOD, MUTED, TONES, WARNING, Part, block, line
from punchlist.views.run_state import OUTCOME_WORDS, STATE_WORDS, State
from punchlist.views.words import clock, format_dollars, format_duration, tokens

_STYLES = {
    RunOutcome.CLEAN: f"bold {GOOD}",
    RunOutcome.FIXED: f"bold {GOOD}",
    RunOutcome.DISMISSED: "bold",
    RunOutcome.LEFTOVERS: f"bold {WARNING}",
    RunOutcome.INCOMPLETE: f"bold {BAD}",
}
_IN = "  "


def render_head(look: Snapshot, now: float) -> list[Content]:
    run = look.run
    name = run.started.workflow_name
    state, style = STATE_WORDS[look.state], f"bold {ACCENT}"
    if run.ended:
        state, style = ": ".join(OUTCOME_WORDS[look.told.outcome]), _STYLES[look.told.outcome]
    first: list[Part] = [
        (f"Run {run.id}", "bold"),
        f" · {name} · round {run.position.round} · {clock(_active_seconds(look, now))} · ",
        (state, style),
    ]
    if look.driver:
        first.append((f" ({look.driver})", MUTED))
    return [line(*first), line(look.told.headline, (f"  {_format_cost(run)}", MUTED))]


def _active_seconds(look: Snapshot, now: float) -> float:
    """Return the driven seconds; while the run is driven, up to `now`."""
    return look.run.active + (
        max(0, now - look.run.last_at) if look.state is State.UNDER_WAY else 0
    )


def _format_cost(run: Run) -> str:
    usage = run.usage
    parts = [pluralize(len(run.landing.landed), "commit"), pluralize(usage.checks, "check run")]
    if usage.input_tokens or usage.output_tokens or usage.dollars:
        parts += [tokens(usage), format_dollars(usage.dollars)]
    return " · ".join(parts)


def render_banner(look: Snapshot) -> Content | None:
    """Return what the user should do now, with the key; None if nothing."""
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
    why = f" ({told.why})" if told.why else ""
    took = format_duration(told.seconds) if told.seconds >= 1 else ""
    return line(
        (f"{clock(told.ended):>8} ", MUTED),
        (f"{told.round:>2} ", MUTED),
        (f"{told.verb:<11} ", "bold"),
        (f"{told.said}{why}"[: width * 2], TONES[told.tone]),
        (f"  {took}", MUTED),
    )


def moment_page(told: Moment) -> list[Content]:
    """Return the same entry in full."""
    when = datetime.fromtimestamp(told.at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    took = f", after {told.seconds:.1f} s" if told.seconds else ""
    head_ = line((told.verb, "bold"), (f"  round {told.round}, {when}{took}", MUTED))
    return [head_, line(""), *block(told.said, style=TONES[told.tone]), *block(told.why)]


def render_activity(
    look: Snapshot, talk: Iterable[AgentOutput], now: float | None = None
) -> Iterator[Content]:
    yield line(("Running" if look.state is State.UNDER_WAY else "Next", f"bold underline {ACCENT}"))
    if not look.begun and not look.due:
        yield line((f"{_IN}{_idle_text(look)}", MUTED))
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
        yield line((f"{_IN}{_silence_text(look)}", MUTED))
    yield from _render_output(said)


def _idle_text(look: Snapshot) -> str:
    return "the run has ended" if look.run.ended else "nothing at this moment"


def _silence_text(look: Snapshot) -> str:
    if look.state is not State.UNDER_WAY:
        return "no agent is at work"
    return (
        "nothing was said yet"
        if look.here
        else "another process drives this run; its output is shown there"
    )


def _render_output(said: Iterable[AgentOutput]) -> Iterator[Content]:
    """Yield the output; consecutive pieces of one agent share one label."""
    last = ""
    for each in said:
        if each.label != last:
            yield line((f"{_IN}{each.label}", "bold"))
            last = each.label
        yield from block(each.text, _IN * 2)


def render_checks(run: Run, look: Snapshot) -> Iterator[Content]:
    yield from _render_decisions(run)
    yield line(("Not checked", f"bold underline {ACCENT}"))
    for gap in look.told.gaps:
        yield line(
            (f"{_IN}! ", f"bold {WARNING}"), gap.what, (f": {gap.why}" if gap.why else "", MUTED)
        )
    if not look.told.gaps:
        yield line(
            (f"{_IN}nothing that we know of" if run.ended else f"{_IN}nothing so far", MUTED)
        )
    yield from _render_baselines(run)
    yield from _render_reviewers(run)
    yield from _render_rounds(run)


def _render_decisions(run: Run) -> Iterator[Content]:
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


def _render_baselines(run: Run) -> Iterator[Content]:
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


def _render_reviewers(run: Run) -> Iterator[Content]:
    yield line("")
    yield line(("Reviewers", f"bold underline {ACCENT}"))
    for review in run.reviewing.reviews.values():
        if review.failed:
            said, style = f"failed: {review.failed}", BAD
        elif review.skipped:
            said, style = f"did not look: {review.skipped}", MUTED
        else:
            said, style = (
                f"{pluralize(review.findings, 'finding')} in {pluralize(review.looked_at, 'file')}",
                "",
            )
        yield line(_IN, (review.reviewer, "bold"), (f"  {said}", style))
    crew = run.started.crew
    for role, agents in crew.items():
        yield line(_IN, (role, "bold"), (f"  played by {', '.join(agents)}", MUTED))


def _render_rounds(run: Run) -> Iterator[Content]:
    if not run.position.rounds:
        return
    yield line("")
    yield line(("Rounds", f"bold underline {ACCENT}"))
    for past in run.position.rounds:
        stop = f"  {past.stop}" if past.stop else ""
        told = f"{past.open:,} open, {past.fixed:,} fixed, {pluralize(past.landed, 'commit')}"
        yield line(_IN, (f"round {past.round}", "bold"), f"  {told}", (stop, MUTED))
