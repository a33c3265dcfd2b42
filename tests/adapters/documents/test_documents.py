"""Findings given as files: every format, told by its content; nothing in them is lost."""

import asyncio
import json
import time

import msgspec
import pytest
from folder_tree import CODE

from punchlist.adapters.documents.document import FindingsDocument
from punchlist.errors import UsageError
from punchlist.model.finding.finding import Splice, Spot
from punchlist.model.finding.reading_limits import ReadingLimits, use_reading_limits
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.patch import apply_splices


@pytest.fixture
def reading(tmp_path, tree):
    def analysis(content, name="given.json"):
        path = tmp_path / name
        path.write_bytes(
            content
            if isinstance(content, bytes)
            else content.encode()
            if isinstance(content, str)
            else json.dumps(content).encode()
        )
        return asyncio.run(FindingsDocument.open(path).analyze(tree, ["other.py"]))

    return analysis


def said(analysis):
    return [
        (f.title, f.spot.path, f.spot.line, f.spot.end_line, f.severity, f.category)
        for f in analysis.findings
    ]


def test_groups_of_findings_with_line_ranges_as_text(reading):
    analysis = reading(
        {
            "groups": [
                {
                    "description": "batch 1",
                    "findings": [
                        {
                            "id": "F001",
                            "file": "src/a.py",
                            "line": "4-6",
                            "issue": "Uses raw SQL",
                            "severity": "major",
                            "category": "library_standards",
                            "fix_hint": "Use the query builder",
                        }
                    ],
                },
                {
                    "findings": [
                        {
                            "id": "F001",
                            "file": "src/a.py",
                            "line": "1",
                            "issue": "Unused import",
                            "severity": "minor",
                        }
                    ]
                },
            ]
        }
    )
    assert said(analysis) == [
        ("Uses raw SQL", "src/a.py", 4, 6, Severity.MAJOR, "library_standards"),
        ("Unused import", "src/a.py", 1, None, Severity.MINOR, ""),
    ]
    first = analysis.findings[0]
    assert (first.label, first.suggestion, first.source) == (
        "F001",
        "Use the query builder",
        "file:given.json",
    )
    assert first.context.symbol
    assert first.id != analysis.findings[1].id


def test_findings_with_file_path_and_line_start(reading):
    analysis = reading(
        {
            "findings": [
                {
                    "severity": "critical",
                    "category": "security",
                    "title": "SQL injection in user search",
                    "description": "The name is put into the query.",
                    "file_path": "src/a.py",
                    "line_start": 5,
                    "line_end": 6,
                    "suggested_fix": "Use parameters",
                }
            ],
            "summary": "Found 1 issue",
        }
    )
    assert said(analysis) == [
        ("SQL injection in user search", "src/a.py", 5, 6, Severity.CRITICAL, "security")
    ]
    assert analysis.findings[0].detail == "The name is put into the query."
    assert not analysis.failed


def test_one_bad_finding_never_costs_the_others(reading):
    analysis = reading(
        [
            None,
            {"file": "src/a.py", "line": 3},
            {"title": "as text", "file": "src/a.py", "line": "42", "severity": "P0"},
            {"title": "line 0", "file": "src/a.py", "line": 0, "severity": "nit"},
            {"title": "odd word", "file": "src/a.py", "severity": "Catastrophic!"},
            {"title": "outside", "file": "../../etc/passwd", "severity": "minor"},
            {"title": "a folder", "file": "src/", "severity": "minor"},
            {"title": "no file", "severity": "minor"},
            {
                "title": ["a", "list"],
                "file": {"path": 3},
                "line": {"x": []},
                "severity": {"deep": None},
            },
            "just text",
            {"title": "x" * 1000, "file": "src/a.py:5-6"},
        ]
    )
    by_title = {f.title: f for f in analysis.findings}
    assert len(analysis.findings) == 8
    assert [refused.reason.split(",")[0] for refused in analysis.refused] == [
        "is null",
        "has no title and no description",
        "is a text",
    ]
    assert by_title["as text"].spot.line == 42
    assert by_title["as text"].severity is Severity.CRITICAL
    assert by_title["line 0"].spot == Spot("src/a.py")
    assert "line 0 is no line" in by_title["line 0"].marks[0]
    assert (by_title["odd word"].severity, by_title["odd word"].severity_word) == (
        Severity.MAJOR,
        "Catastrophic!",
    )
    assert "not known" in by_title["odd word"].marks[0]
    assert all(by_title[title].marks for title in ("outside", "a folder", "no file"))
    long = analysis.findings[-1]
    assert len(long.title) == 200
    assert long.detail == "x" * 1000
    assert (long.spot.path, long.spot.line, long.spot.end_line) == ("src/a.py", 5, 6)


def test_our_own_report_is_read_back(reading):
    finding = {
        "id": "0/ruff:1",
        "source": "ruff",
        "title": "`os` imported but unused",
        "spot": {"path": "src/a.py", "line": 1, "end_line": 1, "column": 8, "end_column": 10},
        "severity": "minor",
        "rule": "F401",
    }
    analysis = reading(
        {
            "run": "r1",
            "items": [
                {"number": 1, "fingerprint": "f", "findings": [finding, finding], "status": "open"}
            ],
        }
    )
    assert len(analysis.findings) == 2
    assert analysis.findings[0].spot == Spot("src/a.py", 1, 1, 8, 10)
    assert analysis.findings[0].rule == "F401"
    assert analysis.findings[0].marks == ()
    fixed = reading(
        {
            "items": [{"number": 1, "findings": [finding, None], "status": "fixed"}],
            "pending": [finding],
        }
    )
    assert [f.marks for f in fixed.findings] == [("its report calls it fixed",), ()]
    assert len(fixed.refused) == 1


def test_a_model_finding_written_as_json_reads_as_the_same_finding(reading):
    first = reading(
        [
            {
                "title": "t",
                "file": "src/a.py",
                "line": 5,
                "severity": "minor",
                "rule": "R1",
                "suggestion": "s",
            }
        ]
    ).findings[0]
    again = reading([json.loads(msgspec.json.encode(first))]).findings[0]
    assert (again.title, again.spot, again.severity, again.rule, again.suggestion) == (
        first.title,
        first.spot,
        first.severity,
        first.rule,
        first.suggestion,
    )


def test_json_lines_of_findings_one_of_them_broken(reading):
    lines = '{"title": "one", "file": "src/a.py"}\n{"title": "two", "file"\n\n{"title": "three", "file": "src/a.py"}\n'
    analysis = reading(lines)
    assert [f.title for f in analysis.findings] == ["one", "three"]
    assert len(analysis.refused) == 1


RDJSON = {
    "message": "use a parameter",
    "location": {
        "path": "src/a.py",
        "range": {"start": {"line": 5, "column": 18}, "end": {"line": 5, "column": 22}},
    },
    "severity": "WARNING",
    "code": {"value": "SQL1", "url": "https://example.org/SQL1"},
    "suggestions": [
        {
            "range": {"start": {"line": 5, "column": 20}, "end": {"line": 5, "column": 24}},
            "text": "escaped(name)",
        }
    ],
}


@pytest.mark.parametrize("lines", [True, False])
def test_reviewdog_counts_columns_in_bytes(reading, lines):
    bad = {"location": {"path": "src/a.py"}}
    content = (
        json.dumps(RDJSON) + "\n" + json.dumps(bad)
        if lines
        else {"source": {"name": "lint"}, "diagnostics": [RDJSON, bad]}
    )
    analysis = reading(content)
    (finding,) = analysis.findings
    assert (finding.severity, finding.rule, finding.url) == (
        Severity.MAJOR,
        "SQL1",
        "https://example.org/SQL1",
    )
    assert finding.spot == Spot("src/a.py", 5, 5, 17, 21), "é is two bytes and one character"
    assert "+ escaped(name)\n" in apply_splices(CODE, finding.fix.splices)
    assert [refused.reason for refused in analysis.refused] == ["has no message"]


def test_a_suggestion_for_whole_lines_replaces_them(reading):
    suggestion = {"range": {"start": {"line": 1}, "end": {"line": 1}}, "text": "import sys"}
    (finding,) = reading({"diagnostics": [{**RDJSON, "suggestions": [suggestion]}]}).findings
    assert apply_splices(CODE, finding.fix.splices) == CODE.replace("import os", "import sys")


MARKDOWN = """# Story 1.2 Code Review Findings - Round 1

**Reviewer:** Agent (Fresh Context)
**Date:** 2026-01-02 10:00

## Critical Issues (Must Fix)

1. **[Security]:** SQL injection in search
   - **File:** src/a.py:5
   - **Problem:** The name goes into the query
     as it is.
   - **Impact:** Anyone can read the database
   - **Fix:** Use parameters

## Important Issues (Should Fix)

None.

## Minor Issues (Nice to Have)

2. **[Style]:** Unused import
   - **File:** `src/a.py` (line 1)
3. **Naming:** a name says nothing
   - **File:** [src/a.py](src/a.py#L4-L6)

## Summary

- **Total findings:** 3
- **Critical:** 1
- **Recommendation:** fix
"""


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t,
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("   - ", "   * "),
        lambda t: "\ufeff" + t,
    ],
)
def test_the_markdown_findings_document(reading, change):
    analysis = reading(change(MARKDOWN), "round-1.md")
    assert said(analysis) == [
        ("SQL injection in search", "src/a.py", 5, None, Severity.CRITICAL, "Security"),
        ("Unused import", "src/a.py", 1, None, Severity.MINOR, "Style"),
        ("a name says nothing", "src/a.py", 4, 6, Severity.MINOR, "Naming"),
    ]
    assert analysis.refused == ()
    first = analysis.findings[0]
    assert "as it is." in first.detail
    assert first.impact == "Anyone can read the database"
    assert first.suggestion == "Use parameters"


def test_a_liberal_markdown_document_loses_nothing(reading):
    text = """## High priority
- [Security] No check of the token
  File: src/a.py, lines 4-6
  ```python
  # not a heading
  ```
* **Just a title**

Something the reviewer wrote between the items' sections.

## Major

A paragraph that may be a finding.

### 1. Heading as an item
**File:** src/a.py:2
**Severity:** critical

## Notes
- not a finding
"""
    analysis = reading(text, "x.md")
    assert said(analysis) == [
        ("No check of the token", "src/a.py", 4, 6, Severity.CRITICAL, "Security"),
        ("Just a title", "", None, None, Severity.CRITICAL, ""),
        ("Heading as an item", "src/a.py", 2, None, Severity.CRITICAL, ""),
    ]
    assert "# not a heading" in analysis.findings[0].detail
    assert "between the items" in analysis.findings[1].detail
    assert [refused.raw for refused in analysis.refused] == ["A paragraph that may be a finding."]


def test_a_markdown_document_without_findings_has_none(reading):
    assert (
        reading(
            "# Findings\n\n## Critical\n\nNo critical issues found.\n\n## Minor\n\n- None\n", "x.md"
        ).refused
        == ()
    )


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"{}", b'{"a": 1}', b"\x00\xff\xfe\x00", b"# Title\n\ntext", b"3"]
)
def test_an_unknown_format_is_refused_with_the_names_of_the_known(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.json is of no format") as told:
        FindingsDocument.open(tmp_path / "x.json")
    assert "SARIF 2.1.0" in told.value.hint
    assert "Markdown" in told.value.hint


def test_a_missing_an_unreadable_and_a_huge_file_are_told(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        FindingsDocument.open(tmp_path / "x")
    with pytest.raises(UsageError, match="directory"):
        FindingsDocument.open(tmp_path)
    (tmp_path / "big").write_bytes(b"[" * 2_000_000)
    with pytest.raises(UsageError, match="nested too deeply"):
        FindingsDocument.open(tmp_path / "big")
    use_reading_limits(ReadingLimits(report_size=1))
    try:
        with pytest.raises(UsageError, match="at most 1 MB"):
            FindingsDocument.open(tmp_path / "big")
    finally:
        use_reading_limits(ReadingLimits())


def test_content_tells_the_format_and_not_the_name(reading):
    assert said(reading(MARKDOWN, "x.sarif"))[0][0] == "SQL injection in search"
    assert said(reading([{"title": "t", "file": "src/a.py"}], "x.md"))[0][0] == "t"
    utf16 = json.dumps([{"title": "t", "file": "src/a.py"}]).encode("utf-16")
    assert said(reading(utf16))[0][0] == "t"
    half = b'[{"title": "caf\\ud83d", "file": "src/a.py"}]'
    assert said(reading(half))[0][0] == "caf\ufffd"
    latin = b'[{"title": "caf\xe9", "file": "src/a.py"}]'
    assert said(reading(latin))[0][0] == "caf\ufffd"


@pytest.mark.serial
def test_a_malformed_sarif_of_a_hundred_megabytes_is_refused_in_a_few_seconds(tmp_path):
    result = b'{"ruleId":"X","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"}}}]},'
    path = tmp_path / "big.sarif"
    path.write_bytes(
        b'{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":['
        + result * (100_000_000 // len(result))
    )
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"big\.sarif is 95\.4 MB; at most 64 MB are read"):
        FindingsDocument.open(path)
    assert time.monotonic() - began < 5


def test_splices_are_against_the_tree(reading):
    (finding,) = reading({"diagnostics": [RDJSON]}).findings
    start = CODE.index("name\n    return")
    assert finding.fix.splices == (Splice("src/a.py", start, start + 4, "escaped(name)"),)
