"""One item in full: findings, history, proof and diff."""

from collections.abc import Iterable, Iterator, Sequence

from punchlist.cli.drawing import Part, Text
from punchlist.cli.show.leftovers import SEVERITIES
from punchlist.cli.show.progress import COLOURS
from punchlist.cli.show.words import escape_text, format_headline, format_place, one_line
from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import Attempt, Item
from punchlist.model.ledger.events import Landed
from punchlist.model.patch.hunk import Diff, Hunk
from punchlist.views.item_words import PROOF_WORDS, describe_attempt, describe_change

_EVIDENCE_LINES = 12
_DIFF_COLOURS = {"+": "green", "-": "red"}


def render_item(
    item: Item,
    diff: Diff | None,
    landed: Iterable[Landed] = (),
    *,
    notes: Sequence[str] | None = None,
) -> Iterator[Part]:
    yield _render_head(item)
    yield from _render_findings(item)
    if item.attempts:
        yield _render_title("History")
        for attempt in item.attempts:
            yield from _render_attempt(attempt)
    notes = item.notes if notes is None else notes
    if item.proofs or notes:
        yield _render_title("Proof" if item.proofs else "Seen of the last fix, and no proof")
        for proof in item.proofs:
            artifact = f"  ({one_line(proof.artifact)})" if proof.artifact else ""
            yield f"  {PROOF_WORDS[proof.kind][0]:<16} {one_line(proof.said)}{artifact}"
        yield from (f"  {'note':<16} {one_line(note)}" for note in notes)
    if item.issue:
        yield _render_title("Filed")
        yield f"  {one_line(item.issue)}"
    if diff is not None:
        yield _render_title(describe_change(item, diff, landed))
        yield from map(_render_hunk, diff.hunks)


def _render_head(item: Item) -> Text:
    outside = " (outside the change)" if not item.in_scope else ""
    if item.left_out:
        outside = f" (left out by {item.left_out})"
    return Text.assemble(
        (f"Item {item.number}", "bold"),
        " · ",
        (f"{item.status}{outside}", COLOURS[item.status]),
        " · ",
        (item.severity, SEVERITIES[item.severity]),
        " · ",
        (format_place(item.lead), "cyan"),
        f"\n{format_headline(item.lead)}",
        (f"\nfingerprint {item.fingerprint}", "dim"),
        *((f"\nflag: {one_line(flag)}", "yellow") for flag in item.flags),
    )


def _render_findings(item: Item) -> Iterator[Part]:
    merged = f" ({len(item.findings)} findings merged)" if len(item.findings) != 1 else ""
    yield _render_title(f"Reported by{merged}")
    for finding in item.findings:
        yield f"  {finding.source}: {format_headline(finding)} at {format_place(finding)}"
        yield from (f"    {line}" for line in _render_detail(finding))


def _render_detail(finding: Finding) -> Iterator[str]:
    yield from (escape_text(line) for line in finding.detail.splitlines()[:_EVIDENCE_LINES])
    if finding.impact:
        yield f"impact: {one_line(finding.impact)}"
    if finding.suggestion:
        yield f"suggestion: {one_line(finding.suggestion)}"
    if finding.fix is not None:
        yield f"fix ({finding.fix.safety}): {one_line(finding.fix.title or 'edits the file')}"
    if finding.url:
        yield one_line(finding.url)
    yield from (f"mark: {one_line(mark)}" for mark in finding.marks)


def _render_attempt(attempt: Attempt) -> Iterator[str]:
    yield f"  {one_line(describe_attempt(attempt))}"
    lines = escape_text(attempt.evidence).splitlines()
    yield from (f"             {line}" for line in lines[-_EVIDENCE_LINES:])


def _render_title(text: str) -> Text:
    return Text(f"\n{text}", "bold")


def _render_hunk(hunk: Hunk) -> Text:
    text = Text(f"  {one_line(hunk.path)}:{hunk.line}", "cyan")
    for line in hunk.lines:
        text.append(f"\n  {escape_text(line)}", _DIFF_COLOURS.get(line[:1], ""))
    return text.append(f"\n  ({hunk.cut:,} lines more)" if hunk.cut else "", "dim")
