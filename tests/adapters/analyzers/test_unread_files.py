"""What a tool could not look at is told by name, so that nobody takes its silence there for a clean answer."""

import asyncio
import json

import pytest

from punchlist.adapters.analyzers.entries import join_analyses
from punchlist.adapters.analyzers.formats import sarif
from punchlist.adapters.analyzers.registry import build_analyzers
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.analyzers.tool import CommandAnalyzer, Kit
from punchlist.adapters.analyzers.tools import biome, eslint, semgrep, shellcheck
from punchlist.adapters.analyzers.tools.ast_grep import AstGrep
from punchlist.adapters.analyzers.tools.bandit import Bandit
from punchlist.adapters.analyzers.tools.ruff import Ruff, RuffRules
from punchlist.intake.source_files import Sources
from punchlist.ports.analyzer import Analysis

LATIN = b'x = "\xff"\n'
RULE = "id: a\nlanguage: python\nrule: {pattern: eval($X)}\n"


def looked(tool, tree, paths=None):
    return asyncio.run(CommandAnalyzer(tool, Kit()).analyze(tree, paths))


@pytest.mark.parametrize(
    ("tool", "content"),
    [
        (Ruff(RuffRules(select=("F",))), LATIN),
        (Ruff(RuffRules(select=("ALL",))), LATIN),
        (Ruff(RuffRules(select=("F",))), "def f(:\n"),
        (Bandit(), "def f(:\n"),
        (Bandit(), "# coding: utf-9\nx = eval(y)\n"),
    ],
)
def test_a_file_that_is_no_code_for_a_tool_is_named(grown, tool, content):
    tree = grown({"b: c/a.py": content, "good.py": "import os\n"})
    assert looked(tool, tree).unread == ("b: c/a.py",)
    assert looked(tool, tree, ["good.py"]).unread == ()


def test_a_file_that_is_gone_for_ast_grep_is_named(grown):
    tree = grown({"a: b.py": "eval(x)\n", "c.py": "eval(x)\n"})
    (tree.root / "a: b.py").unlink()
    (tree.root / "a: b.py").symlink_to("nowhere")
    analysis = looked(AstGrep(RULE), tree)
    assert (analysis.unread, len(analysis.findings)) == (("a: b.py",), 1)


@pytest.mark.parametrize(
    ("error", "unread"),
    [
        ({"path": "b.py", "message": "timeout"}, ("b.py",)),
        ({"spans": [{"file": "b.py"}]}, ("b.py",)),
        ({"path": "rules.yml"}, ("",)),
        ({"message": "out of memory"}, ("",)),
        (7, ("",)),
    ],
)
def test_what_semgrep_could_not_scan_is_a_file_or_nobody_knows(grown, error, unread):
    report = json.dumps({"results": [], "errors": [error]}).encode()
    assert semgrep.parse(report, Sources(grown({"b.py": ""}))).unread == unread


def test_a_script_that_does_not_parse_hides_what_other_rules_would_say(grown):
    sources = Sources(grown({"a.js": "let\n", "a.sh": "if\n"}))
    fatal = {
        "ruleId": None,
        "fatal": True,
        "severity": 2,
        "message": "Parsing error",
        "line": 1,
        "column": 1,
    }
    assert eslint.parse(
        json.dumps([{"filePath": "a.js", "messages": [fatal]}]).encode(), sources
    ).unread == ("a.js",)
    place = {"path": "a.js", "range": {"start": {"line": 1, "column": 1}}}
    parse = {
        "message": "expected",
        "location": place,
        "severity": "ERROR",
        "code": {"value": "parse"},
    }
    assert biome.parse(json.dumps({"diagnostics": [parse]}).encode(), sources).unread == ("a.js",)
    stopped = {
        "file": "a.sh",
        "line": 1,
        "column": 1,
        "level": "error",
        "code": 1072,
        "message": "m",
    }
    assert shellcheck.parse(json.dumps({"comments": [stopped]}).encode(), sources).unread == (
        "a.sh",
    )


def test_an_error_that_a_sarif_log_tells_of_is_about_its_file_or_about_any(grown):
    sources = Sources(grown({"a.py": ""}))

    def unread(**note):
        call = {
            "executionSuccessful": True,
            "toolExecutionNotifications": [{"message": {"text": "m"}, **note}],
        }
        runs = [{"tool": {"driver": {"name": "t"}}, "results": [], "invocations": [call]}]
        return sarif.parse(json.dumps({"version": "2.1.0", "runs": runs}).encode(), sources).unread

    where = [{"physicalLocation": {"artifactLocation": {"uri": "a.py"}}}]
    assert unread(level="error", locations=where) == ("a.py",)
    assert unread(level="error") == ("",)
    assert unread(level="warning") == unread() == ()


def test_an_entry_that_cannot_be_understood_may_be_about_anything(grown):
    report = json.dumps({"results": [{"odd": 1}], "errors": []}).encode()
    assert semgrep.parse(report, Sources(grown({"b.py": ""}))).unread == ("",)


def test_what_one_portion_could_not_read_the_whole_could_not():
    parts = [Analysis(unread=("b",)), Analysis(unread=("a", "b")), Analysis()]
    assert join_analyses("t", parts).unread == ("a", "b")


def test_a_run_has_the_analyzers_it_began_with_whatever_is_installed_now(grown):
    began_with = ("ruff", "shellcheck", "retired")
    kit = Kit(find=lambda _name: None)
    tools = build_analyzers(AnalyzerSettings(), kit, began_with)
    assert tuple(tools) == began_with
    tree = grown({"a.sh": "echo $1\n"})
    said = {name: asyncio.run(tools[name].analyze(tree, None)) for name in began_with}
    assert said["ruff"].skipped
    assert "shellcheck is not installed" in said["shellcheck"].failed
    assert "retired is not known" in said["retired"].failed


def test_an_analyzer_that_was_found_by_itself_is_not_asked_for_by_name_when_a_run_goes_on(grown):
    """A type checker found here looks only at projects that configure it, also after a pause."""
    tools = build_analyzers(AnalyzerSettings(), Kit(), ("mypy",))
    assert (
        "no settings for mypy"
        in asyncio.run(tools["mypy"].analyze(grown({"a.py": "x = 1\n"}), None)).skipped
    )
