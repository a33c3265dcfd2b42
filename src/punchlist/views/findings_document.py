"""The findings document of one round, readable for people and for punchlist."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import ACTIONABLE, Status
from punchlist.model.ledger.events import Reviewed
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.safe_text import safe_text

FOLDER = "docs/progress"
HEADING = "Code Review Findings - Round"
"""What the first line of every findings document holds."""
LEVELS = {Severity.CRITICAL: "Critical", Severity.MAJOR: "Important", Severity.MINOR: "Minor"}
"""What a findings document calls the severities."""
_SECTIONS = {
    Severity.CRITICAL: "Critical Issues (Must Fix)",
    Severity.MAJOR: "Important Issues (Should Fix)",
    Severity.MINOR: "Minor Issues (Nice to Have)",
}
_LEFT = (*ACTIONABLE, Status.BLOCKED)
_UNFIT = late_pattern(r"[^A-Za-z0-9._-]+")
_LONGEST_STORY = 80
_PLAIN_PATH = late_pattern(r"[\w./+@-]*[\w/]")
_EARLIER = "reported in an earlier round, not in this one; no fix of it landed"
_EMPHASIS = ("*", "_", ":", "[")


class RoundEntry(Struct, frozen=True):
    """A finding of a round's document. `earlier`: only an earlier round's review reported it."""

    finding: Finding
    earlier: bool = False


def findings_document(run: Run, round_: int, story: str = "") -> tuple[str, bytes]:
    """Return the file's name below the run's folder, and its content. `story`: the id of what the
    review is about, by default the run's story, or the run itself.
    """
    about = story or run.started.story.id or run.id
    name = f"{FOLDER}/story-{_make_slug(about)}-review-findings-round-{round_}.md"
    return name, "\n\n".join(_render_parts(run, round_, about)).encode("utf-8", "replace") + b"\n"


def document_path(run: Run) -> str:
    """Return where the user finds the present round's document, or '' if there is none."""
    ending = f"-review-findings-round-{run.position.round}.md"
    paths = (*run.filing.placed, *run.filing.artifacts)
    return next((path for path in paths if path.endswith(ending)), "")


def list_findings(run: Run, round_: int) -> list[RoundEntry]:
    """Return what is to be resolved after a round's review, each problem once, most severe first:
    what its reviewers report, and what earlier ones reported and no fix or person has settled.
    """
    reviews = _find_reviews(run, round_)
    findings = [finding for review in reviews for finding in review.findings]
    told = {finding.id: finding for finding in findings}
    fresh = {finding.id for finding in run.reviewing.fresh}
    entries = [RoundEntry(finding) for finding in findings if finding.id in fresh]
    for item in run.in_scope:
        seen = [told[each.id] for each in (*item.latest, *item.findings) if each.id in told]
        if (seen and item.status is not Status.DISMISSED) or item.status in _LEFT:
            shown = replace(seen[0] if seen else item.current, severity=item.severity)
            entries.append(RoundEntry(shown, earlier=not seen))
    return sorted(entries, key=lambda entry: _sort_key(entry.finding))


def _find_reviews(run: Run, round_: int) -> list[Reviewed]:
    pasts = (past.event for past in run.history if past.round == round_)
    return [event for event in pasts if isinstance(event, Reviewed)]


def _make_slug(story: str) -> str:
    """Return the story as part of a file name."""
    return _UNFIT.sub("-", story)[:_LONGEST_STORY].strip(".-") or "unnamed"


def _render_parts(run: Run, round_: int, story: str) -> Iterator[str]:
    pasts = [past for past in run.history if past.round == round_]
    times = [past.at for past in pasts if isinstance(past.event, Reviewed)]
    reviews, entries = _find_reviews(run, round_), list_findings(run, round_)
    gaps = list(_find_gaps(reviews))
    title = f"# Story {_one_line(story)} {HEADING} {round_}"
    yield _render_head(run, max(times, default=run.last_at), reviews, title)
    number = 1
    for severity, heading in _SECTIONS.items():
        some = [entry for entry in entries if entry.finding.severity is severity]
        listed = [_render_entry(n, entry) for n, entry in enumerate(some, number)]
        yield "\n\n".join([f"## {heading}", *(listed or ["None."])])
        number += len(some)
    if gaps:
        yield "\n".join(["## What was not checked", "", *(f"- {_one_line(gap)}" for gap in gaps)])
    yield _render_summary([entry.finding for entry in entries], gaps)


def _sort_key(finding: Finding) -> tuple[int, str, int, str]:
    return (finding.severity.rank, finding.spot.path, finding.spot.line or 0, finding.id)


def _render_head(run: Run, when: float, reviews: Sequence[Reviewed], title: str) -> str:
    who = [_describe_reviewer(review, run) for review in reviews]
    story = run.started.story
    return "\n".join(
        (
            title,
            "",
            *([f"**Story:** {_one_line(story.title)}"] if story.title else ()),
            f"**Reviewer:** {_one_line('; '.join(who)) or 'none'}",
            f"**Date:** {datetime.fromtimestamp(when, UTC).strftime('%Y-%m-%d %H:%M')}",
            f"**Branch:** {_one_line(run.started.change.branch or run.landing.branch)}",
        )
    )


def _describe_reviewer(review: Reviewed, run: Run) -> str:
    if not review.agent:
        return review.reviewer
    kept = review.agent in run.started.outside
    context = "the same conversation as before" if kept else "Fresh Context"
    return f"{review.agent} as {review.reviewer} ({context})"


def _render_entry(number: int, entry: RoundEntry) -> str:
    finding = entry.finding
    category = _one_line(finding.category or finding.rule or "General")
    category = category.replace("[", "(").replace("]", ")")[:80].strip()
    indent = " " * len(f"{number}. ")
    fields = tuple(indent + line for line in _render_fields(finding))
    head = f"{number}. **[{category or 'General'}]:** {_one_line(finding.title)}"
    if entry.earlier:
        fields = (*fields, f"{indent}- **History:** {_EARLIER}")
    return "\n".join((head, *fields))


def _render_fields(finding: Finding) -> Iterator[str]:
    title = _one_line(finding.title)
    if title.startswith(_EMPHASIS) or title.endswith("**"):
        yield f"- **Title:** {title}"
    yield from _render_place(finding)
    yield from _render_bullet("Problem", finding.detail if finding.detail.strip() else title)
    yield from _render_bullet("Impact", finding.impact)
    yield from _render_bullet("Fix", _describe_fix(finding))
    yield from _render_bullet("Rule", _one_line(finding.rule))
    yield from _render_bullet("ID", _one_line(finding.label))
    yield from _render_bullet("URL", _one_line(finding.url))


def _render_place(finding: Finding) -> Iterator[str]:
    """Yield path and lines; a path that could be misread gets its lines apart."""
    spot = finding.spot
    lines = str(spot.line or "")
    if spot.line and spot.column:
        lines += f":{spot.column}"
    if spot.line and spot.end_line and spot.end_line != spot.line:
        lines += f"-{spot.end_line}"
    path = " ".join(spot.path.split())
    if not path:
        return
    if _PLAIN_PATH.fullmatch(path):
        where = f"{path}:{lines}" if lines else path
        yield f"- **File:** {where}" if safe_text(where) == where else f"- **File:** `{where}`"
        return
    yield f"- **File:** {safe_text(path)}"
    if lines:
        yield f"- **Line:** {lines}"


def _describe_fix(finding: Finding) -> str:
    if finding.suggestion or finding.fix is None:
        return finding.suggestion
    return f"{finding.fix.title or finding.source + ' proposes an edit'} ({finding.fix.safety})"


def _render_bullet(name: str, text: str) -> Iterator[str]:
    """Yield a field; lines after the first are quoted, so that none is read as a field."""
    lines = safe_text(text).strip().splitlines()
    if lines:
        yield f"- **{name}:** {lines[0].strip()}"
    yield from (f"  > {line.rstrip()}".rstrip() for line in lines[1:])


def _one_line(text: str) -> str:
    """Return the text on one line; what is dangerous only at the start of a line is not there."""
    return " ".join(safe_text(" ".join(text.split())).split())


def _find_gaps(reviews: Sequence[Reviewed]) -> Iterator[str]:
    if not any(not (review.failed or review.skipped) for review in reviews):
        yield "no reviewer finished in this round"
    for review in reviews:
        if review.failed:
            yield f"{review.reviewer} failed: {review.failed}"
        yield from (
            f"an entry of {each.source} was not understood ({each.reason}): {each.raw[:200]}"
            for each in review.refused
        )
        if review.unopened:
            files = ", ".join(review.unopened)
            yield f"{review.reviewer} was neither shown nor seen to open: {files}"


def _render_summary(findings: Sequence[Finding], gaps: Sequence[str]) -> str:
    count = Counter(finding.severity for finding in findings)
    must = count[Severity.CRITICAL] + count[Severity.MAJOR]
    return "\n".join(
        (
            "## Summary",
            "",
            f"- **Total findings:** {len(findings)}",
            *(f"- **{name}:** {count[severity]}" for severity, name in LEVELS.items()),
            f"- **Recommendation:** {_write_advice(must, len(findings) - must, gaps)}",
        )
    )


def _write_advice(must: int, minor: int, gaps: Sequence[str]) -> str:
    if must:
        return f"fix the {pluralize(must, 'critical or important finding')}, and review again"
    if gaps:
        return "do not take this for a clean review: see what was not checked"
    if minor:
        return f"no must-fix findings; go on, and look at the {pluralize(minor, 'minor one')}"
    return "clean; go on"
