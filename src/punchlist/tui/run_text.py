"""One run as text: head, banner, log, running actions and checks."""

import time
from collections.abc import Iterable, Iterator
from datetime import datetime

from textual.content import Content

from punchlist.app.drive.background import AgentOutput
from punchlist.model.ledger.outcome import RunOutcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import Moment, pluralize
from punchlist.tui.backend import Snapshot
from punchlist.tui.text import ACCENT, BAD, GOOD, MUTED, TONES, WARNING, block, line, title
from punchlist.views.run_state import STATE_WORDS, State, describe_outcome
from punchlist.views.words import clock, format_cost, format_duration, tokens

_STYLES = {
    RunOutcome.CLEAN: f"bold {GOOD}",
    RunOutcome.FIXED: f"bold {GOOD}",
    RunOutcome.NOTHING_FOUND: "bold",
    RunOutcome.DISMISSED: "bold",
    RunOutcome.LEFTOVERS: f"bold {WARNING}",
    RunOutcome.INCOMPLETE: f"bold {BAD}",
}
_IN = "  "


def render_head(look: Snapshot, now: float) -> list[Content]:
    run, summary = look.run, look.summary
    state, style = STATE_WORDS[look.state], f"bold {ACCENT}"
    if run.ended:
        state, style = (
            describe_outcome(summary.outcome, summary.numbers.left_out),
            _STYLES[summary.outcome],
        )
    name, round_ = run.started.workflow_name, run.position.round
    first = line(
        (f"Run {run.id}", "bold"),
        f" · {name} · round {round_} · {clock(_active_seconds(look, now))} · ",
        (state, style),
        (f" ({look.driver})" if look.driver else "", MUTED),
    )
    return [first, line(summary.headline, (f"  {_format_cost(run)}", MUTED))]


def _active_seconds(look: Snapshot, now: float) -> float:
    """Return the driven seconds; while the run is driven, up to `now`."""
    seconds = now - look.run.last_at if look.state is State.UNDER_WAY else 0
    return look.run.active + max(0, seconds)


def _format_cost(run: Run) -> str:
    usage = run.usage
    parts = [pluralize(len(run.landing.commits), "commit"), pluralize(usage.checks, "check run")]
    if usage.agents_worked:
        parts += [tokens(usage), format_cost(usage)]
    return " · ".join(parts)


def render_banner(look: Snapshot) -> Content | None:
    """Return what the user should do now, with the key; None if nothing."""
    run = look.run
    if look.trouble:
        return line(("! ", "bold"), look.trouble)
    if run.waits and not run.ended:
        if run.waiting_for:
            question = run.waiting_for.question
        else:
            first, more = run.unanswered[0], len(run.unanswered) - 1
            question = f"{first.id}: {first.question}" + (f" (and {more} more)" if more else "")
        return line(("? The run asks (press a to answer): ", "bold"), question)
    if look.state in (State.STOPPED, State.KILLED):
        stopped = f"! The run was {STATE_WORDS[look.state]}."
        return line((stopped, "bold"), " ", ("press r to go on with it here", "bold"))
    return line(("> ", "bold"), look.summary.advice) if run.ended else None


def moment_row(moment: Moment, width: int) -> Content:
    why = f" ({moment.why})" if moment.why else ""
    took = format_duration(moment.seconds) if moment.seconds >= 1 else ""
    return line(
        (f"{clock(moment.ended):>8} {moment.round:>2} ", MUTED),
        (f"{moment.verb:<11} ", "bold"),
        (f"{moment.said}{why}"[: width * 2], TONES[moment.tone]),
        (f"  {took}", MUTED),
    )


def moment_page(moment: Moment) -> list[Content]:
    """Return the same entry in full."""
    when = datetime.fromtimestamp(moment.at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    took = f", after {moment.seconds:.1f} s" if moment.seconds else ""
    head = line((moment.verb, "bold"), (f"  round {moment.round}, {when}{took}", MUTED))
    return [head, line(""), *block(moment.said, style=TONES[moment.tone]), *block(moment.why)]


def render_activity(
    look: Snapshot, talk: Iterable[AgentOutput], now: float | None = None
) -> Iterator[Content]:
    yield title("Running" if look.state is State.UNDER_WAY else "Next")
    if not look.begun and not look.due:
        idle = "the run has ended" if look.run.ended else "nothing at this moment"
        yield line((f"{_IN}{idle}", MUTED))
    now = time.time() if now is None else now
    for begun in look.begun:
        place, took = (f"{begun.place:<7} ", MUTED), (f"  {clock(now - begun.at)}", MUTED)
        yield line((f"{_IN}* ", "bold"), place, begun.about, took)
    for action in look.due:
        yield line((f"{_IN}- ", MUTED), action.about or action.key)
    if look.more_due:
        yield line((f"{_IN}  and {look.more_due:,} more", MUTED))
    yield line("")
    yield title("Agents")
    pieces = list(talk)
    if not pieces:
        yield line((f"{_IN}{_silence_text(look)}", MUTED))
    yield from _render_output(pieces)


def _silence_text(look: Snapshot) -> str:
    if look.state is not State.UNDER_WAY:
        return "no agent is at work"
    if look.here:
        return "nothing was said yet"
    return "another process drives this run; its output is shown there"


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
    yield title("Not checked")
    for gap in look.summary.gaps:
        why = f": {gap.why}" if gap.why else ""
        yield line((f"{_IN}! ", f"bold {WARNING}"), gap.what, (why, MUTED))
    if not look.summary.gaps:
        none = "nothing that we know of" if run.ended else "nothing so far"
        yield line((f"{_IN}{none}", MUTED))
    yield from _render_baselines(run)
    yield from _render_reviewers(run)
    yield from _render_rounds(run)


def _render_decisions(run: Run) -> Iterator[Content]:
    answered = [question for question in run.asking.questions if question.answer]
    if answered:
        yield title("Decided")
        for each in answered:
            answer = f"{each.answer} ({each.choices.get(each.answer, '')})"
            yield line(_IN, each.question, (f"  {each.by}: {answer}", "bold"))
        yield line("")


def _render_baselines(run: Run) -> Iterator[Content]:
    started = run.started
    yield line("")
    yield title("Checks")
    if not started.checks:
        sought = "no checks: fixes are unverified"
        none = sought if started.seeks_checks else "not looked for: the workflow runs none"
        yield line((f"{_IN}{none}", WARNING if started.seeks_checks else MUTED))
        return
    for check in started.checks:
        known, style = run.checks.find_baseline(check.name), ""
        if not started.checks_allowed:
            said, style = "may not run: `punchlist allow`", WARNING
        elif known is None:
            said, style = "not run yet", MUTED
        elif known.unusable:
            said, style = f"cannot judge: {known.unusable}", BAD
        else:
            counts = f"{known.passed:,} passed, {known.failed:,} failed, {known.skipped:,} skipped"
            said = f"on the base {counts}"
        command = (f" {' '.join(check.command)}", MUTED)
        yield line(_IN, (check.name, "bold"), command, (f"  {said}", style))
    if run.checks.unverified:
        yield line((f"{_IN}! unverified: {run.checks.unverified}", WARNING))


def _render_reviewers(run: Run) -> Iterator[Content]:
    yield line("")
    yield title("Reviewers")
    for review in run.reviewing.reviews.values():
        findings, files = pluralize(review.findings, "finding"), pluralize(review.looked_at, "file")
        said, style = f"{findings} in {files}", ""
        if review.failed:
            said, style = f"failed: {review.failed}", BAD
        elif review.skipped:
            said, style = f"did not look: {review.skipped}", MUTED
        yield line(_IN, (review.reviewer, "bold"), (f"  {said}", style))
    for role, agents in run.started.crew.items():
        yield line(_IN, (role, "bold"), (f"  played by {', '.join(agents)}", MUTED))


def _render_rounds(run: Run) -> Iterator[Content]:
    if not run.position.rounds:
        return
    yield line("")
    yield title("Rounds")
    for past in run.position.rounds:
        stop = f"  {past.stop}" if past.stop else ""
        counts = f"{past.open:,} open, {past.fixed:,} fixed, {past.landed:,} landed"
        yield line(_IN, (f"round {past.round}", "bold"), f"  {counts}", (stop, MUTED))
