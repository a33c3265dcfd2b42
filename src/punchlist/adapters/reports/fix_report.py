"""The fix report as Markdown and JSON, cycle by cycle, for runs with agents."""

from collections.abc import Iterator

from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.escaping import escape_controls, one_line
from punchlist.views.fix_report import Cycle, CycleStatus, FixReport, Turn, Verification, fix_report
from punchlist.views.plans.plan_forms import item_code
from punchlist.views.safe_text import remove_secrets, safe_text
from punchlist.views.words import format_cost, format_duration

_STATUS = {
    CycleStatus.PASSED: (
        "passed: all that was changed in the last cycle was judged, and nothing was held against it"
    ),
    CycleStatus.FAILED: "failed: something was held against what was changed in the last cycle",
    CycleStatus.UNVERIFIED: "unverified: nothing that counts has judged the last cycle",
}
_TICKS = late_pattern("`+")
_LONGEST_DIFF = 400
"""Lines of one cycle's diff; the JSON has them all."""


def render_json(run: Run) -> bytes:
    """Return the report as JSON; empty if no agent was to fix anything."""
    report = fix_report(run)
    return wire.encode(report) + b"\n" if report.cycles or report.note else b""


def render_markdown(run: Run) -> bytes:
    """Return the report as Markdown; empty where the JSON is."""
    report = fix_report(run)
    if not (report.cycles or report.note):
        return b""
    parts = [_render_head(report), *("\n".join(_render_cycle(cycle)) for cycle in report.cycles)]
    return "\n\n".join(parts).encode("utf-8", "replace") + b"\n"


def _render_head(report: FixReport) -> str:
    applied = pluralize(report.fixes_applied, "commit") if report.fixes_applied else "none"
    return "\n".join(
        (
            f"# Fix report of run {report.run}",
            "",
            f"- **Final status:** {_describe_status(report)}",
            f"- **Total cycles:** {report.total_cycles}",
            f"- **Fixes applied:** {applied}",
            f"- **Duration:** {format_duration(report.seconds)}",
        )
    )


def _describe_status(report: FixReport) -> str:
    return f"{report.final_status}: {report.note}" if report.note else _STATUS[report.final_status]


def _render_cycle(cycle: Cycle) -> Iterator[str]:
    yield f"## Cycle {cycle.cycle}: {cycle.note or cycle.verification.status}"
    yield ""
    yield f"- **Duration:** {format_duration(cycle.seconds)}"
    yield f"- **Landed:** {pluralize(cycle.landed, 'commit') if cycle.landed else 'nothing'}"
    for turn in cycle.agents:
        yield from ("", f"### {_escape(turn.agent)}", "", *_render_turn(turn))
    yield from ("", "### Verification", "", *_render_verification(cycle.verification))
    if cycle.diff:
        title = f"### What changed: {pluralize(len(cycle.files), 'file')}"
        yield from ("", title, "", *_render_diff(cycle.diff))


def _render_turn(turn: Turn) -> Iterator[str]:
    for claim in turn.claims:
        why = f": {_escape(claim.why)}" if claim.why else ""
        yield f"- {item_code(claim.item)} {claim.outcome}{why}"
    if not turn.claims:
        yield "- It made no claim."
    if turn.failed:
        yield f"- **Failed:** {_escape(turn.failed)}"
    for number, why in turn.refused.items():
        yield f"- Batch {number} has no patch: {_escape(why)}"
    yield from (f"- Note: {_escape(note)}" for note in turn.noted)
    if turn.left_out:
        codes = ", ".join(map(item_code, turn.left_out))
        yield f"- Did not fit into the prompt, and comes next: {codes}"
    if turn.transcript:
        yield f"- Transcript: {_escape(turn.transcript)}"
    yield f"- It took {format_duration(turn.usage.seconds)}" + _format_cost(turn)


def _format_cost(turn: Turn) -> str:
    tokens = turn.usage.input_tokens + turn.usage.output_tokens
    parts = [
        f"{tokens:,} tokens" if tokens else "",
        format_cost(turn.usage) if turn.usage.agents_worked else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _render_verification(seen: Verification) -> Iterator[str]:
    why = f" ({_escape(seen.unverified)})" if seen.unverified else ""
    yield f"- **Status:** {seen.status}{why}"
    for run in seen.checks:
        part = "" if run.complete else ", only the tests in question"
        over = ", ".join(map(str, run.batches))
        result = "passed" if run.passed else "failed"
        yield f"- {_escape(run.check)} over batch {over}{part}: {result}: {_escape(run.why)}"
    for score in seen.scores:
        feedback = f": {_escape(score.feedback)}" if score.feedback else ""
        points = "nothing usable" if score.score is None else score.score
        yield f"- {item_code(score.item)} scored {points}{feedback}"
    if seen.failures:
        yield "- **Held against it:**"
    yield from (f"  - {_escape(line)}" for line in seen.failures)


def _render_diff(text: str) -> Iterator[str]:
    """Yield the diff in a fence longer than any run of backticks in it."""
    lines = escape_controls(remove_secrets(text)).splitlines()
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}diff", *lines[:_LONGEST_DIFF], fence)
    if len(lines) > _LONGEST_DIFF:
        yield f"{len(lines) - _LONGEST_DIFF:,} lines more are in cycles.json."


def _escape(text: str) -> str:
    return safe_text(one_line(text))
