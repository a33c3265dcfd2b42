"""The fix report as Markdown and JSON, cycle by cycle, for runs with agents."""

import re
from collections.abc import Iterable, Iterator

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.escaping import escape_controls, one_line
from punchlist.views.fix_report import Cycle, CycleStatus, FixReport, Turn, Verification, fix_report
from punchlist.views.plans.plan_forms import item_code
from punchlist.views.safe_text import remove_secrets, safe_text
from punchlist.views.words import format_dollars, format_duration

_TICKS = re.compile("`+")
_LONGEST_DIFF = 400
"""Lines of one cycle's diff; the JSON has them all."""


def render_json(run: Run) -> bytes:
    """Return the report as JSON; empty if no agent tried anything."""
    told = fix_report(run)
    return wire.encode(told) + b"\n" if told.cycles else b""


def render_markdown(run: Run) -> bytes:
    """Return the report as Markdown; empty if no agent tried anything."""
    told = fix_report(run)
    if not told.cycles:
        return b""
    parts = [_render_head(told), *("\n".join(_render_cycle(cycle)) for cycle in told.cycles)]
    return "\n\n".join(parts).encode("utf-8", "replace") + b"\n"


def _render_head(told: FixReport) -> str:
    words = {
        CycleStatus.PASSED: (
            "passed: all that was changed in the last cycle was judged, and nothing was held"
            " against it"
        ),
        CycleStatus.FAILED: "failed: something was held against what was changed in the last cycle",
        CycleStatus.UNVERIFIED: "unverified: nothing that counts has judged the last cycle",
    }
    return "\n".join(
        (
            f"# Fix report of run {told.run}",
            "",
            f"- **Final status:** {words[told.final_status]}",
            f"- **Total cycles:** {told.total_cycles}",
            (
                "- **Fixes applied:**"
                f" {pluralize(told.fixes_applied, 'commit') if told.fixes_applied else 'none'}"
            ),
            f"- **Duration:** {format_duration(told.seconds)}",
        )
    )


def _render_cycle(cycle: Cycle) -> Iterator[str]:
    yield f"## Cycle {cycle.cycle}: {cycle.note or cycle.verification.status}"
    yield ""
    yield f"- **Duration:** {format_duration(cycle.seconds)}"
    yield f"- **Landed:** {pluralize(cycle.landed, 'commit') if cycle.landed else 'nothing'}"
    for turn in cycle.agents:
        yield from ("", f"### {_escape(turn.agent)}", "", *_render_turn(turn))
    yield from ("", "### Verification", "", *_render_verification(cycle.verification))
    if cycle.diff:
        yield from (
            "",
            f"### What changed: {pluralize(len(cycle.files), 'file')}",
            "",
            *_render_diff(cycle.diff),
        )


def _render_turn(turn: Turn) -> Iterator[str]:
    for claim in turn.claims:
        yield f"- {item_code(claim.item)} {claim.outcome}" + (
            f": {_escape(claim.why)}" if claim.why else ""
        )
    if not turn.claims:
        yield "- It made no claim."
    yield from (f"- **Failed:** {_escape(reason)}" for reason in [turn.failed] if reason)
    yield from (
        f"- Batch {number} has no patch: {_escape(why)}" for number, why in turn.refused.items()
    )
    yield from (f"- Note: {_escape(note)}" for note in turn.noted)
    if turn.left_out:
        yield (
            "- Did not fit into the prompt, and comes next:"
            f" {', '.join(item_code(item) for item in turn.left_out)}"
        )
    if turn.transcript:
        yield f"- Transcript: {_escape(turn.transcript)}"
    yield f"- It took {format_duration(turn.usage.seconds)}" + _format_cost(turn)


def _format_cost(turn: Turn) -> str:
    tokens = turn.usage.input_tokens + turn.usage.output_tokens
    parts = [
        f"{tokens:,} tokens" if tokens else "",
        format_dollars(turn.usage.dollars) if turn.usage.dollars else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _render_verification(seen: Verification) -> Iterator[str]:
    yield f"- **Status:** {seen.status}" + (
        f" ({_escape(seen.unverified)})" if seen.unverified else ""
    )
    for run in seen.checks:
        part = "" if run.complete else ", only the tests in question"
        over = ", ".join(str(number) for number in run.batches)
        result = "passed" if run.passed else "failed"
        yield f"- {_escape(run.check)} over batch {over}{part}: {result}: {_escape(run.why)}"
    for score in seen.scores:
        feedback = f": {_escape(score.feedback)}" if score.feedback else ""
        yield (
            f"- {item_code(score.item)} scored"
            f" {'nothing usable' if score.score is None else score.score}{feedback}"
        )
    yield from _render_list("Held against it", seen.failures)


def _render_list(title: str, lines: Iterable[str]) -> Iterator[str]:
    told = [f"  - {_escape(line)}" for line in lines]
    yield from ([f"- **{title}:**", *told] if told else [])


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
