"""Ast-grep for real, with rules of the user's own that rewrite what they find."""

import asyncio

import pytest

from punchlist.adapters.analyzers.tool import CommandAnalyzer, Kit
from punchlist.adapters.analyzers.tools.ast_grep import AstGrep, parse
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Safety
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.patch import apply_splices

RULES = """
id: no-eval
language: python
severity: error
message: no eval of $X
note: it runs anything
rule: {pattern: eval($X)}
fix: literal_eval($X)
---
id: no-print
language: python
severity: hint
rule: {pattern: print($X)}
"""


def looked(tree, rules=RULES):
    return asyncio.run(CommandAnalyzer(AstGrep(rules), Kit()).analyze(tree, None))


@pytest.mark.parametrize("start", ["", "\ufeff", "# é😀\r\n"])
def test_a_rewrite_lands_on_the_right_characters(grown, start):
    text = start + 'x = "é😀"; eval(x)\r\nprint(1)\r\n'
    evaluated, printed = looked(grown({"src/a.py": text})).findings
    assert (evaluated.rule, evaluated.title, evaluated.detail) == (
        "no-eval",
        "no eval of x",
        "it runs anything",
    )
    assert (evaluated.severity, evaluated.fix.safety) == (Severity.MAJOR, Safety.UNSAFE)
    assert (evaluated.spot.column, evaluated.spot.end_column) == (11, 18)
    assert apply_splices(text, evaluated.fix.splices) == text.replace("eval(x)", "literal_eval(x)")
    assert (printed.severity, printed.fix, printed.title) == (Severity.MINOR, None, "no-print")


def test_without_rules_it_has_nothing_to_do(grown):
    assert "no rules" in looked(grown({"a.py": ""}), "").skipped


def test_a_broken_rule_is_a_failure(grown):
    assert "ast-grep: exit code 8" in looked(grown({"a.py": ""}), "id: [").failed


def test_the_trees_own_configuration_is_not_loaded(grown):
    tree = grown(
        {
            "sgconfig.yml": "ruleDirs: [rules]\n",
            "rules/r.yml": "not: a rule\n",
            "-a b.py": "eval(1)\n",
        }
    )
    analysis = looked(tree)
    assert (analysis.failed, [f.spot.path for f in analysis.findings]) == ("", ["-a b.py"])


@pytest.mark.parametrize("garbage", [b"", b"{}", b"Error: no"])
def test_garbage_is_a_failure_never_clean(grown, garbage):
    assert parse(garbage, Sources(grown({"a.py": ""}))).failed
