"""Data of the HTML report, ready for the template."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.item.proof import Proof, strongest_proof
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import Moment
from punchlist.model.patch.hunk import Hunk
from punchlist.views.escaping import web_address
from punchlist.views.issue_text import format_place
from punchlist.views.item_words import FACTS, PROOF_WORDS, has_landed
from punchlist.views.words import format_duration

OUTSIDE = "outside"
LEFT_OUT = "left-out"
GROUPS = {
    Status.OPEN.value: "Open",
    Status.CLAIMED.value: "Claimed, not proven",
    Status.DEFERRED.value: "Deferred",
    Status.BLOCKED.value: "Blocked",
    Status.FILED.value: "Filed",
    Status.FIXED.value: "Fixed, with a proof",
    Status.DISMISSED.value: "Dismissed",
    OUTSIDE: "Outside the change",
    LEFT_OUT: "Left out by options, settings or the baseline",
}
"""What still needs work comes first."""
_THINNEST = 0.35
_NOTHING = 0.005


class CodeLine(NamedTuple):
    """One line of code. `kind`: a(dded), d(eleted), h(it by the finding), n(ote) or empty; `tail`:
    white space at its end.
    """

    kind: str
    number: int | None
    text: str
    tail: str = ""


class Code(Struct, frozen=True):
    where: str
    lines: tuple[CodeLine, ...]
    cut: int = 0


class ReviewerText(Struct, frozen=True):
    """A reviewer's own words."""

    who: str
    rule: str
    label: str
    where: str
    title: str
    detail: str
    suggestion: str
    url: str
    marks: tuple[str, ...]
    impact: str = ""


class HistoryStep(Struct, frozen=True):
    """One line of an item's history. Equal evidence is shown once: by the item `same_as`."""

    round: int
    fact: str
    by: str
    why: str
    evidence: str = ""
    same_as: int | None = None


class Row(Struct, frozen=True, kw_only=True):
    number: int
    group: str
    severity: Severity
    title: str
    rule: str
    path: str
    where: str
    tools: tuple[str, ...]
    fingerprint: str
    proofs: tuple[Proof, ...]
    proof: str
    landed: bool
    tried: bool
    came_back: bool
    """The change that was tried has landed, and the item was reported again."""
    proposed: bool
    code: tuple[Code, ...]
    history: tuple[HistoryStep, ...]
    said: tuple[ReviewerText, ...]
    commit: str
    issue: str
    unfiled: str
    flags: tuple[str, ...]
    notes: tuple[str, ...]
    sightings: int


class ItemGroup(Struct, frozen=True):
    key: str
    title: str
    rows: tuple[Row, ...]


class Bar(Struct, frozen=True):
    """A moment with its position on the time line, in percent."""

    moment: Moment
    start: float
    width: float
    took: str


class Lane(Struct, frozen=True):
    """All moments of one verb that took time."""

    verb: str
    bars: tuple[Bar, ...]
    took: str


class Lap(Struct, frozen=True):
    """The moments of one round."""

    round: int
    bars: tuple[Bar, ...]
    took: str


def group_items(run: Run) -> tuple[ItemGroup, ...]:
    evidence: dict[str, int] = {}
    commits = {landed.batch: landed.commit for landed in run.landing.landed}  # as they were proven
    by_group: dict[str, list[Row]] = {key: [] for key in GROUPS}
    for item in sorted(run.items.values(), key=reading_order):
        row = _make_row(item, run, commits, evidence)
        by_group[row.group].append(row)
    return tuple(ItemGroup(key, GROUPS[key], tuple(rows)) for key, rows in by_group.items() if rows)


def _make_row(item: Item, run: Run, commits: dict[int, str], evidence: dict[str, int]) -> Row:
    lead, diff = item.lead, run.by_item.diffs.get(item.number)
    fixed = item.status is Status.FIXED
    ours = fixed and diff is not None and commits.get(diff.batch) == item.made_in
    best = strongest_proof(item.proofs)
    return Row(
        number=item.number,
        group=item.status.value if item.in_scope else LEFT_OUT if item.left_out else OUTSIDE,
        severity=item.severity,
        title=lead.title,
        rule=lead.rule,
        path=lead.spot.path,
        where=format_place(lead),
        tools=tuple(dict.fromkeys(finding.source for finding in item.findings)),
        fingerprint=item.fingerprint,
        proofs=item.proofs,
        proof=PROOF_WORDS[best.kind][0] if best else "",
        landed=ours,
        tried=diff is not None and not fixed,
        came_back=diff is not None and not fixed and has_landed(diff, run.landing.landed),
        proposed=any(finding.fix for finding in item.findings),
        code=_make_code(diff.hunks if diff and (ours or not fixed) else (), item),
        history=tuple(_make_history(item, evidence)),
        said=tuple(map(_quote_finding, item.findings)),
        commit=item.commit if fixed else "",
        issue=item.issue,
        unfiled=run.filing.unfiled.get(item.number, ""),
        flags=item.flags,
        notes=item.notes,
        sightings=item.sightings,
    )


def _make_history(item: Item, evidence: dict[str, int]) -> Iterator[HistoryStep]:
    for each in item.attempts:
        shown_by = evidence.setdefault(each.evidence, item.number)
        same = shown_by if each.evidence and shown_by != item.number else None
        yield HistoryStep(
            each.round, FACTS[each.fact], each.by, each.why, "" if same else each.evidence, same
        )


def _quote_finding(finding: Finding) -> ReviewerText:
    detail = finding.detail if finding.detail != finding.title else ""
    suggestion = finding.suggestion or (
        f"{finding.fix.title} ({finding.fix.safety})" if finding.fix and finding.fix.title else ""
    )
    return ReviewerText(
        finding.source,
        finding.rule,
        finding.label,
        format_place(finding),
        finding.title,
        detail,
        suggestion,
        web_address(finding.url),
        finding.marks,
        finding.impact,
    )


def _make_code(shown: Sequence[Hunk], item: Item) -> tuple[Code, ...]:
    if shown:
        return tuple(Code(hunk.path, tuple(diff_lines(hunk)), hunk.cut) for hunk in shown)
    lead = next((finding for finding in item.findings if finding.code), None)
    return (Code(lead.spot.path, tuple(excerpt_lines(lead))),) if lead else ()


def diff_lines(hunk: Hunk) -> Iterator[CodeLine]:
    number = hunk.line
    for line in hunk.lines:
        kind = {"+": "a", "-": "d", "\\": "n"}.get(line[:1], "")
        text = line[1:].rstrip() if kind in ("a", "d") else line[1:]
        yield CodeLine(kind, number if kind in ("", "d") else None, text, line[1 + len(text) :])
        number += kind in ("", "d")


def excerpt_lines(finding: Finding) -> Iterator[CodeLine]:
    line = finding.spot.line or 1
    last = finding.spot.last_line or line
    for number, text in enumerate(finding.code.split("\n"), max(1, line - 1)):
        yield CodeLine("h" if line <= number <= last else "", number, text)


def make_lanes(run: Run) -> tuple[Lane, ...]:
    """Return the verbs that took time, in order of their first moment."""
    total = _total_seconds(run)
    by_verb: dict[str, list[Moment]] = {}
    for moment in run.timeline:
        if moment.seconds >= _NOTHING:
            by_verb.setdefault(moment.verb, []).append(moment)
    lanes: list[Lane] = []
    for verb, moments in by_verb.items():
        took = format_duration(sum(moment.seconds for moment in moments))
        lanes.append(Lane(verb, tuple(_make_bar(moment, total) for moment in moments), took))
    return tuple(lanes)


def round_ends(run: Run) -> tuple[float, ...]:
    """Return where each round but the last ended, in percent."""
    ends = [moment.ended for moment in run.timeline if moment.verb == "round"]
    return tuple(round(100 * end / _total_seconds(run), 2) for end in ends[:-1])


def _total_seconds(run: Run) -> float:
    return max([run.active, 0.001, *(moment.ended for moment in run.timeline)])


def make_laps(run: Run) -> tuple[Lap, ...]:
    total = _total_seconds(run)
    return tuple(
        _make_lap(round_, tuple(moments), total)
        for round_, moments in groupby(run.timeline, key=lambda moment: moment.round)
    )


def _make_lap(round_: int, moments: Sequence[Moment], total: float) -> Lap:
    bars = tuple(_make_bar(moment, total) for moment in moments)
    first = min(moment.ended - moment.seconds for moment in moments)
    return Lap(round_, bars, format_duration(max(0, moments[-1].ended - first)))


def _make_bar(moment: Moment, total: float) -> Bar:
    start = 100 * max(0, moment.ended - moment.seconds) / total
    width = max(_THINNEST, 100 * moment.ended / total - start)
    took = format_duration(moment.seconds) if moment.seconds >= _NOTHING else ""
    return Bar(moment, round(min(start, 100 - _THINNEST), 2), round(width, 2), took)


def list_tools(found: Iterable[ItemGroup]) -> list[str]:
    return sorted({tool for group in found for row in group.rows for tool in row.tools})


def list_paths(found: Iterable[ItemGroup]) -> list[str]:
    return sorted({row.path for group in found for row in group.rows})
