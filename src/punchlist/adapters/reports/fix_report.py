"""The fix report as Markdown and as JSON: cycle by cycle, for runs in which agents
tried something.
"""

import re
from collections.abc import Iterable, Iterator

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import amount
from punchlist.views.escaping import one_line, visible
from punchlist.views.fix_report import Cycle, CycleStatus, FixReport, Turn, Verification, fix_report
from punchlist.views.plan_forms import code
from punchlist.views.safe_text import safe_text, without_secrets
from punchlist.views.words import dollars, duration

_TICKS = re.compile("`+")
_LONGEST_DIFF = 400
"""Lines of one cycle's diff; the JSON has them all."""


def document(run: Run) -> bytes:
    """Empty where no agent tried anything: then there is nothing to tell."""
    told = fix_report(run)
    return wire.encode(told) + b"\n" if told.cycles else b""


def markdown(run: Run) -> bytes:
    """The same for people."""
    told = fix_report(run)
    if not told.cycles:
        return b""
    parts = [_head(told), *("\n".join(_cycle(cycle)) for cycle in told.cycles)]
    return "\n\n".join(parts).encode("utf-8", "replace") + b"\n"


def _head(told: FixReport) -> str:
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
                f" {amount(told.fixes_applied, 'commit') if told.fixes_applied else 'none'}"
            ),
            f"- **Duration:** {duration(told.seconds)}",
        )
    )


def _cycle(cycle: Cycle) -> Iterator[str]:
    yield f"## Cycle {cycle.cycle}: {cycle.note or cycle.verification.status}"
    yield ""
    yield f"- **Duration:** {duration(cycle.seconds)}"
    yield f"- **Landed:** {amount(cycle.landed, 'commit') if cycle.landed else 'nothing'}"
    for turn in cycle.agents:
        yield from ("", f"### {_said(turn.agent)}", "", *_turn(turn))
    yield from ("", "### Verification", "", *_verification(cycle.verification))
    if cycle.diff:
        yield from (
            "",
            f"### What changed: {amount(len(cycle.files), 'file')}",
            "",
            *_diff(cycle.diff),
        )


def _turn(turn: Turn) -> Iterator[str]:
    """What it said, as claims; what came of them is below."""
    for claim in turn.claims:
        yield f"- {code(claim.item)} {claim.outcome}" + (
            f": {_said(claim.why)}" if claim.why else ""
        )
    if not turn.claims:
        yield "- It made no claim."
    yield from (f"- **Failed:** {_said(reason)}" for reason in [turn.failed] if reason)
    yield from (
        f"- Batch {number} has no patch: {_said(why)}" for number, why in turn.refused.items()
    )
    yield from (f"- Note: {_said(note)}" for note in turn.noted)
    if turn.left_out:
        yield (
            "- Did not fit into the prompt, and comes next:"
            f" {', '.join(code(item) for item in turn.left_out)}"
        )
    if turn.transcript:
        yield f"- Transcript: {_said(turn.transcript)}"
    yield f"- It took {duration(turn.usage.seconds)}" + _cost(turn)


def _cost(turn: Turn) -> str:
    tokens = turn.usage.input_tokens + turn.usage.output_tokens
    parts = [
        f"{tokens:,} tokens" if tokens else "",
        dollars(turn.usage.dollars) if turn.usage.dollars else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _verification(seen: Verification) -> Iterator[str]:
    yield f"- **Status:** {seen.status}" + (
        f" ({_said(seen.unverified)})" if seen.unverified else ""
    )
    for run in seen.checks:
        part = "" if run.complete else ", only the tests in question"
        over = ", ".join(str(number) for number in run.batches)
        yield (
            f"- {_said(run.check)} over batch {over}{part}: {'passed' if run.passed else 'failed'}:"
            f" {_said(run.why)}"
        )
    for score in seen.scores:
        feedback = f": {_said(score.feedback)}" if score.feedback else ""
        yield (
            f"- {code(score.item)} scored"
            f" {'nothing usable' if score.score is None else score.score}{feedback}"
        )
    yield from _listed("Held against it", seen.failures)


def _listed(title: str, lines: Iterable[str]) -> Iterator[str]:
    told = [f"  - {_said(line)}" for line in lines]
    yield from ([f"- **{title}:**", *told] if told else [])


def _diff(text: str) -> Iterator[str]:
    """In a fence that nothing in it can close."""
    lines = visible(without_secrets(text)).splitlines()
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}diff", *lines[:_LONGEST_DIFF], fence)
    if len(lines) > _LONGEST_DIFF:
        yield f"{len(lines) - _LONGEST_DIFF:,} lines more are in cycles.json."


def _said(text: str) -> str:
    return safe_text(one_line(text))
