"""The Markdown findings document, which punchlist can also parse: severities as headings, items as
numbered entries.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Attempt, Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import Diff
from punchlist.views.escaping import escape_controls, one_line
from punchlist.views.issue_text import format_place
from punchlist.views.item_words import describe_attempt, describe_proof
from punchlist.views.run_state import OUTCOME_WORDS
from punchlist.views.summary import Gap, Summary, summarize_run

_SECTIONS = {
    Severity.CRITICAL: "Critical Issues (Must Fix)",
    Severity.MAJOR: "Important Issues (Should Fix)",
    Severity.MINOR: "Minor Issues (Nice to Have)",
}
_ACTIVE = re.compile(r"<(?=[A-Za-z/!?])|!\[|@(?=\w)")
_IMPACT = "Impact: "
_LONGEST_DIFF = 24


def render(run: Run) -> bytes:
    told = summarize_run(run)
    inside = sorted(run.in_scope, key=reading_order)
    outside = sorted((item for item in run.items.values() if not item.in_scope), key=reading_order)
    number = 1
    parts = [_render_head(run, told)]
    for severity, title in _SECTIONS.items():
        items = [item for item in inside if item.severity is severity]
        parts.append(_render_section(title, items, run, number))
        number += len(items)
    if outside:
        parts.append(
            _render_section("Outside the change (listed, not worked on)", outside, run, number)
        )
    parts += [_render_gaps(told.gaps), _render_summary(told, inside)]
    return "\n\n".join(parts).encode("utf-8", "replace") + b"\n"


def _render_head(run: Run, told: Summary) -> str:
    date = datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%d %H:%M")
    reviewers = ", ".join(_escape(name) for name in sorted(run.reviewing.reviews)) or "nobody"
    lines = [
        f"# Code Review Findings - Round {len(run.position.rounds) or 1}",
        "",
        f"**Reviewer:** punchlist ({reviewers})  ",
        f"**Date:** {date} UTC  ",
        f"**Branch:** {run.landing.branch}  ",
        f"**Run:** {run.id}",
        "",
        f"**{OUTCOME_WORDS[told.outcome][0].capitalize()}:** {told.headline}",
    ]
    return "\n".join(lines)


def _render_section(title: str, items: Sequence[Item], run: Run, first: int) -> str:
    entries = [_render_entry(number, item, run) for number, item in enumerate(items, first)]
    return "\n\n".join([f"## {title}", *(entries or ["None."])])


def _render_entry(number: int, item: Item, run: Run) -> str:
    lead = item.lead
    name = _escape(lead.category or lead.rule or lead.source).translate(
        {ord("["): "(", ord("]"): ")"}
    )
    indent = " " * len(f"{number}. ")
    return "\n".join(
        (
            f"{number}. **[{name}]:** {_escape(lead.title)}",
            *(indent + line for line in _render_fields(item, run)),
        )
    )


def _render_fields(item: Item, run: Run) -> Iterator[str]:
    lead = item.lead
    problem, impact = _split_problem(lead)
    yield from _bullet("File", format_place(lead))
    if not item.in_scope:
        yield from _bullet("Severity", item.severity.value)
    yield from _bullet("Rule", lead.rule)
    yield from _bullet("Problem", problem)
    yield from _bullet("Impact", impact)
    yield from _bullet("Fix", _describe_fix(lead))
    yield from _bullet("Status", item.status.value)
    yield from _bullet(
        "Item", f"{item.number}, reported by {', '.join(map(_describe_source, item.findings))}"
    )
    for other in item.findings[1:]:
        yield from _bullet(
            "Merged",
            f"{_describe_source(other)} at {format_place(other)}: {other.title}"
            + (f"\n{other.detail}" if other.detail else ""),
        )
    for proof in item.proofs:
        yield from _bullet("Proof", describe_proof(proof))
    if item.status is Status.FIXED and not item.proofs:
        yield from _bullet("Proof", "none was recorded")
    yield from _bullet(
        "Filed",
        item.issue
        or (
            f"not yet: {run.filing.unfiled[item.number]}"
            if item.number in run.filing.unfiled
            else ""
        ),
    )
    for attempt in item.attempts:
        yield from _bullet("History", _describe_attempt(attempt))
    yield from _bullet(
        "Flagged",
        "; ".join((*item.flags, *(mark for finding in item.findings for mark in finding.marks))),
    )
    yield from _render_change(item, run.by_item.diffs.get(item.number))


def _split_problem(finding: Finding) -> tuple[str, str]:
    """Return the problem and, if the reviewer wrote it apart, the impact."""
    detail, marker, impact = finding.detail.rpartition(_IMPACT)
    if not marker or (detail and not detail.endswith("\n")):
        return finding.detail or finding.title, ""
    return detail.strip() or finding.title, impact


def _describe_fix(finding: Finding) -> str:
    if finding.suggestion or finding.fix is None:
        return finding.suggestion
    return f"{finding.fix.title or finding.source + ' proposes an edit'} ({finding.fix.safety})"


def _describe_source(finding: Finding) -> str:
    label = f" as {finding.label}" if finding.label else ""
    return (
        f"{finding.source} ({finding.rule}){label}" if finding.rule else f"{finding.source}{label}"
    )


def _describe_attempt(attempt: Attempt) -> str:
    return one_line(describe_attempt(attempt))


def _render_change(item: Item, diff: Diff | None) -> Iterator[str]:
    if item.status is Status.FIXED and item.commit:
        yield from _bullet("Commit", item.commit)
    if item.status is not Status.FIXED or diff is None:
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
    """Disarm tags, images and mentions outside of code in backticks."""
    if not _ACTIVE.search(text):
        return text
    spans = re.split(r"(`+[^`\n]*`+)", text)
    return "".join(
        span if odd % 2 else _ACTIVE.sub(lambda found: _disarm_mark(found[0]), span)
        for odd, span in enumerate(spans)
    )


def _disarm_mark(mark: str) -> str:
    return {"<": "\\<", "![": "!\\["}.get(mark, mark + "\u200b")


def _render_gaps(gaps: Sequence[Gap]) -> str:
    lines = [
        f"- {_escape(gap.what)}" + (f": {_escape(gap.why)}" if gap.why else "") for gap in gaps
    ]
    return "\n".join(
        ["## What was not checked", "", *(lines or ["- Nothing that punchlist knows of."])]
    )


def _render_summary(told: Summary, inside: Sequence[Item]) -> str:
    severities = [item.severity for item in inside]
    status = ", ".join(f"{count:,} {status}" for status, count in told.by_status.items() if count)
    numbers = told.numbers
    came = f"{numbers.reported:,} reported, {numbers.merged:,} merged, {numbers.again:,} seen again"
    return "\n".join(
        (
            "## Summary",
            "",
            f"- **Total findings:** {len(inside)}",
            f"- **Critical:** {severities.count(Severity.CRITICAL)}",
            f"- **Important:** {severities.count(Severity.MAJOR)}",
            f"- **Minor:** {severities.count(Severity.MINOR)}",
            (
                f"- **Where they stand:** {status or 'no items'}; {numbers.outside:,} outside the"
                " change"
            ),
            f"- **Where they came from:** {came}",
            f"- **Recommendation:** {told.advice}",
        )
    )
