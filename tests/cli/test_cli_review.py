"""What `punchlist review` prints: the lines of a linter, or a document for another program."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

LINE = re.compile(r"^(?P<path>[^:]+):(?P<line>\d+):(?P<col>\d+): (?P<rule>\S+) (?P<message>.+)$")


@pytest.fixture
def shop(repo, make_punchlist):
    """A base without defects, and a change with defects in two Python files and a JavaScript file."""
    repo.commit({"a.py": "A = 1\n", "pkg/b.py": "B = 1\n"})
    repo.git("checkout", "--quiet", "-b", "work")
    repo.commit(
        {
            "a.py": "import os\nimport sys\n\nA = 1\n",
            "pkg/b.py": "B = 1\nif B == None:\n    eval(B)\n",
            "web.js": "var x = 1\n",
        }
    )
    punchlist = make_punchlist(repo.root)
    punchlist.analyzers = ""
    return punchlist


def test_each_problem_is_a_line_with_its_place_and_its_rule_by_file_and_line(shop):
    ran = shop("review")
    lines = [found for line in ran.stdout.splitlines() if (found := LINE.match(line))]
    places = [(each["path"], int(each["line"])) for each in lines]
    assert places == sorted(places)
    assert {"F401", "E711", "B307"} <= {each["rule"] for each in lines}
    assert "a.py:1:8: F401 [*] `os` imported but unused (item" in ran.stdout
    assert "pkg/b.py:2:9: E711 [*] Comparison to `None`" in ran.stdout


def test_the_closing_line_counts_what_was_found_and_says_what_fixes_it(shop):
    ran = shop("review")
    last = ran.stdout.splitlines()[-1]
    assert re.match(r"\d+ problems in 2 files: \d+ major, \d+ minor\. Tools can fix \d+ of", last)
    assert re.search(r"punchlist fix --from \d{6}-\w+$", last)
    assert "items fixed" not in ran.stdout
    assert shop("status").stdout == ran.stdout


def test_the_files_that_no_reviewer_read_are_named_by_language(shop):
    ran = shop("review")
    assert "reviewed: 2 Python files (by bandit, ruff)" in ran.stdout
    assert "not reviewed: No reviewer looked at 1 JavaScript file: web.js" in ran.stdout


def test_a_syntax_error_is_said_once_with_its_line(shop, repo):
    repo.commit({"bad.py": "def f(:\n    pass\n"})
    ran = shop("review")
    said = (
        "not reviewed: bad.py has a syntax error in line 1: the rest of the file was not reviewed"
    )
    assert said in ran.stdout
    assert ran.stdout.count("syntax error") == 1
    assert "was not understood" not in ran.stdout
    assert "No reviewer looked at 1 Python file" not in ran.stdout


def test_that_no_checks_were_run_is_said_to_those_who_want_all_notes(shop):
    said = "note: No tests or other checks of the project were run: "
    assert said not in shop("review").stdout
    for printed in (shop("status", "-v").stdout, shop("status", "last", "--verbose").stdout):
        assert [line.startswith(said) for line in printed.splitlines()].count(True) == 1


def test_statistics_count_by_rule_and_mark_what_tools_can_fix(shop):
    ran = shop("review", "--statistics")
    assert ran.stdout.startswith("2  F401  [*] `os` imported but unused\n")
    assert re.search(r"^1  B307 +Use of", ran.stdout, re.MULTILINE)
    assert "a.py:1" not in ran.stdout
    counted = json.loads(shop("review", "--statistics", "--format", "json").stdout)
    assert {"rule": "F401", "count": 2, "fixable": 2}.items() <= counted[0].items()


@pytest.mark.parametrize("form", ["json", "sarif", "github", "gitlab", "rdjson", "junit"])
def test_a_format_has_stdout_for_itself_and_progress_is_on_stderr(shop, form):
    ran = shop("review", "--format", form)
    assert ran.returncode == 1
    starts = {"github": "::", "junit": "<?xml", "gitlab": "["}
    assert ran.stdout.startswith(starts.get(form, "{"))
    assert "E711" in ran.stdout
    if form not in starts:
        json.loads(ran.stdout)
    assert form == "json" or "the run ended" in ran.stderr


def test_what_excludes_a_format_is_said(shop):
    for other in ("--json", "--statistics", "--dry-run"):
        ran = shop("review", "--format", "github", other)
        assert ran.returncode == 2
        assert f"--format github and {other} exclude each other" in ran.stderr
        assert ran.stdout == "" or json.loads(ran.stdout)["exit"] == 2


def test_json_is_one_document_and_not_lines_of_events_as_well(shop):
    ran = shop("review", "--format", "json", "--events")
    assert ran.returncode == 2
    assert "--format json and --events exclude each other" in ran.stderr


def test_an_error_is_a_document_where_json_was_asked_for_by_its_format(shop):
    for arguments in (("--format", "json"), ("--format=json",)):
        ran = shop("review", "--base", "nowhere", *arguments)
        assert json.loads(ran.stdout)["exit"] == ran.returncode != 0


def test_a_name_from_the_repository_is_no_command_for_github(repo, make_punchlist):
    names = ("::warning ::x.py", "##[group]y.py", "two  spaces.py", "new\nline.py")
    repo.commit(dict.fromkeys(names, "import os\n"))
    ran = make_punchlist(repo.root)("review", "--all")
    assert "two  spaces.py:1:8: F401" in ran.stdout
    assert "new\\nline.py:1:8: F401" in ran.stdout
    assert "./::warning ::x.py:1:8: F401" in ran.stdout
    assert "##[" not in ran.stdout
    assert not any(line.lstrip().startswith("::") for line in ran.stdout.splitlines())


def test_the_reports_of_a_run_can_be_had_in_the_same_formats(shop):
    shop("review")
    assert shop("report", "--format", "github").stdout.startswith("::")
    assert json.loads(shop("report", "--format", "gitlab").stdout)


def read_terminal(punchlist, *arguments: str, **env: str) -> str:
    """Return what the command prints to stdout if that is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "punchlist", *arguments]
    ran = {**punchlist.env, "TERM": "xterm-256color", "COLUMNS": "60", **env}
    with subprocess.Popen(
        command, cwd=punchlist.folder, env=ran, stdout=theirs, stderr=subprocess.DEVNULL
    ):
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    return b"".join(parts).decode()


def test_the_other_reports_of_a_review_are_made_when_they_are_asked_for(shop, tmp_path):
    assert shop("review").returncode == 1
    (folder,) = (shop.home / "runs").iterdir()
    assert [each.name for each in folder.glob("report*")] == ["report.json"]
    page = tmp_path / "page.html"
    assert shop("report", "--open", "-o", str(page)).returncode == 0
    assert "Comparison to <code>None</code>" in page.read_text()
    assert "Comparison to `None`" in shop("report").stdout
    assert json.loads(shop("report", "--format", "sarif").stdout)["runs"]
    replayed = shop("replay")
    assert (replayed.returncode, "same     report.json" in replayed.stdout) == (0, True)


def test_a_review_whose_results_are_kept_keeps_its_reports_too(shop, tmp_path):
    shop("review", "--set", f"keep.to={tmp_path / 'kept'}")
    (page,) = (tmp_path / "kept").rglob("report.html")
    assert (page.parent / "report.sarif").is_file()
    assert "Comparison to <code>None</code>" in page.read_text()


def test_a_terminal_gets_colours_and_whole_lines_and_no_color_takes_them_away(shop):
    shown = read_terminal(shop, "review")
    assert "\x1b[" in shown
    plain = read_terminal(shop, "review", NO_COLOR="1")
    assert "\x1b" not in plain
    assert all(LINE.match(line) for line in plain.splitlines() if line.startswith(("a.py", "pkg")))
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert stripped.splitlines()[:4] == plain.splitlines()[:4]
