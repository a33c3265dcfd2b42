"""The Markdown findings document, and that punchlist reads it back."""

from pathlib import Path

import pytest

from made import made_run
from punchlist.adapters.documents.document import FindingsDocument
from punchlist.adapters.reports import markdown


class Files:
    """A tree of names only."""

    root, commit = Path("/nowhere"), "0" * 40

    def __init__(self, *names: str) -> None:
        self._names = names

    def text(self, path: str) -> str | None:
        return "x\n" * 200 if path in self._names else None

    def files(self) -> tuple[str, ...]:
        return self._names


@pytest.fixture
def read_back(tmp_path):
    async def read(run):
        file = tmp_path / "report.md"
        file.write_bytes(markdown.render(run))
        names = {item.lead.spot.path for item in run.items.values()}
        return await FindingsDocument.open(file).analyze(Files(*names), None)

    def sync(run):
        import asyncio

        return asyncio.run(read(run))

    return sync


def test_the_sections_are_those_of_a_findings_document(run):
    text = markdown.render(run).decode()
    order = [
        "# Code Review Findings - Round 2",
        "## Critical Issues (Must Fix)",
        "## Important Issues (Should Fix)",
        "## Minor Issues (Nice to Have)",
        "## What was not checked",
        "## Summary",
    ]
    assert [text.index(heading) for heading in order] == sorted(
        text.index(heading) for heading in order
    )
    assert "- **Critical:** 2\n- **Important:** 5\n- **Minor:** 6\n" in text
    assert "**Recommendation:** this run is not complete" in text


def test_an_item_has_file_problem_impact_fix_status_and_proof(run):
    text = markdown.render(run).decode()
    entry = text[
        text.index("1. **[correctness]:** A discount list is shared between calls") : text.index(
            "2. **[S602]:**"
        )
    ]
    for line in (
        "   - **File:** src/shop/cart.py:7",
        "   - **Impact:** customers get each other's discounts.",
        "   - **Fix:** Default to None and make the list inside.",
        "   - **Status:** fixed",
        "   - **Proof:** analyzer clean: no longer reported by ruff",
        "     +def total(items, discounts=None):",
    ):
        assert line in entry, line


def test_it_is_read_back_item_by_item(run, read_back):
    analysis = read_back(run)
    assert analysis.refused == ()
    items = sorted(run.items.values(), key=lambda item: (item.lead.title, item.number))
    found = sorted(analysis.findings, key=lambda finding: (finding.title, finding.spot.line))
    assert [(f.title, f.spot, f.severity, f.rule) for f in found] == [
        (i.lead.title, i.lead.spot, i.severity, i.lead.rule) for i in items
    ]


def test_what_is_read_back_has_the_words_of_the_finding_and_not_those_of_its_life(run, read_back):
    lead = next(
        finding for finding in read_back(run).findings if finding.title.startswith("A discount")
    )
    assert lead.suggestion == "Default to None and make the list inside."
    assert lead.impact == "customers get each other's discounts."
    assert "rechecked" not in lead.detail
    assert "its report calls it fixed" in lead.marks


def test_hostile_text_makes_no_second_item_and_no_tag(nasty, read_back):
    text = markdown.render(nasty).decode()
    assert "<script" not in text.replace("\\<script", "")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(read_back(nasty).findings) == 1


def test_an_empty_section_says_so(unverified):

    assert markdown.render(made_run(id="r")).decode().count("None.\n") == 3
