"""The findings document of one round: what its reviewers reported, in a form that people and
punchlist itself can read.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.events import Reviewed
from punchlist.model.ledger.round_history import Past
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import amount
from punchlist.views.safe_text import safe_text

FOLDER = "docs/progress"
_SECTIONS = {
    Severity.CRITICAL: "Critical Issues (Must Fix)",
    Severity.MAJOR: "Important Issues (Should Fix)",
    Severity.MINOR: "Minor Issues (Nice to Have)",
}
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_STORY = 80
_PLAIN_PATH = re.compile(r"[\w./+@-]*[\w/]")
_IMPACT = "Impact: "
_EMPHASIS = ("*", "_", ":", "[")


def findings_document(run: Run, round_: int, story: str = "") -> tuple[str, bytes]:
    """The file's name, below the run's folder, and its content. `story` is what the review was
    about; the run, if nobody says.
    """
    about = story or run.id
    name = f"{FOLDER}/story-{_fit(about)}-review-findings-round-{round_}.md"
    return name, "\n\n".join(_parts(run, round_, about)).encode("utf-8", "replace") + b"\n"


def _fit(story: str) -> str:
    """As part of a file's name."""
    return _UNFIT.sub("-", story)[:_LONGEST_STORY].strip(".-") or "unnamed"


def _parts(run: Run, round_: int, story: str) -> Iterator[str]:
    pasts = [
        past for past in run.history if past.round == round_ and isinstance(past.event, Reviewed)
    ]
    reviews = [past.event for past in pasts if isinstance(past.event, Reviewed)]
    findings = sorted((finding for review in reviews for finding in review.findings), key=_order)
    gaps = list(_gaps(reviews))
    yield _head(
        run, pasts, reviews, f"# Story {_line(story)} Code Review Findings - Round {round_}"
    )
    number = 1
    for severity, title in _SECTIONS.items():
        some = [finding for finding in findings if finding.severity is severity]
        yield "\n\n".join(
            [
                f"## {title}",
                *([_entry(n, each) for n, each in enumerate(some, number)] or ["None."]),
            ]
        )
        number += len(some)
    if gaps:
        yield "\n".join(["## What was not checked", "", *(f"- {_line(gap)}" for gap in gaps)])
    yield _summary(findings, gaps)


def _order(finding: Finding) -> tuple[int, str, int, str]:
    return (finding.severity.rank, finding.spot.path, finding.spot.line or 0, finding.id)


def _head(run: Run, pasts: Sequence[Past], reviews: Sequence[Reviewed], title: str) -> str:
    who = [
        f"{review.agent} as {review.reviewer}, fresh context" if review.agent else review.reviewer
        for review in reviews
    ]
    when = max((past.at for past in pasts), default=run.last_at)
    return "\n".join(
        (
            title,
            "",
            f"**Reviewer:** {_line('; '.join(who)) or 'nobody'}  ",
            f"**Date:** {datetime.fromtimestamp(when, UTC).strftime('%Y-%m-%d %H:%M')}  ",
            f"**Branch:** {_line(run.landing.branch)}",
        )
    )


def _entry(number: int, finding: Finding) -> str:
    category = (
        _line(finding.category or finding.rule or "General")
        .translate({ord("["): "(", ord("]"): ")"})[:80]
        .strip()
    )
    indent = " " * len(f"{number}. ")
    fields = (indent + line for line in _fields(finding))
    return "\n".join((f"{number}. **[{category or 'General'}]:** {_line(finding.title)}", *fields))


def _fields(finding: Finding) -> Iterator[str]:
    problem, impact = _problem(finding)
    title = _line(finding.title)
    if title.startswith(_EMPHASIS) or title.endswith("**"):
        yield f"- **Title:** {title}"
    yield from _place(finding)
    yield from _bullet("Problem", problem)
    yield from _bullet("Impact", impact)
    yield from _bullet("Fix", _fix(finding))
    yield from _bullet("Rule", _line(finding.rule))
    yield from _bullet("ID", _line(finding.label))
    yield from _bullet("URL", _line(finding.url))


def _place(finding: Finding) -> Iterator[str]:
    """The path with its line behind it; a path that could be misread so has its lines apart."""
    spot = finding.spot
    lines = str(spot.line or "") + (f":{spot.column}" if spot.line and spot.column else "")
    lines += (
        f"-{spot.end_line}" if spot.line and spot.end_line and spot.end_line != spot.line else ""
    )
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


def _problem(finding: Finding) -> tuple[str, str]:
    """The reviewer's words, and apart from them why it matters, where it was said apart."""
    before, marker, impact = finding.detail.rpartition(_IMPACT)
    apart = marker and impact.strip() and (not before.strip() or before.endswith("\n\n"))
    problem, why = (before, impact) if apart else (finding.detail, "")
    return problem if problem.strip() else _line(finding.title), why


def _fix(finding: Finding) -> str:
    if finding.suggestion or finding.fix is None:
        return finding.suggestion
    return f"{finding.fix.title or finding.source + ' proposes an edit'} ({finding.fix.safety})"


def _bullet(name: str, text: str) -> Iterator[str]:
    """A field; what goes beyond its first line is quoted, so that nothing in it can be taken for a
    field or a finding.
    """
    lines = safe_text(text).strip().splitlines()
    if lines:
        yield f"- **{name}:** {lines[0].strip()}"
    yield from (f"  > {line.rstrip()}".rstrip() for line in lines[1:])


def _line(text: str) -> str:
    """Return the text on one line; what is dangerous only at the start of a line is not there."""
    return " ".join(safe_text(" ".join(text.split())).split())


def _gaps(reviews: Sequence[Reviewed]) -> Iterator[str]:
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
            yield (
                f"{review.reviewer} was neither shown nor seen to open:"
                f" {', '.join(review.unopened)}"
            )


def _summary(findings: Sequence[Finding], gaps: Sequence[str]) -> str:
    count = {
        severity: sum(finding.severity is severity for finding in findings) for severity in Severity
    }
    must = count[Severity.CRITICAL] + count[Severity.MAJOR]
    return "\n".join(
        (
            "## Summary",
            "",
            f"- **Total findings:** {len(findings)}",
            f"- **Critical:** {count[Severity.CRITICAL]}",
            f"- **Important:** {count[Severity.MAJOR]}",
            f"- **Minor:** {count[Severity.MINOR]}",
            f"- **Recommendation:** {_advice(must, len(findings) - must, gaps)}",
        )
    )


def _advice(must: int, minor: int, gaps: Sequence[str]) -> str:
    if must:
        return f"fix the {amount(must, 'critical or important finding')}, and review again"
    if gaps:
        return "do not take this for a clean review: see what was not checked"
    return (
        f"no must-fix findings; go on, and look at the {amount(minor, 'minor one')}"
        if minor
        else "clean; go on"
    )
