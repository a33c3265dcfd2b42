"""The Markdown findings document, which punchlist can also parse."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import Diff
from punchlist.views.escaping import disarm_links, escape_controls, one_line
from punchlist.views.issue_text import format_place
from punchlist.views.item_words import describe_attempt, describe_proof
from punchlist.views.run_state import OUTCOME_WORDS
from punchlist.views.summary import Gap, Summary, summarize_run

_SECTIONS = {
    Severity.CRITICAL: "Critical Issues (Must Fix)",
    Severity.MAJOR: "Important Issues (Should Fix)",
    Severity.MINOR: "Minor Issues (Nice to Have)",
}
_CODE = r"(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`)"
_ACTIVE = late_pattern(rf"{_CODE}|<(?=[A-Za-z/!?])|!\[|@(?=\w)")
_ROUND = str.maketrans("[]", "()")
_LONGEST_DIFF = 24


def render(run: Run) -> bytes:
    summary = summarize_run(run)
    inside = sorted(run.in_scope, key=reading_order)
    others = [item for item in run.items.values() if not item.in_scope]
    outside = sorted((item for item in others if not item.left_out), key=reading_order)
    left_out = sorted(run.left_out, key=reading_order)
    number = 1
    parts = [_render_head(run, summary)]
    for severity, title in _SECTIONS.items():
        items = [item for item in inside if item.severity is severity]
        parts.append(_render_section(title, items, run, number))
        number += len(items)
    if outside:
        title = "Outside the change (listed, not worked on)"
        parts.append(_render_section(title, outside, run, number))
        number += len(outside)
    if left_out:
        parts.append(_render_section("Left out", left_out, run, number))
    parts += [_render_gaps(summary.gaps), _render_summary(summary, inside)]
    return "\n\n".join(parts).encode("utf-8", "replace") + b"\n"


def _render_head(run: Run, summary: Summary) -> str:
    date = datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%d %H:%M")
    reviewers = ", ".join(map(_escape, sorted(run.reviewing.reviews))) or "no reviewer"
    lines = [
        f"# Code Review Findings - Round {len(run.position.rounds) or 1}",
        "",
        f"**Reviewer:** punchlist ({reviewers})  ",
        f"**Date:** {date} UTC  ",
        f"**Branch:** {run.landing.branch}  ",
        f"**Run:** {run.id}",
        "",
        f"**{OUTCOME_WORDS[summary.outcome][0].capitalize()}:** {summary.headline}",
    ]
    return "\n".join(lines)


def _render_section(title: str, items: Sequence[Item], run: Run, first: int) -> str:
    entries = [_render_entry(number, item, run) for number, item in enumerate(items, first)]
    return "\n\n".join([f"## {title}", *(entries or ["None."])])


def _render_entry(number: int, item: Item, run: Run) -> str:
    lead = item.lead
    name = _escape(lead.category or lead.rule or lead.source).translate(_ROUND)
    indent = " " * len(f"{number}. ")
    fields = (indent + line for line in _render_fields(item, run))
    return "\n".join((f"{number}. **[{name}]:** {_escape(lead.title)}", *fields))


def _render_fields(item: Item, run: Run) -> Iterator[str]:
    lead = item.lead
    yield from _bullet("File", format_place(lead))
    if not item.in_scope:
        yield from _bullet("Severity", item.severity.value)
    yield from _bullet("Rule", lead.rule)
    yield from _bullet("Problem", lead.detail.strip() or lead.title)
    yield from _bullet("Impact", lead.impact)
    yield from _bullet("Fix", _describe_fix(lead))
    yield from _bullet("Status", item.status.value)
    yield from _bullet("Left out by", item.left_out)
    sources = ", ".join(map(_describe_source, item.findings))
    yield from _bullet("Item", f"{item.number}, reported by {sources}")
    for other in item.findings[1:]:
        text = f"{_describe_source(other)} at {format_place(other)}: {other.title}"
        yield from _bullet("Merged", f"{text}\n{other.detail}\n{other.impact}".rstrip())
    for proof in item.proofs:
        yield from _bullet("Proof", describe_proof(proof))
    for note in item.notes:
        yield from _bullet("Note", note)
    if item.status is Status.FIXED and not item.proofs:
        yield from _bullet("Proof", "none was recorded")
    unfiled = run.filing.unfiled.get(item.number)
    yield from _bullet("Filed", item.issue or ("" if unfiled is None else f"not yet: {unfiled}"))
    for attempt in item.attempts:
        yield from _bullet("History", one_line(describe_attempt(attempt)))
    marks = (mark for finding in item.findings for mark in finding.marks)
    yield from _bullet("Flagged", "; ".join((*item.flags, *marks)))
    yield from _render_change(item, run.by_item.diffs.get(item.number))


def _describe_fix(finding: Finding) -> str:
    if finding.suggestion or finding.fix is None:
        return finding.suggestion
    return f"{finding.fix.title or finding.source + ' proposes an edit'} ({finding.fix.safety})"


def _describe_source(finding: Finding) -> str:
    rule = f" ({finding.rule})" if finding.rule else ""
    label = f" as {finding.label}" if finding.label else ""
    return f"{finding.source}{rule}{label}"


def _render_change(item: Item, diff: Diff | None) -> Iterator[str]:
    if item.status is not Status.FIXED:
        return
    yield from _bullet("Commit", item.commit)
    if diff is None:
        return
    lines = [line for hunk in diff.hunks for line in hunk.lines]
    if lines and len(lines) <= _LONGEST_DIFF and not any("```" in line for line in lines):
        yield from ("  ```diff", *(f"  {escape_controls(line)}" for line in lines), "  ```")


def _bullet(name: str, text: str) -> Iterator[str]:
    """Yield a field; further lines are quoted, so that they cannot be parsed as fields or items."""
    lines = [line for line in _disarm_markup(escape_controls(text)).splitlines() if line.strip()]
    if lines:
        yield f"- **{name}:** {lines[0].strip()}"
    yield from (f"  > {line.rstrip()}" for line in lines[1:])


def _escape(text: str) -> str:
    return _disarm_markup(one_line(text))


def _disarm_markup(text: str) -> str:
    """Disarm links, and outside of code in backticks tags, images and mentions."""
    return _ACTIVE.sub(_disarm_mark, disarm_links(text))


def _disarm_mark(found: re.Match[str]) -> str:
    if found["ticks"]:
        return found[0]
    return {"<": "\\<", "![": "!\\["}.get(found[0], found[0] + "\u200b")


def _render_gaps(gaps: Sequence[Gap]) -> str:
    lines = [_escape(gap.what) + (f": {_escape(gap.why)}" if gap.why else "") for gap in gaps]
    listed = (f"- {line}" for line in lines or ["Nothing that punchlist knows of."])
    return "\n".join(["## What was not checked", "", *listed])


def _render_summary(summary: Summary, inside: Sequence[Item]) -> str:
    severities = [item.severity for item in inside]
    counts = [f"{count:,} {status}" for status, count in summary.by_status.items() if count]
    status = ", ".join(counts) or "no items"
    numbers = summary.numbers
    came = f"{numbers.reported:,} reported, {numbers.merged:,} merged, {numbers.again:,} seen again"
    return "\n".join(
        (
            "## Summary",
            "",
            f"- **Total findings:** {len(inside)}",
            f"- **Critical:** {severities.count(Severity.CRITICAL)}",
            f"- **Important:** {severities.count(Severity.MAJOR)}",
            f"- **Minor:** {severities.count(Severity.MINOR)}",
            f"- **Where they stand:** {status}; {numbers.outside:,} outside the change",
            f"- **Where they came from:** {came}",
            f"- **Recommendation:** {summary.advice}",
        )
    )
