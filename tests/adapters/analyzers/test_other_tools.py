"""Eslint, biome, shellcheck and semgrep, on reports of the shape they were seen to write."""

import json

import pytest

from punchlist.adapters.analyzers.tools import biome, eslint, semgrep, shellcheck
from punchlist.adapters.analyzers.tools.semgrep import UNBOUND, Semgrep
from punchlist.adapters.analyzers.tools.shellcheck import Shellcheck
from punchlist.errors import SettingsError
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Safety
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.patch import apply_splices

SCRIPT = '\ufeffconst z = "é😀"; let y = "😀"; if (y == z) { z; }\nif (!!z) { y; }\n'


def eslint_report(*messages):
    return json.dumps([{"filePath": "a.js", "messages": list(messages), "errorCount": 1}]).encode()


def test_eslints_ranges_are_utf_16_without_the_byte_order_mark(grown):
    fix = {"range": [17, 30], "text": 'const y = "😀";'}
    suggestion = {
        "messageId": "replace",
        "fix": {"range": [37, 39], "text": "==="},
        "desc": "Use '==='.",
    }
    report = eslint_report(
        {
            "ruleId": "prefer-const",
            "severity": 2,
            "message": "m",
            "line": 1,
            "column": 22,
            "endLine": 1,
            "endColumn": 23,
            "fix": fix,
        },
        {
            "ruleId": "eqeqeq",
            "severity": 1,
            "message": "m",
            "line": 1,
            "column": 38,
            "endLine": 1,
            "endColumn": 40,
            "suggestions": [suggestion],
        },
        {
            "ruleId": None,
            "fatal": True,
            "severity": 2,
            "message": "Parsing error: x",
            "line": 1,
            "column": 1,
        },
        {
            "ruleId": None,
            "fatal": False,
            "severity": 1,
            "message": "File ignored because of a matching ignore pattern.",
        },
        {"ruleId": 7},
    )
    analysis = eslint.parse(report, Sources(grown({"a.js": SCRIPT})))
    fatal, const, equal = analysis.findings
    assert SCRIPT[const.spot.column] == "y", "the mark is no column"
    assert apply_splices(SCRIPT, const.fix.splices) == SCRIPT.replace("let y", "const y")
    assert apply_splices(SCRIPT, equal.fix.splices) == SCRIPT.replace("==", "===")
    assert (const.fix.safety, equal.fix.safety, equal.suggestion) == (
        Safety.SAFE,
        Safety.DISPLAY,
        "Use '==='.",
    )
    assert [f.severity for f in analysis.findings] == [
        Severity.CRITICAL,
        Severity.MAJOR,
        Severity.MINOR,
    ]
    assert const.url.endswith("/prefer-const")
    assert fatal.rule == "syntax"
    assert len(analysis.refused) == 1


def test_a_file_eslint_reports_oddly_costs_only_itself(grown):
    report = b'[{"filePath": 3}, {"filePath": "a.js", "messages": [{"message": "m", "ruleId": "r", "line": 1, "column": 1}]}]'
    analysis = eslint.parse(report, Sources(grown({"a.js": SCRIPT})))
    assert (len(analysis.findings), len(analysis.refused)) == (1, 1)


def biome_entry(rule, severity, start, end, suggestions=()):
    span = {"start": {"line": 1, "column": start}, "end": {"line": 1, "column": end}}
    return {
        "code": {"value": rule, "url": "https://biomejs.dev/x"},
        "location": {"path": "a.js", "range": span},
        "message": "m",
        "severity": severity,
        "suggestions": list(suggestions),
    }


def test_biomes_columns_are_characters_with_the_byte_order_mark(grown):
    part = {
        "range": {"start": {"line": 1, "column": 18}, "end": {"line": 1, "column": 21}},
        "text": "const",
    }
    entries = [
        biome_entry("lint/style/useConst", "WARNING", 18, 21, [part]),
        biome_entry("parse", "ERROR", 1, 2),
    ]
    report = json.dumps({"source": {"name": "Biome"}, "diagnostics": entries}).encode()
    const, unparsed = biome.parse(report, Sources(grown({"a.js": SCRIPT}))).findings
    assert SCRIPT[const.spot.column : const.spot.end_column] == "let"
    assert apply_splices(SCRIPT, const.fix.splices) == SCRIPT.replace("let", "const")
    assert (const.severity, const.category, const.fix.safety) == (
        Severity.MINOR,
        "style",
        Safety.UNSAFE,
    )
    assert unparsed.severity is Severity.CRITICAL


SHELL = '#!/bin/sh\necho "é😀" `ls`\n'


def test_all_replacements_of_a_shellcheck_fix_belong_together(grown):
    def part(column, text):
        return {
            "line": 2,
            "endLine": 2,
            "column": column,
            "endColumn": column + 1,
            "replacement": text,
            "insertionPoint": "afterEnd",
        }

    comment = {
        "file": "a.sh",
        "line": 2,
        "endLine": 2,
        "column": 11,
        "endColumn": 15,
        "level": "style",
        "code": 2006,
        "message": "m",
    }
    broken = {
        "file": "a.sh",
        "line": 1,
        "column": 1,
        "level": "error",
        "code": 1072,
        "message": "m",
        "fix": None,
    }
    fixed = {**comment, "fix": {"replacements": [part(11, "$("), part(14, ")")]}}
    report = json.dumps({"comments": [fixed, broken, {"file": "a.sh"}]}).encode()
    analysis = shellcheck.parse(report, Sources(grown({"a.sh": SHELL})))
    style, syntax = analysis.findings
    assert apply_splices(SHELL, style.fix.splices) == SHELL.replace("`ls`", "$(ls)")
    assert (style.rule, style.severity, syntax.severity) == (
        "SC2006",
        Severity.MINOR,
        Severity.CRITICAL,
    )
    assert len(analysis.refused) == 1


def test_a_script_is_known_by_its_name_or_its_first_line(grown):
    tree = grown(
        {
            "a.sh": "",
            "run": "#!/usr/bin/env bash\n",
            "tool": "#!/usr/bin/env python3\n",
            "x.py": "#!/bin/sh\n",
            "fish": "#!/usr/bin/fish\n",
        }
    )
    assert [path for path in tree.files() if Shellcheck().wants_file(path, tree)] == ["a.sh", "run"]


CODE = 'x = "é😀"; eval(x); print("ü")\n'


def semgrep_result(start, end, fix=None):
    extra = {
        "message": "evil\nreally",
        "severity": "ERROR",
        "metadata": {"category": "security", "references": ["https://a.b"]},
        "fix": fix,
    }
    place = {"line": 1, "col": 1}
    return {
        "check_id": "r",
        "path": "e.py",
        "start": {**place, "offset": start},
        "end": {**place, "offset": end},
        "extra": extra,
    }


def test_semgreps_offsets_are_bytes(grown):
    results = [semgrep_result(23, 34, 'log("ü")'), semgrep_result(14, 21, "safe($X)"), None]
    report = json.dumps(
        {"results": results, "errors": [{"message": "timeout", "path": "b.py"}]}
    ).encode()
    analysis = semgrep.parse(report, Sources(grown({"e.py": CODE})))
    printed, evaluated = analysis.findings
    assert CODE[printed.spot.column - 1 : printed.spot.end_column - 1] == 'print("ü")'
    assert apply_splices(CODE, printed.fix.splices) == CODE.replace("print", "log")
    assert (printed.title, printed.category, printed.url) == ("evil", "security", "https://a.b")
    assert (evaluated.fix, evaluated.marks) == (None, (UNBOUND,))
    assert len(analysis.refused) == 2


@pytest.mark.parametrize("rules", ["auto", "p/python", "r/x.y", "https://semgrep.dev/p/ci"])
def test_semgrep_never_fetches_rules(rules):
    with pytest.raises(SettingsError, match="on disk"):
        Semgrep([rules])


@pytest.mark.parametrize("read", [eslint.parse, biome.parse, shellcheck.parse, semgrep.parse])
@pytest.mark.parametrize("garbage", [b"", b"oops", b"7", b"null"])
def test_garbage_is_a_failure_never_clean(grown, read, garbage):
    assert read(garbage, Sources(grown({"a.py": ""}))).failed
