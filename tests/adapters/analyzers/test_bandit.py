"""Bandit for real: severity times confidence, places in code points, and files it cannot read."""

import asyncio
import json

import pytest

from punchlist.adapters.analyzers.tool import CommandAnalyzer, Kit
from punchlist.adapters.analyzers.tools.bandit import Bandit, parse
from punchlist.intake.raw_finding import RawFinding
from punchlist.intake.source_files import Sources, _open_source
from punchlist.model.finding.severity import Severity

SHELL = 'import subprocess\nz = "é😀"; subprocess.call("ls " + z, shell=True)\n'


def looked(tree, paths=None):
    return asyncio.run(CommandAnalyzer(Bandit(), Kit()).analyze(tree, paths))


def test_a_finding_is_ranked_by_severity_and_confidence_and_placed_in_code_points(grown):
    analysis = looked(grown({"src/a.py": SHELL}))
    assert (analysis.failed, analysis.looked_at) == ("", 1)
    by_rule = {f.rule: f for f in analysis.findings}
    shell = by_rule["B602"]
    assert (shell.severity, shell.severity_word, shell.category) == (
        Severity.CRITICAL,
        "high, confidence high",
        "security",
    )
    assert (shell.spot.path, shell.spot.line, shell.spot.column) == ("src/a.py", 2, 11)
    assert (
        SHELL.splitlines()[1][shell.spot.column - 1 : shell.spot.end_column - 1]
        == 'subprocess.call("ls " + z, shell=True)'
    )
    assert (shell.label, shell.url[:8]) == ("subprocess_popen_with_shell_equals_true", "https://")
    configured = grown({"src/a.py": SHELL, "bandit.yaml": "skips: []\n"})
    by_rule = {f.rule: f for f in looked(configured).findings}
    assert by_rule["B404"].severity is Severity.MINOR


def test_a_file_it_cannot_parse_is_refused_and_the_others_are_looked_at(grown):
    analysis = looked(grown({"a.py": "def (:\n", "b.py": SHELL}))
    assert {f.spot.path for f in analysis.findings} == {"b.py"}
    (refused,) = analysis.refused
    assert "a.py" in refused.raw
    assert "syntax error" in refused.reason


def test_many_files_are_shared_out_and_none_is_left_out(grown):
    names = sorted(f"m{number}.py" for number in range(45))
    tree = grown(dict.fromkeys(names, SHELL))
    analysis = asyncio.run(CommandAnalyzer(Bandit(), Kit(width=2)).analyze(tree, None))
    assert [f.spot.path for f in analysis.findings if f.rule == "B602"] == names
    assert (analysis.looked_at, len({f.id for f in analysis.findings})) == (
        45,
        len(analysis.findings),
    )


LOW = "import subprocess\nassert 1\ntoken = 'hunter2'\nsubprocess.run(['ls'])\n"


def test_only_medium_and_high_are_news_unless_the_project_configures_bandit(grown):
    assert looked(grown({"a.py": LOW})).findings == ()
    configured = grown({"a.py": LOW, "pyproject.toml": "[tool.bandit]\nskips = ['B404']\n"})
    rules = {f.rule for f in looked(configured).findings}
    assert rules == {"B101", "B105", "B603", "B607"}


@pytest.mark.parametrize("path", ["tests/a.py", "pkg/test_a.py", "conftest.py"])
def test_tests_are_looked_at_only_where_bandit_is_configured_or_enabled_by_name(grown, path):
    tree = grown({path: SHELL})
    assert looked(tree).skipped
    assert not Bandit().sees_file(path, tree)
    assert Bandit(asked=True).sees_file(path, tree)
    configured = grown({path: SHELL, ".bandit": "[bandit]\n"})
    assert "B602" in {f.rule for f in looked(configured).findings}


def test_a_bandit_of_unknown_make_is_not_known_by_its_files(tmp_path):
    (tmp_path / "bandit").write_text("#!/bin/sh\n")
    assert Bandit().identify_program([str(tmp_path / "bandit")]) == ""
    assert Bandit().identify_program(Kit().find_bundled("bandit"))


def test_odd_names_are_named_as_git_has_them(grown):
    raw = b"n\xffame.py".decode("utf-8", "surrogateescape")
    names = sorted(["-dash.py", "sp ace.py", "new\nline.py", "ünï.py", raw])
    analysis = looked(grown(dict.fromkeys(names, SHELL)))
    assert analysis.failed == ""
    assert sorted(f.spot.path for f in analysis.findings if f.rule == "B602") == names


def test_a_broken_configuration_is_a_failure(grown):
    assert looked(grown({"a.py": SHELL, "bandit.yaml": "a: [\n"})).failed


RESULT = {
    "filename": "a.py",
    "test_id": "B1",
    "issue_text": "t",
    "issue_severity": "LOW",
    "issue_confidence": "HIGH",
    "line_number": 1,
}


@pytest.mark.parametrize(
    "bad", [None, {}, {**RESULT, "line_number": "x"}, {**RESULT, "issue_severity": None}]
)
def test_one_bad_entry_never_costs_the_others(grown, bad):
    report = json.dumps({"results": [RESULT, bad, RESULT], "errors": [{"odd": 1}]}).encode()
    analysis = parse(report, Sources(grown({"a.py": "x\n"})))
    assert (len(analysis.findings), len(analysis.refused)) == (2, 2)


@pytest.mark.parametrize("garbage", [b"", b"[]", b"{}", b"Traceback (most recent call last):"])
def test_garbage_is_a_failure_never_clean(grown, garbage):
    assert parse(garbage, Sources(grown({"a.py": ""}))).failed


def test_an_unknown_severity_word_is_never_the_lowest(grown):
    report = json.dumps({"results": [{**RESULT, "issue_severity": "UNDEFINED"}]}).encode()
    assert parse(report, Sources(grown({"a.py": "x\n"}))).findings[0].severity is Severity.MAJOR


def test_a_file_is_parsed_once_for_the_reports_of_several_tools(grown):
    before = _open_source.cache_info().misses
    tree = grown({"shared.py": "def f():\n    return 1\n"})
    note = RawFinding(path="shared.py", title="t", line=2, severity=Severity.MINOR)
    found = [Sources(tree).make_finding(tool, 1, note).context for tool in ("ruff", "bandit")]
    assert [each.symbol for each in found] == ["f", "f"]
    assert _open_source.cache_info().misses == before + 1
    tree = grown({"shared.py": "def g():\n    return 1\n"})
    assert Sources(tree).make_finding("ruff", 1, note).context.symbol == "g"
