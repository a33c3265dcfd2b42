"""Clean is only said of what was looked at, and exit codes speak of the code under review."""

import json
import sys

import pytest

from needs import rarely


@pytest.fixture
def branch(repo, make_punchlist, tmp_path):
    """A branch of two commits, a scripted agent, and the command."""

    def make(base, change, *answers, remove=()):
        repo.commit(base, "base")
        repo.git("checkout", "--quiet", "-b", "topic")
        for path in remove:
            (repo.root / path).unlink()
        repo.commit(change, "a change")
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"lines": list(answers)}))
        settings = tmp_path / "settings.toml"
        agent = (
            f'[agents]\nuse = ["robot"]\n[agent.robot]\nkind = "scripted"\nscript = "{script}"\n'
        )
        settings.write_text('[analyzers]\nenabled = ["ruff"]\n' + (agent if answers else ""))
        command = make_punchlist(repo.root)
        command.env["PUNCHLIST_CONFIG"] = str(settings)
        return command

    return make


def says(path, title, severity="critical", **more):
    finding = {"title": title, "file_path": path, "line_start": 1, "severity": severity}
    answer = {"findings": [finding], "summary": "looked"}
    return {"role": "technical", "answer": answer, **more}


NOTHING = {"role": "technical", "answer": {"findings": [], "summary": "looked"}}


def test_a_caller_that_the_change_broke_outside_the_diff_is_in_scope(branch):
    punchlist = branch(
        {"a.py": "def f(x):\n    return x\n", "caller.py": "from a import f\n\nf(1)\n"},
        {"a.py": "def f(x, y):\n    return x + y\n"},
        says("caller.py", "f() is called with one argument, and needs two"),
    )
    ran = punchlist("review")
    assert ran.returncode == 1
    assert "clean" not in ran.stdout
    assert "f() is called with one argument" in ran.stdout


def test_a_deleted_file_is_shown_to_the_reviewer_and_what_it_says_of_it_is_in_scope(branch):
    punchlist = branch(
        {"a.py": "X = 1\n", "helper.py": "def helping_hand():\n    return 2\n"},
        {"a.py": "X = 2\n"},
        says("helper.py", "helper.py is still needed", "major", prompt="-def helping_hand"),
        NOTHING,
        remove=["helper.py"],
    )
    ran = punchlist("review")
    assert ran.returncode == 1
    assert "helper.py is still needed" in ran.stdout


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("import os\n\n\ndef here():\n    return os.sep\n", None, "F821"),
        ("def g():\n    return 1\n\n\nprint(g())\n", "\n\nprint(g())\n", "F821"),
        (
            "import os\n\n\ndef here():\n    return os.sep\n",
            "import os\n\n\ndef here():\n    return 1\n",
            "F401",
        ),
    ],
)
def test_what_a_change_breaks_on_lines_it_does_not_touch_is_in_scope(branch, before, after, rule):
    """The old finding beside it stays out of scope: it was there before."""
    old = "\n\ndef old(x):\n    return x == None\n"
    after = before.replace("import os\n", "") if after is None else after
    punchlist = branch({"a.py": before + old}, {"a.py": after + old})
    document = punchlist.json("review", "--set", "analyzers.select=E711,F401,F821")
    by_rule = {
        item["findings"][0]["rule"]: item["in_scope"] for item in document["report"]["items"]
    }
    assert by_rule == {rule: True, "E711": False}
    assert document["exit"] == 1


def test_a_project_wide_tool_that_reports_a_broken_caller_in_another_file_is_heard(
    branch, tmp_path
):
    """What the tool says of the base as well is not repeated."""
    tool = (
        "import pathlib\n"
        "print('old.py:1:1: was wrong before')\n"
        "if 'x, y' in pathlib.Path('a.py').read_text():\n"
        "    print('caller.py:3:1: too few arguments for f()')\n"
    )
    punchlist = branch(
        {
            "a.py": "def f(x):\n    return x\n",
            "caller.py": "from a import f\n\nf(1)\n",
            "old.py": "X = 1\n",
        },
        {"a.py": "def f(x, y):\n    return x + y\n"},
    )
    command = json.dumps([sys.executable, "-c", tool])
    with (tmp_path / "settings.toml").open("a") as settings:
        settings.write(
            f'[[analyzers.custom]]\nname = "whole"\ncommand = {command}\nformat = "lines"\n'
        )
    document = punchlist.json("review", "--set", "analyzers.enabled=whole")
    found = [(item["path"], item["in_scope"]) for item in document["report"]["items"]]
    assert found == [("caller.py", True)]
    assert document["exit"] == 1


def test_what_was_there_before_is_not_held_against_the_change_and_must_fix_is_never_clean(branch):
    old = "import os\n\n\ndef old(x):\n    return x == None\n"
    punchlist = branch({"a.py": old}, {"a.py": old + "\n\ndef new(x):\n    return x\n"})
    ran = punchlist("review", "--set", "analyzers.select=F401")
    assert ran.returncode == 0, "an unused import is minor"
    assert "1 item in 1 file outside the change" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "Clean: no problems found in this change."
    ran = punchlist("review", "--set", "analyzers.select=E711,F401,F821")
    assert ran.returncode == 1
    assert "a.py:5:17: E711 [*] Comparison to `None`" in ran.stdout
    assert "(major, item 1, outside the change)" in ran.stdout
    assert "clean" not in ran.stdout.lower()
    assert punchlist("dismiss", "last", "1", "--why", "it is meant").returncode == 0
    assert punchlist.json("status", "last")["report"]["outcome"] == "clean"


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("web/app.js", "var x = eval('1')\n", "JavaScript"),
        ("cmd/main.go", "package main\n", "Go"),
        ("bin/deploy", "#!/usr/bin/env ruby\nputs 1\n", "Ruby"),
        ("Dockerfile.prod", "FROM scratch\n", "Dockerfile"),
    ],
)
def test_files_that_no_reviewer_looked_at_are_named_and_the_run_is_not_clean(
    repo, make_punchlist, path, text, language
):
    repo.commit(
        {"good.py": "X = 1\n", "README.md": "# A project\n", "Makefile": "all:\n", path: text}
    )
    ran = make_punchlist(repo.root)("run", "--all", "--set", "analyzers.enabled=ruff")
    assert ran.returncode == 3
    assert "· clean" not in ran.stdout
    assert f"No reviewer looked at 1 {language} file: {path};" in " ".join(ran.stdout.split())


@pytest.mark.parametrize(
    ("more", "printed", "unseen"),
    [
        ("", "app.js:1: wrong", ["good.py"]),
        *rarely(("", "", ["app.js", "good.py"]), ('files = ["*.js", "*.py"]\n', "", [])),
    ],
)
def test_a_tool_of_unknown_reach_counts_only_for_files_it_reports_on(
    repo, make_punchlist, tmp_path, more, printed, unseen
):
    repo.commit({"good.py": "X = 1\n", "app.js": "let x = 1\n"})
    command = json.dumps([sys.executable, "-c", f"print({printed!r})"])
    tool = (
        f'[analyzers]\nenabled = ["own"]\n[[analyzers.custom]]\nname = "own"\ncommand = {command}\n'
    )
    (tmp_path / "settings.toml").write_text(f'{tool}severity = "minor"\n{more}')
    punchlist = make_punchlist(repo.root)
    punchlist.analyzers = ""
    punchlist.env["PUNCHLIST_CONFIG"] = str(tmp_path / "settings.toml")
    ran = punchlist("review", "--all")
    said = " ".join(ran.stdout.split())
    assert [path for path in ("app.js", "good.py") if f"file: {path};" in said] == unseen
    assert ("It is not known which files own looks at" in said) is bool(unseen)
    assert ran.returncode == (0 if not unseen else 1 if printed else 3)


def test_prose_and_configuration_need_no_reviewer_and_settings_leave_programs_out(
    repo, make_punchlist
):
    files = {"good.py": "X = 1\n", "README.md": "# A\n", "setup.cfg": "[a]\n", ".env": "A=1\n"}
    repo.commit({**files, "LICENSE": "Do what you want.\n", "docs/make.bat": "echo\n"})
    punchlist = make_punchlist(repo.root)
    ran = punchlist(
        "review",
        "--all",
        "--set",
        "analyzers.enabled=ruff",
        "--set",
        "analyzers.unreviewed=make.bat",
    )
    assert ran.returncode == 0
    assert "1 program file left out of the review" in ran.stdout


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/theme/page.html", "<p>x\n"),
        ("site.css", "p {}\n"),
        ("docs/make.bat", "echo\n"),
        ("tests/fixtures/app.js", "let x = 1\n"),
    ],
)
def test_markup_docs_and_fixtures_that_no_reviewer_looked_at_are_a_note(
    repo, make_punchlist, path, text
):
    repo.commit({"good.py": "X = 1\n", path: text})
    punchlist = make_punchlist(repo.root)
    only_ruff = ("--set", "analyzers.enabled=ruff")
    ran = punchlist("review", "--all", *only_ruff)
    assert ran.returncode == 0
    said = " ".join(ran.stdout.split())
    assert f"note: No reviewer looked at 1 {language_of(path)} file: {path};" in said
    named = f"analyzers.languages={language_of(path).lower()}"
    assert punchlist("review", "--all", *only_ruff, "--set", named).returncode == 3


def language_of(path):
    return {"html": "HTML", "css": "CSS", "bat": "batch", "js": "JavaScript"}[
        path.rpartition(".")[2]
    ]


def test_the_languages_that_count_are_those_that_settings_name(repo, make_punchlist):
    repo.commit({"good.py": "X = 1\n", "app.js": "let x = 1\n"})
    punchlist = make_punchlist(repo.root)
    only_ruff = ("--set", "analyzers.enabled=ruff")
    assert punchlist("review", "--all", *only_ruff).returncode == 3
    chosen = ("--set", "analyzers.languages=Python")
    assert punchlist("review", "--all", *only_ruff, *chosen).returncode == 0
    odd = punchlist("review", "--all", "--set", "analyzers.languages=Pyhton")
    assert (odd.returncode, "no language is called 'Pyhton'" in odd.stderr) == (6, True)


BAD = "import os\n"
VENDORED = {
    "node_modules/a/x.py": BAD,
    "node_modules/b/y.py": BAD,
    "lib/vendor/z.py": BAD,
    "api_pb2.py": BAD,
    "made.py": f"# Code made by a tool. DO NOT EDIT.\n{BAD}",
    "web/app.min.js": "let x=1",
}


def test_a_whole_repository_is_looked_at_without_vendored_and_generated_files(repo, make_punchlist):
    repo.commit({"good.py": "X = 1\n", **VENDORED})
    punchlist = make_punchlist(repo.root)
    ran = punchlist("review", "--all")
    said = " ".join(ran.stdout.split())
    assert ran.returncode == 0, said
    assert "reviewed: 1 Python file" in said
    assert (
        "note: 6 vendored or generated files left out: node_modules (2), *.min.js (1),"
        " *_pb2.py (1), generated (1), vendor (1);"
    ) in said
    every = ("--set", "analyzers.leave_out=", "--set", "analyzers.leave_out_generated=false")
    found = punchlist.json("review", "--all", *every)["report"]["items"]
    places = {finding["spot"]["path"] for item in found for finding in item["findings"]}
    assert places == {path for path in VENDORED if path.endswith(".py")}


def test_a_vendored_file_that_is_named_or_that_the_change_touches_is_looked_at(branch):
    punchlist = branch({"good.py": "X = 1\n", "vendor/old.py": BAD}, {"vendor/new.py": BAD})
    assert "vendor/new.py:1:8: F401" in punchlist("review").stdout
    assert "vendor/old.py:1:8: F401" in punchlist("review", "--all", "vendor").stdout
    assert "F401" not in punchlist("review", "--all").stdout


def test_an_agent_that_was_shown_a_file_of_the_change_has_looked_at_it(branch):
    punchlist = branch({"a.py": "X = 1\n"}, {"a.py": "X = 2\n", "app.js": "let x = 1\n"}, NOTHING)
    ran = punchlist("review")
    assert (ran.returncode, "No reviewer looked" in ran.stdout) == (0, False)


def test_a_fixed_python_file_beside_an_unread_script_is_not_all_that_was_to_be_seen(branch):
    punchlist = branch({"a.py": "X = 1\n"}, {"a.py": "import os\n\nX = 2\n", "b.ts": "let x = 1\n"})
    document = punchlist.json("run", "--no-checks")
    assert document["report"]["counts"]["fixed"] == 1
    assert document["report"]["outcome"] == "incomplete"
    assert document["exit"] == 3


def test_fixed_but_not_applied_is_its_own_exit_code_until_it_is_applied(branch):
    punchlist = branch({"a.py": "X = 1\n"}, {"a.py": "import os\n\nX = 2\n"})
    ran = punchlist("run", "--no-checks", "--check")
    assert ran.returncode == 8
    assert "merge the fixes into your branch; your checkout is as it was" in ran.stdout
    document = punchlist.json("status")
    assert (document["exit"], document["unapplied"]) == (0, True)
    assert punchlist("resume", "--check").returncode == 8
    assert punchlist("resume").returncode == 0
    assert punchlist("apply").returncode == 0
    assert punchlist("resume", "--check").returncode == 0
    assert punchlist.json("status")["unapplied"] is False


def test_the_check_changes_no_other_exit_code(branch):
    punchlist = branch({"a.py": "X = 1\n"}, {"a.py": "import os\n\nX = eval('2')\n"})
    left = punchlist.json("run", "--no-checks", "--check", "--set", "analyzers.select=F401,S307")
    assert (left["exit"], left["unapplied"]) == (1, True)
    none = punchlist.json("run", "--no-checks", "--check", "--set", "analyzers.select=E711")
    assert (none["exit"], none["unapplied"]) == (0, False)


@pytest.mark.parametrize(
    ("settings", "program", "hint"),
    [
        ('[agents]\nuse = ["codex"]\n', "codex", "npm install -g @openai/codex"),
        (
            '[agents]\nuse = ["mine"]\n[agent.mine]\nkind = "command"\ncommand = ["no-such-tool"]\n',
            "no-such-tool",
            "install no-such-tool, or name another program in agent.mine.command",
        ),
    ],
)
def test_a_program_that_is_not_installed_stops_the_run_at_once(
    punchlist, tmp_path, settings, program, hint
):
    (tmp_path / "settings.toml").write_text(settings)
    punchlist.env["PUNCHLIST_CONFIG"] = str(tmp_path / "settings.toml")
    ran = punchlist("run", "--all")
    assert ran.returncode == 6
    assert f"{program} is not installed" in ran.stderr
    assert hint in ran.stderr
    assert punchlist.json("list") == []


def test_a_missing_agent_that_is_only_a_fallback_is_named_and_stops_nothing(branch, tmp_path):
    punchlist = branch({"a.py": "X = 1\n"}, {"a.py": "X = 2\n"}, NOTHING)
    settings = tmp_path / "settings.toml"
    alone = settings.read_text()
    settings.write_text(alone.replace('["robot"]', '["robot", "codex"]'))
    ran = punchlist("review")
    said = " ".join(ran.stdout.split())
    assert ran.returncode == 0, ran.stderr
    assert "codex was to be asked where another agent fails, and is not installed" in said
    assert "npm install -g @openai/codex" in said
    settings.write_text(alone + '[role.technical]\nagents = ["codex", "robot"]\n')
    ran = punchlist("review")
    assert ran.returncode == 6, "the user named it first for this role"
    assert "codex is not installed" in ran.stderr


ONE_PASS = """about: no second review
steps:
  - review: {}
  - consolidate: {}
  - plan: {}
  - fix: {}
  - verify: {}
  - commit: {}
  - report: {}
"""


def test_what_the_tip_is_silent_about_is_not_filed(repo, make_punchlist, tmp_path):
    """Without the unused import, bandit has nothing to say about it any more; the `eval` stays."""
    files = {"a.py": "import subprocess\n\nX = 1\n", "b.py": "X = eval('1')\n"}
    repo.commit({**files, ".bandit": "[bandit]\n"})
    (tmp_path / "one.yaml").write_text(ONE_PASS)
    punchlist = make_punchlist(repo.root)
    chosen = ("--set", "analyzers.select=F401", "--set", "analyzers.enabled=ruff,bandit")
    document = punchlist.json(
        "run", "--all", "--no-checks", "--workflow", str(tmp_path / "one.yaml"), *chosen
    )
    items = {item["findings"][0]["rule"]: item for item in document["report"]["items"]}
    assert {rule: item["status"] for rule, item in items.items()} == {
        "F401": "fixed",
        "B404": "fixed",
        "B307": "filed",
    }
    assert items["B404"]["issue"] == ""
    assert "no longer reported by bandit" in items["B404"]["proofs"][0]["said"]


@pytest.mark.parametrize(("opened", "code"), [(["a.js"], 3), (["a.js", "b.js"], 0)])
def test_with_the_whole_repository_an_agent_looked_at_what_it_opened(branch, opened, code):
    files = {"a.js": "let a = 1\n", "b.js": "let b = 1\n", "empty.js": "", "a.py": "X = 1\n"}
    punchlist = branch(files, {}, {**NOTHING, "opened": opened})
    ran = punchlist("review", "--all")
    assert ran.returncode == code
    assert (
        "No reviewer looked at 1 JavaScript file: b.js" in " ".join(ran.stdout.split())
    ) is bool(code)
