"""One item as text: findings, code, change, history, proofs, score and issue."""

from collections.abc import Iterable, Iterator

from textual.content import Content

from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import Attempt, Item, Status
from punchlist.model.item.score import Score
from punchlist.model.ledger.events import Landed
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import Diff
from punchlist.tui.text import (
    ACCENT,
    BAD,
    GOOD,
    MUTED,
    SEVERITIES,
    STATUSES,
    WARNING,
    block,
    format_headline,
    format_place,
    line,
    title,
)
from punchlist.views.item_words import FACTS, PROOF_WORDS, describe_change

_DIFF = {"+": GOOD, "-": BAD}
_EVIDENCE_LINES = 40
_IN = "  "


def item_lines(run: Run, item: Item) -> list[Content]:
    parts = (
        _render_head(run, item),
        _render_findings(item),
        _render_code(item),
        _render_change(run.by_item.diffs.get(item.number), item, run.landing.landed),
        _render_history(item),
        _render_proofs(run, item),
        _render_score(run.by_item.scores.get(item.number)),
        _render_questions(run, item),
        _render_issue(run, item),
    )
    return [each for part in parts for each in part]


def _title(text: str) -> Iterator[Content]:
    yield line("")
    yield title(text)


def _render_head(run: Run, item: Item) -> Iterator[Content]:
    outside = f"left out by {item.left_out}" if item.left_out else "outside the change"
    status = item.status if item.in_scope else f"{item.status} ({outside})"
    yield line(
        (f"Item {item.number}", "bold"),
        " · ",
        (status, f"bold {STATUSES[item.status]}"),
        " · ",
        (item.severity, SEVERITIES[item.severity]),
        " · ",
        (format_place(item.lead), ACCENT),
    )
    yield line((format_headline(item.lead), "bold"))
    yield line((f"fingerprint {item.fingerprint} · run {run.id}", MUTED))
    for flag in item.flags:
        yield line(("! flagged: ", f"bold {WARNING}"), flag)


def _render_findings(item: Item) -> Iterator[Content]:
    merged = f" ({len(item.findings)} findings, merged)" if len(item.findings) > 1 else ""
    yield from _title(f"Reported by{merged}")
    for finding in item.findings:
        place = (f"at {format_place(finding)}", MUTED)
        yield line(_IN, (finding.source, "bold"), f": {format_headline(finding)} ", place)
        yield from _render_detail(finding)
    if item.sightings:
        yield line((f"{_IN}seen again {item.sightings} times in later looks", MUTED))


def _render_detail(finding: Finding) -> Iterator[Content]:
    yield from block(finding.detail, _IN * 2)
    if finding.impact:
        yield line(_IN * 2, ("impact: ", "italic"), finding.impact)
    if finding.suggestion:
        yield line(_IN * 2, ("suggestion: ", "italic"), finding.suggestion)
    if fix := finding.fix:
        yield line(_IN * 2, (f"fix ({fix.safety}): ", "italic"), fix.title or "edits the file")
    if finding.url:
        yield line(_IN * 2, (finding.url, MUTED))
    yield from (line(_IN * 2, ("mark: ", WARNING), mark) for mark in finding.marks)


def _render_code(item: Item) -> Iterator[Content]:
    """Yield the code as it was reported; the lines of the finding are marked."""
    finding = item.current if item.current.code else item.lead
    if not finding.code:
        return
    yield from _title(f"Code of {format_place(finding)}")
    line_ = finding.spot.line
    for number, text in enumerate(finding.code.splitlines(), max(1, (line_ or 1) - 1)):
        about = line_ is not None and line_ <= number <= (finding.spot.end_line or line_)
        shown = f"{number:>6} " if line_ else ""
        yield line((f"{_IN}{'>' if about else ' '}{shown}", MUTED), (text, "bold" if about else ""))


def _render_change(diff: Diff | None, item: Item, landed: Iterable[Landed]) -> Iterator[Content]:
    if diff is None:
        return
    yield from _title(f"Change, {describe_change(item, diff, landed).lower()}")
    for hunk in diff.hunks:
        yield line((f"{_IN}{hunk.path}:{hunk.line}", ACCENT))
        yield from (line(_IN, (each or " ", _DIFF.get(each[:1], ""))) for each in hunk.lines)
        if hunk.cut:
            yield line((f"{_IN}({hunk.cut:,} lines more)", MUTED))


def _render_history(item: Item) -> Iterator[Content]:
    if item.attempts:
        yield from _title("History")
    for attempt in item.attempts:
        yield from _render_attempt(attempt)


def _render_attempt(attempt: Attempt) -> Iterator[Content]:
    who = f" by {attempt.by}" if attempt.by else ""
    why = f": {attempt.why}" if attempt.why else ""
    number = (f"{_IN}round {attempt.round} ", MUTED)
    yield line(number, (FACTS[attempt.fact], "bold"), who, why)
    lines = block(attempt.evidence, _IN * 3, MUTED)
    if len(lines) > _EVIDENCE_LINES:
        yield line((f"{_IN * 3}({len(lines) - _EVIDENCE_LINES:,} lines before)", MUTED))
    yield from lines[-_EVIDENCE_LINES:]


def _render_proofs(run: Run, item: Item) -> Iterator[Content]:
    if item.status is Status.FIXED or item.proofs:
        yield from _title("Proof")
        for proof in sorted(item.proofs, key=lambda each: -each.kind.strength):
            word = (f"{PROOF_WORDS[proof.kind][0]:<16} ", f"bold {GOOD}")
            artifact = f" ({proof.artifact})" if proof.artifact else ""
            yield line(_IN, word, proof.said, (artifact, MUTED))
        if not item.proofs:
            yield line(_IN, ("none", f"bold {BAD}"))
        yield from (line(_IN, (f"{'note':<16} ", "bold"), note) for note in item.notes)
    if private := run.by_item.reproductions.get(item.number):
        seen = "was seen red before the fix" if private.red else f"does not count: {private.why}"
        yield line(_IN, ("private test ", "bold"), f"{private.path} {seen}")


def _render_score(score: Score | None) -> Iterator[Content]:
    if score is None:
        return
    yield from _title("Challenger")
    number = "no usable score" if score.score is None else f"{score.score} of 100"
    parts = {"correctness": score.correctness, "safety": score.safety, "style": score.style}
    scores = ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)
    style = f"bold {GOOD if score.approves() else WARNING}"
    yield line(_IN, (number, style), f" {score.status} ", (scores, MUTED))
    yield from block(score.feedback, _IN * 2)
    yield from (line(_IN * 2, f"- {improvement}") for improvement in score.improvements)


def _render_questions(run: Run, item: Item) -> Iterator[Content]:
    doubts = [doubt for doubt in run.asking.doubts.values() if doubt.item == item.number]
    if doubts:
        yield from _title("Questions")
    for doubt in doubts:
        yield line(_IN, (doubt.id, "bold"), f" {doubt.question}")
        answer = f"{doubt.by}: {doubt.answer}" if doubt.answer else "not answered yet"
        yield line((f"{_IN * 2}{answer}", "" if doubt.answer else WARNING))


def _render_issue(run: Run, item: Item) -> Iterator[Content]:
    unfiled = run.filing.unfiled.get(item.number, "")
    if item.issue or unfiled:
        yield from _title("Issue")
    if item.issue:
        yield line(f"{_IN}{item.issue}")
    if unfiled:
        yield line(_IN, ("could not be filed: ", WARNING), unfiled)
