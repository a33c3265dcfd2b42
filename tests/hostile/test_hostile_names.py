"""No name of a file switches an analyzer off: a file counts as reviewed only if the analyzer says that it looked at it."""

import json
import os
import re
import stat
import sys
from pathlib import Path

import pytest
from hostile_ground import Ground

from punchlist.adapters.analyzers.tool import Kit

BAD = "def go(text):\n    return eval(text)\n"
WRONG = 'number: int = "a"\n'
RULE = "id: no-eval\nlanguage: python\nrule: {pattern: eval($X)}\nmessage: no\nseverity: error\n"

RUFF_LEAVES_OUT = """
.bzr .direnv .eggs .git-rewrite .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pyenv .pytest_cache .pytype .ruff_cache .svn
.tox .venv .vscode __pypackages__ _build buck-out dist node_modules site-packages venv
""".split()
BANDIT_LEAVES_OUT = "CVS .hg .tox .svn __pycache__ .eggs .github a.git".split()
OTHERS_LEAVE_OUT = "build tests test vendor third_party .idea .yarn bower_components x.egg".split()
FOLDERS = sorted({*RUFF_LEAVES_OUT, *BANDIT_LEAVES_OUT, *OTHERS_LEAVE_OUT})


def spell(word: str) -> list[str]:
    """Each way in which a path can have a word that a tool leaves out."""
    return [
        f"{word}/m.py",
        f"pkg/{word}/m.py",
        f"pkg/{word}/{word}/m.py",
        f"pkg/in{word}side/m.py",
        f"pkg/x{word}y.py",
        f"pkg/{word}.py",
    ]


NAMES = sorted({path for word in FOLDERS for path in spell(word)})
ODD = [
    "a\n[2026-01-01][00:00:00][ruff::diagnostics][DEBUG] Checking: /x.py",
    "a\nsg: entity|file|gen/b.py: language=Python,appliedRuleCount=1.py",
    "_totals.py",
    "-x/--exclude=pkg.py",
    "pkg/*/m.py",
    "pkg/!m.py",
    "pkg/CVS,.tox.py",
]
TOOLS = {
    "ruff": ("analyzers.enabled=ruff", "analyzers.select=S307"),
    "bandit": ("analyzers.enabled=bandit",),
    "ast-grep": ("analyzers.enabled=ast-grep",),
}


def review(ground: Ground, *settings: str, scope: tuple[str, ...] = ("--all",), **env: str):
    """Review without our own list of what is left out, which is said: the tools' lists are not."""
    options = [word for each in (*settings, "analyzers.leave_out=") for word in ("--set", each)]
    return ground("review", *scope, "--json", *options, **env)


def reported(ground: Ground) -> set[str]:
    return {item["path"] for item in ground.items()}


def gaps(ground: Ground) -> str:
    document = ground("report", "--format", "json").json
    return " | ".join(f"{gap['what']}: {gap['why']}" for gap in document["not_checked"])


def with_rules(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "rules.toml").write_text(f"[analyzers]\nast_grep_rules = {json.dumps(RULE)}\n")
    return {"PUNCHLIST_CONFIG": str(tmp_path / "rules.toml")}


@pytest.mark.parametrize("tool", TOOLS)
def test_what_a_tool_leaves_out_by_default_it_looks_at_where_the_repository_has_it(
    repo, ground, tmp_path, tool
):
    repo.commit(dict.fromkeys((*NAMES, *ODD), BAD))
    told = review(ground, *TOOLS[tool], **with_rules(tmp_path))
    assert told.code == 1, told.stdout + told.stderr
    assert reported(ground) == {*NAMES, *ODD}


def test_mypy_is_given_what_it_does_not_find_by_itself(repo, ground):
    hidden = "node_modules site-packages __pycache__ .hidden .github .tox pkg/.venv/lib".split()
    files = {f"{folder}/m{number}.py": WRONG for number, folder in enumerate(hidden)}
    repo.commit({"mypy.ini": "[mypy]\n", "plain.py": WRONG, **files})
    told = review(ground, "analyzers.enabled=mypy")
    assert told.code == 1, told.stderr
    assert reported(ground) == {"plain.py", *files}


@pytest.mark.parametrize("configured", ["", "[tool.ruff]\nline-length = 99\n"])
def test_settings_of_the_project_that_exclude_nothing_bring_no_default_excludes_back(
    repo, ground, configured
):
    repo.commit(
        {"pyproject.toml": configured, "sub/ruff.toml": "line-length = 80\n"}
        if configured
        else {"a.txt": ""}
    )
    repo.commit(dict.fromkeys(("dist/m.py", "sub/venv/m.py"), BAD))
    review(ground, *TOOLS["ruff"])
    assert reported(ground) == {"dist/m.py", "sub/venv/m.py"}


RUFF_SETTINGS = {
    "exclude": '[tool.ruff]\nexclude = ["gen"]\n',
    "extend-exclude": '[tool.ruff]\nextend-exclude = ["gen"]\n',
    "lint.exclude": '[tool.ruff.lint]\nexclude = ["gen/*"]\n',
}


@pytest.mark.parametrize("settings", RUFF_SETTINGS.values(), ids=RUFF_SETTINGS)
def test_what_the_projects_own_settings_for_ruff_exclude_is_left_out_and_said(
    repo, ground, settings
):
    repo.commit({"pyproject.toml": settings, "gen/m.py": BAD, "dist/m.py": BAD})
    review(ground, *TOOLS["ruff"])
    assert reported(ground) == {"dist/m.py"}
    assert "ruff did not look at 1 file: gen/m.py: left out by pyproject.toml" in gaps(ground)
    assert "No reviewer looked at 1 Python file" in gaps(ground)


def test_each_folder_has_the_excludes_of_its_own_settings_for_ruff(repo, ground):
    repo.commit(
        {
            "ruff.toml": 'exclude = ["gen"]\n',
            "sub/ruff.toml": "line-length = 80\n",
            "heir/ruff.toml": 'extend = "../ruff.toml"\n',
            "gen/m.py": BAD,
            "dist/m.py": BAD,
            "sub/gen/m.py": BAD,
            "sub/dist/m.py": BAD,
            "heir/venv/m.py": BAD,
        }
    )
    review(ground, *TOOLS["ruff"])
    assert reported(ground) >= {"dist/m.py", "sub/gen/m.py", "sub/dist/m.py", "heir/venv/m.py"}
    assert "gen/m.py" not in reported(ground)


BANDIT_SETTINGS = {
    "pyproject.toml": '[tool.bandit]\nexclude_dirs = ["gen"]\n',
    "bandit.yaml": 'exclude_dirs: ["gen"]\n',
    ".bandit": "[bandit]\nexclude = gen\n",
}


@pytest.mark.parametrize("name", BANDIT_SETTINGS)
def test_what_the_projects_own_settings_for_bandit_exclude_is_left_out_and_said(repo, ground, name):
    repo.commit({name: BANDIT_SETTINGS[name], "gen/m.py": BAD, "CVS/m.py": BAD})
    review(ground, "analyzers.enabled=bandit")
    assert reported(ground) == {"CVS/m.py"}
    assert f"bandit did not look at 1 file: gen/m.py: left out by {name}" in gaps(ground)


@pytest.mark.parametrize("tool", ["ruff", "bandit"])
def test_settings_of_a_branch_leave_nothing_out(repo, ground, tool):
    repo.commit({"pyproject.toml": "[tool.ruff]\nline-length = 99\n"})
    repo.git("switch", "-qc", "feature")
    excluding = '[tool.ruff]\nexclude = ["*"]\n[tool.bandit]\nexclude_dirs = ["/"]\n'
    repo.commit({"pyproject.toml": excluding, "gen/m.py": BAD})
    review(ground, *TOOLS[tool], scope=())
    assert reported(ground) == {"gen/m.py"}


def put_tool(tmp_path: Path, name: str, text: str) -> str:
    """A program on PATH that plays a tool; returns the PATH."""
    program = tmp_path / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\nimport json, sys\n{text}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


ESLINT = """
names = sys.argv[sys.argv.index("--") + 1:]
message = {"ruleId": None, "severity": 1, "message": "File ignored SAID"}
print(json.dumps([{"filePath": n, "messages": [message] if "odd" in n else []} for n in names if "lost" not in n]))
"""


@pytest.mark.parametrize(
    ("name", "said", "code", "expected"),
    [
        ("plain.js", "", 0, ""),
        ("lost.js", "", 3, "eslint did not look at 1 file: lost.js: it was given the file"),
        ("odd.js", "by default. Use x", 3, "it says: File ignored by default"),
        ("odd.js", "because of a matching ignore pattern.", 3, "left out by its configuration"),
    ],
)
def test_a_file_that_is_not_in_the_report_of_eslint_was_not_reviewed(
    repo, ground, tmp_path, name, said, code, expected
):
    repo.commit({".eslintrc.json": '{"root": true}\n', name: "let x = 1\n"})
    path = put_tool(tmp_path, "eslint", ESLINT.replace("SAID", said))
    told = review(ground, "analyzers.enabled=eslint", PATH=path)
    assert (told.code, expected in gaps(ground)) == (code, True), gaps(ground)


SEMGREP = """
names = sys.argv[sys.argv.index("--") + 1:]
print(json.dumps({"results": [], "errors": [], "paths": {"scanned": [n for n in names if "lost" not in n]}}))
"""


def test_a_file_that_semgrep_does_not_list_as_scanned_was_not_reviewed(repo, ground, tmp_path):
    repo.commit({"plain.py": "X = 1\n", "lost.py": BAD, "README.md": "# lost\n"})
    path = put_tool(tmp_path, "semgrep", SEMGREP)
    rules = tmp_path / "rules.yml"
    rules.write_text("rules:\n- id: a\n  languages: [python]\n  pattern: eval(...)\n")
    told = review(ground, "analyzers.enabled=semgrep", f"analyzers.semgrep={rules}", PATH=path)
    assert told.code == 3, told.stdout
    assert "semgrep did not look at 1 file: lost.py: it was given the file" in gaps(ground)


def test_a_user_can_say_that_a_file_needs_no_reviewer(repo, ground, tmp_path):
    repo.commit({".eslintrc.json": '{"root": true}\n', "lost.js": "let x = 1\n"})
    path = put_tool(tmp_path, "eslint", ESLINT)
    settings = ("analyzers.enabled=eslint", "analyzers.unreviewed=lost.js")
    assert review(ground, *settings, PATH=path).code == 0


DEEP = {
    "minus.py": f"x = {'-' * 200_000}1\n",
    "brackets.py": f"x = {'[' * 5_000}{']' * 5_000}\n",
    "blocks.py": "".join(f"{' ' * depth}if x:\n" for depth in range(3_000))
    + f"{' ' * 3_000}pass\n",
}


def test_files_that_crash_a_tool_are_named_and_the_others_are_reviewed(repo, ground):
    others = {f"m{number}.py": BAD for number in range(30)}
    repo.commit({**others, **DEEP})
    told = review(ground, *TOOLS["ruff"])
    assert told.code == 1, told.stderr
    assert reported(ground) == others.keys()
    found = re.search(r"ruff did not look at \d files?: (.*?): it makes ruff crash", gaps(ground))
    assert found
    assert "minus.py" in found[1]
    assert "ruff failed" not in gaps(ground)


@pytest.mark.parametrize(
    ("program", "tracked"),
    [
        ("bin/tool", True),
        ("other/../bin/tool", True),
        ("../outside/tool", False),
        ("bin/../../outside/tool", False),
        ("linked/tool", True),
    ],
)
def test_a_program_is_of_the_repository_by_where_it_is_not_by_how_its_path_is_spelt(
    tmp_path, program, tracked
):
    checkout, outside = tmp_path / "repo", tmp_path / "outside"
    for folder in (checkout / "bin", checkout / "other", outside):
        folder.mkdir(parents=True)
    (checkout / "linked").symlink_to(outside)
    kit = Kit(checkout=checkout, tracked=frozenset({"bin", "linked", ".."}))
    assert kit.is_tracked(f"{checkout}/{program}") is tracked
    assert kit.inside_checkout("../outside/rules.yml") == ""
