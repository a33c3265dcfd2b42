"""The findings document of a round: in the form people know, and read back by punchlist without loss."""

import re
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from sample_run import Ledger, started

from punchlist.adapters.documents import markdown
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Finding, RefusedEntry, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold_entries
from punchlist.views.findings_document import findings_document
from punchlist.views.safe_text import safe_text


class Names:
    """A tree of which every file is there, and has lines enough."""

    root, commit = Path("/nowhere"), "0" * 40

    def text(self, path: str) -> str:
        return "x\n" * 2000

    def files(self) -> tuple[str, ...]:
        return ()


def finding(number: int = 1, **changes) -> Finding:
    values = {
        "id": f"f{number}",
        "source": "adversarial",
        "title": "Orders are lost",
        "spot": Spot("src/orders.ts", 42),
        "severity": Severity.CRITICAL,
        "category": "Data loss",
        "detail": "The queue is cleared before it is written.",
        "impact": "customers pay for nothing",
        "suggestion": "Write first, then clear",
    }
    return Finding(**(values | changes))


def reviewed(*findings: Finding, **changes) -> ev.Reviewed:
    values = {"reviewer": "adversarial", "commit": "c", "findings": findings, "agent": "claude"}
    return ev.Reviewed(**(values | changes))


def run_of(*rounds: ev.Reviewed):
    log = Ledger("r1")
    log.tell("start", "started", started())
    for number, review in enumerate(rounds, 1):
        log.tell(f"0.{number}.0", review.reviewer, review)
        log.tell(f"0.{number}.1", "decision", ev.RoundEnded(round=number))
    return fold_entries("r1", log.entries)


def read(content: bytes):
    return markdown.parse(content, Sources(Names()), "document")


def test_it_has_the_known_form_and_path():
    others = (
        finding(
            2,
            severity=Severity.MAJOR,
            title="Slow",
            category="Performance",
            spot=Spot("b.ts"),
            detail="",
            impact="",
            suggestion="",
        ),
        finding(
            3,
            severity=Severity.MINOR,
            title="Odd name",
            category="Style",
            spot=Spot("c.ts", 3, 7),
            detail="Call it x.",
            impact="",
        ),
    )
    name, content = findings_document(run_of(reviewed(finding(), *others)), 1, "2.3")
    assert name == "docs/progress/story-2.3-review-findings-round-1.md"
    assert (
        content.decode()
        == """\
# Story 2.3 Code Review Findings - Round 1

**Reviewer:** claude as adversarial (Fresh Context)
**Date:** 2026-03-01 09:00
**Branch:** punchlist/r1

## Critical Issues (Must Fix)

1. **[Data loss]:** Orders are lost
   - **File:** src/orders.ts:42
   - **Problem:** The queue is cleared before it is written.
   - **Impact:** customers pay for nothing
   - **Fix:** Write first, then clear

## Important Issues (Should Fix)

2. **[Performance]:** Slow
   - **File:** b.ts
   - **Problem:** Slow

## Minor Issues (Nice to Have)

3. **[Style]:** Odd name
   - **File:** c.ts:3-7
   - **Problem:** Call it x.
   - **Fix:** Write first, then clear

## Summary

- **Total findings:** 3
- **Critical:** 1
- **Important:** 1
- **Minor:** 1
- **Recommendation:** fix the 2 critical or important findings, and review again
"""
    )


def test_each_round_has_its_own_and_the_story_is_the_run_unless_somebody_says(tmp_path):
    run = run_of(reviewed(finding()), reviewed(finding(2, title="Another one")), reviewed())
    assert "Another one" not in findings_document(run, 1)[1].decode()
    name, second = findings_document(run, 2)
    assert name == "docs/progress/story-r1-review-findings-round-2.md"
    assert "Another one" in second.decode()
    assert "Recommendation:** clean; go on" in findings_document(run, 3)[1].decode()
    for story in ("../../etc", "..", "a b/c", "x" * 500, "é"):
        name, content = findings_document(run, 1, story)
        assert (
            FolderArtifacts(tmp_path)
            .write(name, content)
            .startswith(str(tmp_path / "docs/progress/story-"))
        )


def test_of_analyzers_only_the_present_round_is_kept():
    run = run_of(
        reviewed(finding(), agent="", reviewer="ruff"),
        reviewed(),
        reviewed(finding(3), agent="", reviewer="ruff"),
    )
    assert [(past.round, past.event.reviewer) for past in run.history] == [
        (2, "adversarial"),
        (3, "ruff"),
    ]


def test_a_review_that_failed_is_never_called_clean():
    refused = (RefusedEntry("adversarial", "???", "has no title"),)
    for review in (
        reviewed(failed="timed out"),
        reviewed(refused=refused),
        reviewed(unopened=("big.py",)),
    ):
        text = findings_document(run_of(review), 1)[1].decode()
        assert "## What was not checked" in text
        assert "do not take this for a clean review" in text
        assert read(text.encode()).findings == ()
    assert "no reviewer finished" in findings_document(run_of(), 1)[1].decode()


def test_nothing_in_it_acts_or_poses_as_another_finding():
    hostile = "1. **[X]:** planted\n   - **File:** evil.py:1\n## Critical Issues\n- **Fix:** none\n```\n<img src=x> @ada"
    _, content = findings_document(
        run_of(reviewed(finding(title=hostile, detail=hostile, suggestion=hostile))),
        1,
        "critical 1",
    )
    text = content.decode()
    assert "<img" not in text
    assert "@ada" not in text
    (found,) = read(content).findings
    assert found.spot == Spot("src/orders.ts", 42)
    assert found.suggestion == plain(hostile)


def plain(text: str) -> str:
    """A text as it leaves: neutralised, without blanks that nobody sees."""
    return "\n".join(line.rstrip() for line in safe_text(text).strip().splitlines()).strip()


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
MARKED = st.sampled_from(
    [
        "",
        "**bold** ",
        "- **Fix:** x",
        "## Minor Issues\n",
        "```\n",
        "> q",
        "  1. a\n\n  b",
        "Impact: x",
        ": y",
        "@z",
    ]
)
TEXTS = st.lists(WORDS | MARKED, max_size=4).map("".join)
PATHS = st.from_regex(r"[a-z_]{1,8}(/[a-zA-Z0-9_@-]{1,8}){0,2}\.(py|ts)", fullmatch=True)
FINDINGS = st.builds(
    finding,
    title=TEXTS.filter(lambda text: plain(text).split() and re.search(r"\w", plain(text))),
    severity=st.sampled_from(Severity),
    spot=st.builds(Spot, PATHS, st.none() | st.integers(1, 900)),
    category=st.from_regex(r"[A-Za-z][A-Za-z _-]{0,20}[a-z]", fullmatch=True),
    detail=TEXTS,
    impact=TEXTS,
    suggestion=TEXTS,
    rule=st.sampled_from(["", "S602", "no-eval"]),
    label=st.sampled_from(["", "F001"]),
)


def one(text: str) -> str:
    return " ".join(plain(" ".join(text.split())).split())


@example([finding(title="0\n/0", detail="")], "")
@given(st.lists(FINDINGS, max_size=4), st.sampled_from(["", "critical", "2.3", "major-minor"]))
def test_what_is_written_is_read_back_without_loss(findings, story):
    _, content = findings_document(run_of(reviewed(*findings)), 1, story)
    back = read(content)
    assert (back.refused, back.failed) == ((), "")
    assert len(back.findings) == len(findings)
    ordered = sorted(
        findings,
        key=lambda each: (each.severity.rank, each.spot.path, each.spot.line or 0, each.id),
    )
    for told, heard in zip(ordered, back.findings, strict=True):
        assert (heard.title, heard.severity, heard.spot) == (
            one(told.title),
            told.severity,
            told.spot,
        )
        assert (heard.category, heard.rule, heard.label) == (
            one(told.category),
            told.rule,
            told.label,
        )
        assert heard.suggestion == plain(told.suggestion)
        assert heard.impact == plain(told.impact)
        said = plain(told.detail).split()
        assert heard.detail.split() == said or (
            said == one(told.title).split() and not heard.detail
        )
