"""Text of the issue for an unresolved item, made safe for trackers."""

import re
from collections.abc import Iterator

from msgspec import Struct

from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import Attempt, Item
from punchlist.views.item_words import FACTS
from punchlist.views.safe_text import safe_text

TITLE_LIMIT = 100
_DETAIL_LIMIT = 8_000
_EVIDENCE_LIMIT = 4_000
_EVIDENCE_IN_ALL = 24_000
_WHY_LIMIT = 1_000
_OTHERS = 20
"""Trackers refuse texts beyond some 65,000 characters: evidence is shortened so that the history
stays whole.
"""


class IssueText(Struct, frozen=True, kw_only=True):
    """An issue's text: the item with its history, and its run."""

    item: Item
    title: str
    body: str
    labels: tuple[str, ...]
    run: str


def render_issue(item: Item, run_id: str, anchor: str = "") -> IssueText:
    """Render the issue; `anchor` is the comment that names the last entry of the ledger of the run
    that files it.
    """
    return IssueText(
        item=item,
        title=_render_title(item),
        body=_render_body(item, run_id, anchor),
        labels=("tech-debt", str(item.severity)),
        run=run_id,
    )


def fingerprint_comment(fingerprint: str) -> str:
    """Return the comment by which an issue is found again; safe text cannot contain it."""
    return f"<!-- punchlist:fingerprint {fingerprint} -->"


def _render_title(item: Item) -> str:
    title = f"[{item.severity.upper()}] {' '.join(safe_text(item.lead.title).split())}"
    return title if len(title) <= TITLE_LIMIT else title[: TITLE_LIMIT - 1].rstrip() + "…"


def _render_body(item: Item, run_id: str, anchor: str) -> str:
    history = "\n".join(_render_history(item.attempts))
    sections = (
        _render_facts(item),
        _render_section("What was found", _render_findings(item)),
        _render_section("Suggested fix", _render_suggestions(item)),
        _render_section("What was tried", history or "Nothing yet: no fixer was asked."),
        _render_section("Flagged", "\n".join(f"- {_one_line(flag)}" for flag in item.flags)),
        f"---\nFiled by punchlist: run {inline_code(run_id)}, item {item.number}.",
        anchor,
        fingerprint_comment(item.fingerprint),
    )
    return "\n\n".join(filter(None, sections)) + "\n"


def _render_facts(item: Item) -> str:
    lead = item.lead
    word = f" ({_one_line(lead.severity_word)})" if lead.severity_word else ""
    place = inline_code(format_place(lead)) if lead.spot.path else "no file was named"
    reporters = ", ".join(dict.fromkeys(map(_format_reporter, item.findings)))
    rows = [("Severity", f"{item.severity}{word}"), ("Location", place), ("Reported by", reporters)]
    if lead.category:
        rows.append(("Category", _one_line(lead.category)))
    if not item.in_scope:
        rows.append(("Scope", "outside the change that was reviewed"))
    return "\n".join(f"- **{name}:** {value}" for name, value in rows)


def format_place(finding: Finding) -> str:
    """Return path and lines: "a.py:3-5"."""
    spot = finding.spot
    if not spot.line:
        return spot.path
    end = f"-{spot.end_line}" if spot.end_line and spot.end_line != spot.line else ""
    return f"{spot.path}:{spot.line}{end}"


def _render_findings(item: Item) -> str:
    lead = item.lead
    parts = [_one_line(lead.title), _clip_text(lead.detail, _DETAIL_LIMIT)]
    parts.append(f"Impact: {_clip_text(lead.impact, _DETAIL_LIMIT // 2)}" if lead.impact else "")
    parts.append(f"More: {_one_line(lead.url)}" if lead.url else "")
    parts.append("\n".join(f"- Odd about it: {_one_line(mark)}" for mark in lead.marks))
    others = item.findings[1:]
    said = [
        f"- {_format_reporter(other)} at {inline_code(format_place(other))}:"
        f" {_one_line(other.title)}"
        for other in others[:_OTHERS]
    ]
    if len(others) > _OTHERS:
        said.append(f"- and {len(others) - _OTHERS} more")
    parts.append("\n".join(["Also reported:", *said]) if said else "")
    return "\n\n".join(filter(None, parts))


def _render_suggestions(item: Item) -> str:
    said = dict.fromkeys(finding.suggestion for finding in item.findings if finding.suggestion)
    fixes = (finding.fix for finding in item.findings if finding.fix)
    tools = dict.fromkeys(fix.title or "a change of its own" for fix in fixes)
    texts = [_clip_text(text, _DETAIL_LIMIT // 2) for text in list(said)[:_OTHERS]]
    texts += [f"The tool proposes: {_one_line(title)}" for title in list(tools)[:_OTHERS]]
    return "\n\n".join(texts)


def _render_history(attempts: tuple[Attempt, ...]) -> Iterator[str]:
    room = min(_EVIDENCE_LIMIT, _EVIDENCE_IN_ALL // max(len(attempts), 1))
    for number, attempt in enumerate(attempts, 1):
        why = f": {_one_line(_cut_middle(attempt.why, _WHY_LIMIT))}" if attempt.why else ""
        by = _one_line(attempt.by) or "punchlist"
        yield f"{number}. Round {attempt.round}, {by}: {FACTS[attempt.fact]}{why}"
        if attempt.evidence.strip():
            yield _indent_text(_fence_text(_cut_middle(attempt.evidence.strip(), room)))


def _render_section(name: str, text: str) -> str:
    return f"## {name}\n\n{text}" if text.strip() else ""


def _format_reporter(finding: Finding) -> str:
    return _one_line(finding.source) + (f" ({_one_line(finding.rule)})" if finding.rule else "")


def _one_line(text: str) -> str:
    return " ".join(safe_text(text).split())


def _clip_text(text: str, limit: int) -> str:
    return safe_text(_cut_middle(text.strip(), limit))


def _cut_middle(text: str, limit: int) -> str:
    """Shorten a long text in the middle, and say how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def inline_code(text: str) -> str:
    """Return the text as inline code in Markdown."""
    plain = _one_line(text)
    ticks = "`" * (_longest_ticks(plain) + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def _fence_text(text: str) -> str:
    safe = safe_text(text)
    fence = "`" * max(3, _longest_ticks(safe) + 1)
    return f"{fence}text\n{safe}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _indent_text(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.split("\n"))
