"""Ruff for real: every finding with its place, its weight and its fix."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from punchlist.adapters.analyzers.tool import CommandAnalyzer, Kit
from punchlist.adapters.analyzers.tools.ruff import CELL_FIX, Ruff, RuffRules, parse
from punchlist.adapters.analyzers.tools.ruff_rules import (
    ALL,
    ALL_IGNORE,
    BUGS,
    BUGS_IGNORE,
    SECURITY,
    rank_rule,
)
from punchlist.intake.source_files import LOST_FIX, Sources
from punchlist.model.finding.finding import Safety
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.patch import apply_splices
from punchlist.model.patch.text_positions import Positions

RUFF = str(Path(sys.executable).parent / "ruff")


def looked(tree, paths=None, **rules):
    ruff = Ruff(RuffRules(**rules))
    return asyncio.run(CommandAnalyzer(ruff, Kit()).analyze(tree, paths))


def test_a_finding_has_its_rule_place_weight_url_and_fix(grown):
    tree = grown({"src/a.py": "def f():\n    import os\n    return undefined\n"})
    analysis = looked(tree)
    assert (analysis.failed, analysis.skipped, analysis.refused, analysis.looked_at) == (
        "",
        "",
        (),
        1,
    )
    unused, undefined = analysis.findings
    assert (unused.id, unused.source, unused.rule, unused.spot.path, unused.spot.line) == (
        "ruff:1",
        "ruff",
        "F401",
        "src/a.py",
        2,
    )
    assert (unused.spot.column, unused.spot.end_line, unused.spot.end_column) == (12, 2, 14)
    assert unused.severity is Severity.MINOR
    assert unused.url.startswith("https://")
    assert unused.fix.safety is Safety.SAFE
    assert unused.context.symbol
    assert (undefined.rule, undefined.severity, undefined.category) == (
        "F821",
        Severity.CRITICAL,
        "correctness",
    )


def test_a_syntax_error_is_a_critical_finding(grown):
    analysis = looked(grown({"a.py": "def (:\n"}))
    assert analysis.findings
    assert {f.severity for f in analysis.findings} == {Severity.CRITICAL}


def test_all_edits_of_a_fix_belong_together_and_say_how_safe_they_are(grown):
    text = "def f(a=[]):\n    return a\n"
    tree = grown({"a.py": text, "b.py": "# x = 1\n"})
    mutable, commented = looked(tree, select=["B006", "ERA001"]).findings
    assert (len(mutable.fix.splices), mutable.fix.safety) == (2, Safety.UNSAFE)
    assert (
        apply_splices(text, mutable.fix.splices)
        == "def f(a=None):\n    if a is None:\n        a = []\n    return a\n"
    )
    assert commented.fix.safety is Safety.DISPLAY


def test_the_projects_own_configuration_is_respected(grown):
    tree = grown({"pyproject.toml": "[tool.ruff.lint]\nselect = ['E711']\n[tool.ruff]\nexclude = ['gen']\n",
                  "a.py": "import os\nx = y == None\n", "gen/b.py": "x = y == None\n"})  # fmt: skip
    assert [(f.rule, f.spot.path) for f in looked(tree).findings] == [("E711", "a.py")]
    assert [f.rule for f in looked(tree, select=["F401"]).findings] == ["F401"]


def test_a_project_that_says_fix_true_is_still_not_written_to(grown):
    tree = grown({"ruff.toml": "fix = true\nfix-only = true\n", "a.py": "import os\n"})
    assert [f.rule for f in looked(tree).findings] == ["F401"]
    assert tree.text("a.py") == "import os\n"


def test_settings_of_folders_above_the_tree_are_not_the_projects(grown, tmp_path):
    (tmp_path / "ruff.toml").write_text("lint.select = ['D']\n")
    assert [f.rule for f in looked(grown({"a.py": "import os\n"})).findings] == ["F401"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("setup.py", "setup(python_requires='>=3.8')"), ("setup.cfg", "[options]\npython_requires = >=3.8\n"),
     ("pyproject.toml", "[project]\nname='x'\nversion='1'\nrequires-python = '>=3.8,<4'\n")],
)  # fmt: skip
def test_nothing_newer_than_the_oldest_supported_python_is_asked_for(grown, name, content):
    code = "from typing import Optional\n\n\ndef f(x: Optional[int]) -> None:\n    return None\n"
    rules = {f.rule for f in looked(grown({"a.py": code}), kind="all").findings}
    assert "UP045" in rules
    older = looked(grown({"a.py": code, name: content}), kind="all").findings
    assert "UP045" not in {f.rule for f in older}


STYLED = "import os\n\nx = 1\nif x == None:\n    print(x or 'a') if x else print(x)\n"


def test_style_that_ruff_does_not_ask_for_itself_is_raised_only_if_it_is_asked_for(grown):
    styled = "import re\n\nx = re.compile('a')\nif x == None:\n    raise ValueError()\n"
    tree = grown({"a.py": styled})
    assert {f.rule for f in looked(tree).findings} == {"E711"}
    assert "RSE102" in {f.rule for f in looked(tree, kind="all").findings}
    assert {f.rule for f in looked(tree, also=("RSE102",)).findings} == {"E711", "RSE102"}


@pytest.mark.parametrize(
    ("name", "content", "rules"),
    [
        (".flake8", "[flake8]\nignore = E711, W503,\n    ZZ9\n", {"F401"}),
        ("setup.cfg", "[flake8]\nextend_ignore = F4\n", {"E711"}),
        ("tox.ini", "[flake8]\nper-file-ignores =\n    a.py: F401,E7\n    b.py: E711\n", set()),
        (".flake8", "[flake8]\nper-file-ignores = lib/*:F401\n", {"F401", "E711"}),
        (".flake8", "no settings", {"F401", "E711"}),
        ("setup.cfg", "[metadata]\nname = x\n", {"F401", "E711"}),
    ],
)
def test_what_a_project_switched_off_for_flake8_is_respected(grown, name, content, rules):
    tree = grown({"a.py": STYLED, name: content})
    analysis = looked(tree)
    assert (analysis.failed, {f.rule for f in analysis.findings}) == ("", rules)


def test_pylints_warnings_are_left_to_a_project_with_settings_for_it(grown):
    code = "def f(x):\n    return x in [1, float('nan')] or x == float('nan')\n"
    assert "PLW0177" in {f.rule for f in looked(grown({"a.py": code})).findings}
    own = grown({"a.py": code, ".pylintrc": "[MAIN]\n"})
    assert "PLW0177" not in {f.rule for f in looked(own).findings}


def test_odd_names_are_looked_at_and_named_as_git_has_them(grown):
    names = [
        "-dash.py",
        "sp ace.py",
        "new\nline.py",
        "per%20cent.py",
        "back\\slash.py",
        "@at.py",
        "ünï.py",
    ]
    raw = b"n\xffame.py".decode("utf-8", "surrogateescape")
    tree = grown(dict.fromkeys([*names, raw], "import os\n"))
    findings = [f for f in looked(tree).findings if f.rule == "F401"]
    assert sorted(f.spot.path for f in findings) == sorted([*names, raw])
    assert all(f.fix and not f.marks for f in findings)
    assert {f.spot.path for f in looked(tree, [raw]).findings} == {raw}


def test_only_the_files_asked_for_are_looked_at(grown):
    tree = grown({"a.py": "import os\n", "b.py": "import os\n"})
    assert [f.spot.path for f in looked(tree, ["b.py", "gone.py"]).findings] == ["b.py"]
    assert looked(tree, ["gone.py"]).skipped


def test_untracked_files_are_not_looked_at(grown):
    tree = grown({"a.py": "x = 1\n"})
    (tree.root / "stray.py").write_text("import os\n")
    assert looked(tree).findings == ()


def test_a_tree_without_python_is_skipped_with_a_reason(grown):
    analysis = looked(grown({"README.md": "x"}))
    assert analysis.skipped
    assert not analysis.failed


def test_a_broken_configuration_is_a_failure(grown):
    analysis = looked(grown({"ruff.toml": "select = [", "a.py": "import os\n"}))
    assert "ruff: exit code 2" in analysis.failed


def test_an_unknown_rule_in_the_settings_is_a_failure(grown):
    assert "NOPE" in looked(grown({"a.py": "import os\n"}), select=["NOPE"]).failed


def test_a_time_out_is_a_failure(grown, on_path, monkeypatch):
    folder = on_path("sleep")
    hanging = folder / "ruff"
    hanging.write_text("#!/bin/sh\nexec sleep 600\n")
    hanging.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    analysis = asyncio.run(
        CommandAnalyzer(Ruff(), Kit(timeout=0.2)).analyze(grown({"a.py": ""}), None)
    )
    assert "timed out" in analysis.failed


def test_a_file_it_cannot_read_is_never_silently_clean(grown):
    analysis = looked(grown({"a.py": b'x = "\xff"\n', "b.py": "import os\n"}), select=["F"])
    assert [f.spot.path for f in analysis.findings] == ["b.py"]
    (refused,) = analysis.refused
    assert "a.py" in refused.raw


def test_a_notebooks_finding_is_kept_without_a_fix(grown):
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "id": "a",
        "metadata": {},
        "outputs": [],
        "source": ["import os\n"],
    }
    notebook = {
        "cells": [cell],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (finding,) = looked(grown({"n.ipynb": json.dumps(notebook)}), select=["F401"]).findings
    assert (finding.fix, finding.marks, finding.spot.line, finding.detail) == (
        None,
        (CELL_FIX,),
        None,
        "cell 1, line 1",
    )


ENTRY = {
    "filename": "a.py",
    "message": "m",
    "code": "F401",
    "location": {"row": 1, "column": 1},
    "end_location": {"row": 1, "column": 2},
}


@pytest.mark.parametrize(
    "bad",
    [
        None,
        3,
        {},
        {**ENTRY, "message": None},
        {**ENTRY, "location": {"row": "x"}},
        {**ENTRY, "fix": 7},
    ],
)
def test_one_bad_entry_never_costs_the_others(grown, bad):
    sources = Sources(grown({"a.py": "x\n"}))
    analysis = parse(json.dumps([ENTRY, bad, ENTRY]).encode(), sources)
    assert [f.id for f in analysis.findings] == ["ruff:1", "ruff:2"]
    (refused,) = analysis.refused
    assert json.loads(refused.raw) == bad
    assert refused.reason


@pytest.mark.parametrize("garbage", [b"", b"{}", b"[", b"oops", b"\xff\xfe", b"null"])
def test_garbage_is_a_failure_never_clean(grown, garbage):
    assert parse(garbage, Sources(grown({"a.py": ""}))).failed


def test_a_fix_that_points_outside_the_file_is_left_out_and_said_so(grown):
    edit = {
        "content": "",
        "location": {"row": 1, "column": 1},
        "end_location": {"row": 9, "column": 1},
    }
    entry = {**ENTRY, "fix": {"edits": [edit], "applicability": "safe", "message": "m"}}
    (finding,) = parse(json.dumps([entry]).encode(), Sources(grown({"a.py": "x\n"}))).findings
    assert (finding.fix, finding.marks) == (None, (LOST_FIX,))


def test_a_syntax_error_without_a_code_as_older_versions_write_it_is_understood(grown):
    (finding,) = parse(
        json.dumps([{**ENTRY, "code": None}]).encode(), Sources(grown({"a.py": "x\n"}))
    ).findings
    assert (finding.rule, finding.severity) == ("invalid-syntax", Severity.CRITICAL)


def test_a_rules_meaning_is_that_of_its_own_group():
    assert rank_rule("ISC001")[1] == "style"
    assert rank_rule("F821") == (Severity.CRITICAL, "correctness")
    assert rank_rule("FURB116") == (Severity.MINOR, "modernisation")
    assert rank_rule("S602") == (Severity.CRITICAL, "security")
    assert rank_rule("XYZ999")[0] is Severity.MINOR


@pytest.mark.parametrize(("select", "ignore"), [(f"{BUGS},{ALL}", ALL_IGNORE), (BUGS, BUGS_IGNORE)])
def test_every_default_rule_exists(select, ignore):
    """A rule that a new version of ruff renamed would make every run fail."""
    command = [RUFF, "check", "--isolated", f"--select={select}", f"--ignore={ignore}", "-"]
    ran = subprocess.run(command, input=b"", capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_every_security_rule_is_a_rule_that_ruff_has_without_preview():
    ran = subprocess.run(
        [RUFF, "rule", "--all", "--output-format=json"], capture_output=True, check=True
    )
    known = {rule["code"]: rule for rule in json.loads(ran.stdout)}
    assert SECURITY.keys() <= known.keys()
    for code in SECURITY:
        rule = known[code]
        assert rule["linter"] == "flake8-bandit"
        assert not rule["preview"], code
        assert "Removed" not in rule["status"], code


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of bandit's own loader
def test_every_security_rule_has_a_twin_that_bandit_calls_medium_or_high():
    from bandit.core.extension_loader import MANAGER

    blacklisted = {f"S{name[1:]}": rule["level"] for name, rule in MANAGER.blacklist_by_id.items()}
    assert {blacklisted.get(code, "") for code in SECURITY} <= {"", "MEDIUM", "HIGH"}
    low = {code for code, level in blacklisted.items() if level == "LOW"}
    assert not low & SECURITY.keys()
    assert not {"S101", "S105", "S106", "S107", "S110", "S112", "S603", "S607"} & SECURITY.keys()


INSECURE = (
    "import pickle\nimport subprocess\n\n\ndef load(data, names=('--', 'password')):\n"
    "    subprocess.run(data, shell=True, check=True)\n"
    "    token = 'hunter2hunter2'\n    assert token\n    return pickle.loads(data)\n"
)


def test_insecure_code_is_raised_where_bandit_would_call_it_medium_or_high(grown):
    findings = looked(grown({"a.py": INSECURE})).findings
    assert {f.rule: f.severity for f in findings} == {
        "S301": Severity.MAJOR,
        "S602": Severity.CRITICAL,
    }


@pytest.mark.parametrize(
    "path", ["tests/a.py", "pkg/test_a.py", "a_test.py", "conftest.py", "pkg/tests/data/a.py"]
)
def test_insecure_code_is_no_news_in_tests(grown, path):
    tree = grown({path: f"{INSECURE}exec('1')\n"})
    assert looked(tree).findings == ()
    assert {f.rule for f in looked(tree, also=("S301",)).findings} == {"S301"}
    assert {"S102", "S301"} <= {f.rule for f in looked(tree, also=("S",)).findings}


def test_a_project_with_settings_for_ruff_gets_no_rule_that_it_did_not_ask_for(grown):
    tree = grown({"a.py": INSECURE, "ruff.toml": "line-length = 99\nlint.select = ['F']\n"})
    assert looked(tree).findings == ()


def test_ruffs_own_defaults_are_asked_for_where_the_project_has_no_settings(grown):
    """The same rules as `ruff check` itself, but for RUF100, and ours besides."""
    code = STYLED + "\n\ndef f(x):\n    return dict(a=x)\n\n\ntry:\n    f(1)\nexcept:\n    pass\n"
    tree = grown({"a.py": code})
    command = [RUFF, "check", "--isolated", "--output-format=json", "--exit-zero", "a.py"]
    ran = subprocess.run(command, cwd=tree.root, capture_output=True, check=True)
    theirs = {each["code"] for each in json.loads(ran.stdout)}
    assert theirs <= {f.rule for f in looked(tree).findings}
    assert theirs <= {f.rule for f in looked(tree, kind="all").findings}


def test_a_comment_for_another_linter_is_not_reported_as_needless(grown):
    tree = grown({"a.py": "x = 1  # noqa: E501, WPS432\n"})
    assert looked(tree).findings == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [(".isort.cfg", "[settings]\n"), ("setup.cfg", "[isort]\nprofile = black\n"),
     ("pyproject.toml", "[tool.isort]\nprofile = 'black'\n")],
)  # fmt: skip
def test_the_order_of_imports_is_left_to_a_project_with_settings_for_isort(grown, name, content):
    code = "import sys\nimport os\n\nprint(os, sys)\n"
    assert {f.rule for f in looked(grown({"a.py": code})).findings} == {"I001"}
    assert looked(grown({"a.py": code, name: content})).findings == ()


def test_a_byte_order_mark_is_no_column():
    positions = Positions("\ufeffab\r\nc")
    assert positions.offset(1, 1) == 1
    assert positions.find_place(1) == (1, 1)
    assert positions.offset(2, 2) == len(positions.text)
