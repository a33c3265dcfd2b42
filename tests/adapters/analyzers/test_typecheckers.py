"""Type checkers: mypy for real, pyright and ty on reports of the shape they write."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from punchlist.adapters.analyzers.tool import CommandAnalyzer, Kit
from punchlist.adapters.analyzers.tools import pyright, ty
from punchlist.adapters.analyzers.tools.mypy import Mypy, parse
from punchlist.intake.source_files import Sources
from punchlist.model.finding.severity import Severity

WRONG = "def f(a: str) -> int:\n    return a\n"
mypy_here = pytest.mark.skipif(
    not (Path(sys.executable).parent / "mypy").is_file(), reason="mypy is a development dependency"
)


def looked(tree, paths=None, **options):
    return asyncio.run(CommandAnalyzer(Mypy(**options), Kit()).analyze(tree, paths))


@mypy_here
def test_mypy_looks_at_the_whole_project_and_answers_for_the_files_asked_for(grown):
    tree = grown({"mypy.ini": "[mypy]\n", "a.py": WRONG, "b.py": "from a import f\nf(1)\n"})
    analysis = looked(tree)
    assert analysis.failed == ""
    assert sorted((f.rule, f.spot.path, f.spot.line, f.severity) for f in analysis.findings) == [
        ("arg-type", "b.py", 2, Severity.MAJOR),
        ("return-value", "a.py", 2, Severity.MAJOR),
    ]
    (only,) = looked(tree, ["b.py"]).findings
    assert (only.rule, only.category) == ("arg-type", "typing")
    returned = next(f for f in analysis.findings if f.rule == "return-value")
    assert WRONG.splitlines()[1][returned.spot.column - 1 : returned.spot.end_column - 1] == "a"


@mypy_here
def test_mypy_is_not_run_unasked_in_a_project_that_does_not_use_it(grown):
    tree = grown({"a.py": WRONG})
    assert "no settings for mypy" in looked(tree).skipped
    assert [f.rule for f in looked(tree, asked=True).findings] == ["return-value"]


@mypy_here
def test_what_blocks_mypy_is_a_failure_and_its_words_are_kept(grown):
    analysis = looked(grown({"mypy.ini": "[mypy]\nfiles = .\n", "a.py": "def (:\n", "b.py": WRONG}))
    assert "mypy: exit code 2" in analysis.failed
    assert analysis.findings[0].severity is Severity.CRITICAL


def test_lines_of_mypy_that_are_no_report_are_no_clean_answer(grown):
    sources = Sources(grown({"a.py": WRONG}))
    assert parse(b"a.py:1: error: as older versions write it\n", sources).failed
    assert parse(b"", sources).failed == ""


def test_pyright_counts_from_zero_in_utf_16(grown):
    text = '\ufeffx: int = "😀"; y: int = "a"\n'
    entry = {
        "file": "a.py",
        "severity": "error",
        "message": 'Type "str" is not assignable\n  to "int"',
        "range": {"start": {"line": 0, "character": 25}, "end": {"line": 0, "character": 28}},
        "rule": "reportAssignmentType",
    }
    broken = {
        "file": "a.py",
        "severity": "error",
        "message": "Expected expression",
        "range": entry["range"],
    }
    report = {"generalDiagnostics": [entry, broken, {"severity": 1}]}
    analysis = pyright.parse(json.dumps(report).encode(), Sources(grown({"a.py": text})))
    finding, syntax = analysis.findings
    assert (finding.spot.line, finding.title, finding.rule) == (
        1,
        'Type "str" is not assignable',
        "reportAssignmentType",
    )
    assert text[1:][finding.spot.column - 1 : finding.spot.end_column - 1] == '"a"'
    assert (finding.severity, syntax.severity, syntax.rule) == (
        Severity.MAJOR,
        Severity.CRITICAL,
        "syntax",
    )
    assert len(analysis.refused) == 1


def test_ty_is_read_from_its_gitlab_report(grown):
    place = {
        "path": "a.py",
        "positions": {"begin": {"line": 2, "column": 12}, "end": {"line": 2, "column": 13}},
    }
    entry = {
        "check_name": "invalid-return-type",
        "description": "invalid-return-type: wrong",
        "severity": "major",
        "location": place,
    }
    (finding,) = ty.parse(json.dumps([entry]).encode(), Sources(grown({"a.py": WRONG}))).findings
    assert (finding.rule, finding.title, finding.severity, finding.spot.column) == (
        "invalid-return-type",
        "wrong",
        Severity.MAJOR,
        12,
    )


@pytest.mark.parametrize("garbage", [b"", b"oops", b"7"])
@pytest.mark.parametrize("read", [pyright.parse, ty.parse])
def test_garbage_is_a_failure_never_clean(grown, read, garbage):
    assert read(garbage, Sources(grown({"a.py": ""}))).failed
