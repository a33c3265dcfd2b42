"""`punchlist run` and its kin, started as a user starts them."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib

import pytest
from wheels import pack_coverage

import needs


def test_a_run_ends_with_a_summary_that_says_what_where_and_what_next(done):
    told = done.ran.stdout
    assert "unresolved: some findings are left" in told
    assert "(analyzer clean only; no tests ran)" in told
    assert "fixed with a proof" not in told
    assert "unverified" in told
    assert "punchlist/" in told
    assert "punchlist apply" in told
    assert "cart.py:12" in told
    assert "no fix is known" in told


def test_progress_is_on_stderr_and_plain_where_nobody_watches(done):
    assert "review      ruff reports" in done.ran.stderr
    first = done.ran.stderr.splitlines()[0]
    assert f"run {done.json('list')[0]['run']}; scope: everything at " in first
    assert "\x1b" not in done.ran.stderr + done.ran.stdout


def test_a_scope_nobody_asked_for_is_explained_at_once(punchlist):
    first = punchlist("review").stderr.splitlines()[0]
    assert "scope: everything at " in first
    assert "no other branch looks like the main line" in first


def test_quiet_leaves_only_the_result(punchlist):
    ran = punchlist("run", "--all", "--quiet")
    assert ran.stderr == ""
    assert "Run " in ran.stdout


def test_json_is_exactly_one_document_with_the_exit_code_in_it(punchlist):
    ran = punchlist("run", "--all", "--json")
    document = json.loads(ran.stdout)
    assert document["exit"] == ran.returncode == 1
    assert document["state"] == "ended"
    assert document["report"]["counts"]["items"] == len(document["report"]["items"]) > 0


def test_events_are_the_ledger_as_it_happens(punchlist):
    ran = punchlist("run", "--all", "--events")
    exported = punchlist("audit", "--export", "-")
    assert ran.stdout == exported.stdout
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["event"]["kind"] == "ended"


def test_json_and_events_exclude_each_other(punchlist):
    ran = punchlist("run", "--json", "--events")
    assert ran.returncode == 2
    assert "exclude each other" in ran.stderr


def test_a_dry_run_says_what_would_be_done_and_records_nothing(punchlist, cart):
    before = cart.git("for-each-ref"), cart.git("status", "--porcelain")
    ran = punchlist("run", "--all", "--dry-run")
    assert ran.returncode == 0
    assert "Reviewers  ruff" in ran.stdout
    assert "none were found: fixes would be unverified" in ran.stdout
    assert "repeat, at most" in ran.stdout
    assert "=" not in ran.stdout
    assert "=" in punchlist("run", "--all", "--dry-run", "--verbose").stdout
    assert (cart.git("for-each-ref"), cart.git("status", "--porcelain")) == before
    assert punchlist.json("list") == []


def test_a_file_that_is_new_is_in_scope_as_a_whole_and_its_lines_are_not_made_up(punchlist, cart):
    cart.git("switch", "--quiet", "--create", "topic")
    cart.commit({"new.py": "import os\n"})
    said = punchlist("run", "--dry-run").stdout
    assert ": 1 file as a whole" in said
    assert "000 lines" not in said


def test_a_dry_run_under_json_names_the_checks_and_where_they_come_from(punchlist, cart):
    cart.commit({"pytest.ini": "[pytest]\n", "tests/test_cart.py": "def test_it(): pass\n"})
    plan = punchlist.json("run", "--all", "--dry-run")
    (check,) = plan["checks"]
    assert check["kind"] == "pytest"
    assert check["origin"]
    assert plan["checks_allowed"] is None


def test_checks_nobody_allowed_do_not_run_and_that_is_said(punchlist, cart):
    cart.commit(
        {
            "pytest.ini": "[pytest]\n",
            "tests/test_cart.py": f"import pathlib\npathlib.Path({str(cart.root / 'ran')!r}).touch()\n",
        }
    )
    ran = punchlist("run", "--all")
    assert "may not run yet" in ran.stderr
    assert "hint: --yes, or `punchlist allow`" in ran.stderr
    assert "unverified" in ran.stdout
    assert not (cart.root / "ran").exists()


def test_a_review_lists_and_fixes_nothing(punchlist, cart):
    ran = punchlist("review", "--all")
    assert ran.returncode == 1
    assert "E711" in ran.stdout
    assert "punchlist fix --from" in ran.stdout
    assert cart.git("branch", "--list", "punchlist/*") == ""


def test_a_review_that_finds_nothing_is_clean(repo, make_punchlist):
    repo.commit({"fine.py": '"""Fine."""\n'})
    ran = make_punchlist(repo.root)("review", "--all")
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.splitlines()[-1] == "Clean: no problems found."


def test_where_no_analyzer_looks_at_the_files_that_is_said(repo, make_punchlist):
    repo.commit({"notes.txt": "nothing to see\n"})
    ran = make_punchlist(repo.root)("run", "--all")
    assert (ran.returncode, "No program file here" in ran.stdout) == (0, True), ran.stdout
    repo.commit({"go.sh": "#!/bin/sh\necho $1\n"})
    ran = make_punchlist(repo.root)("run", "--all")
    assert ran.returncode == 3, ran.stdout
    assert "no analyzer here looks at these files" in ran.stdout
    assert "shellcheck looks at shell scripts" in " ".join(ran.stdout.split())


def test_fix_wants_something_to_fix(punchlist):
    ran = punchlist("fix")
    assert ran.returncode == 2
    assert "punchlist fix --findings FILE" in ran.stderr


def test_fix_takes_the_items_of_an_earlier_review(punchlist, cart):
    punchlist("review", "--all", "--quiet")
    ran = punchlist("fix", "--all", "--from", "last", "--json")
    document = json.loads(ran.stdout)
    assert document["report"]["counts"]["fixed"] > 0
    assert any("handed-on.sarif" in each["reviewer"] for each in document["report"]["reviewers"])


def test_fix_takes_single_items_of_an_earlier_review_and_nothing_else(punchlist, tmp_path):
    script, settings = tmp_path / "script.json", tmp_path / "settings.toml"
    said = {"outcome": {"outcome": "fixed"}}
    texts = ("is None and undefined_name", "is None")
    edits = [{"path": "cart.py", "replace": "== None", "with": text} for text in texts]
    work = [{"role": "fixer", "fixes": [{"edits": [edit], **said}]} for edit in edits]
    script.write_text(json.dumps({"lines": [{**work[0], "times": 1}, work[1]]}))
    agent = f'[agent.robot]\nkind = "scripted"\nscript = "{script}"\n'
    settings.write_text(f'analyzers.enabled = ["ruff"]\n{agent}')
    punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    items = punchlist.json("review", "--all")["report"]["items"]
    (wanted,) = [item for item in items if item["findings"][0]["rule"] == "E711"]
    chosen = ("fix", "--all", "--from", "last", "--item", str(wanted["number"]))
    alone = punchlist(*chosen)
    assert (alone.returncode, "--agent NAME" in alone.stderr) == (2, True), alone.stderr
    gone = punchlist(*chosen, "--item", "99", "--agent", "robot")
    assert (gone.returncode, "has no item 99" in gone.stderr) == (2, True)
    report = punchlist.json(*chosen, "--agent", "robot")["report"]
    assert [item["fingerprint"] for item in report["items"]] == [wanted["fingerprint"]]
    assert report["items"][0]["issue_id"].endswith(f"/{wanted['number']}")
    tried = [attempt["why"] for attempt in report["items"][0]["attempts"]]
    assert any("brings about F821" in why for why in tried), "what a fix does is looked at"
    assert [each["reviewer"] for each in report["reviewers"]] == ["file:issues.json"]


def test_items_of_an_earlier_review_are_fixed_where_their_code_is_now(punchlist, cart, tmp_path):
    """The user went on since: lines were added above, and the file has another name."""
    script, settings = tmp_path / "script.json", tmp_path / "settings.toml"
    edit = {"path": "shop/till.py", "replace": "== None", "with": "is None"}
    fixes = [{"edits": [edit], "outcome": {"outcome": "fixed"}}]
    line = {"role": "fixer", "prompt": "file: shop/till.py:9", "fixes": fixes}
    script.write_text(json.dumps({"lines": [line]}))
    agent = f'[agent.robot]\nkind = "scripted"\nscript = "{script}"\n'
    settings.write_text(f'analyzers.enabled = ["ruff"]\n{agent}')
    punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    items = punchlist.json("review", "--all")["report"]["items"]
    (wanted,) = [item for item in items if item["findings"][0]["rule"] == "E711"]
    assert wanted["findings"][0]["spot"]["line"] == 6
    text = (cart.root / "cart.py").read_text()
    cart.git("rm", "--quiet", "cart.py")
    cart.commit({"shop/till.py": f'"""The till."""\n\nimport re\n{text}'}, "a new name")
    chosen = ("fix", "--all", "--from", "last", "--item", str(wanted["number"]))
    report = punchlist.json(*chosen, "--agent", "robot", "--no-checks")["report"]
    (item,) = report["items"]
    spot = item["findings"][0]["spot"]
    assert (spot["path"], spot["line"]) == ("shop/till.py", 9)
    assert item["attempts"][0]["fact"] == "said-fixed", "the fixer was told the new place"


def test_fix_takes_findings_from_a_file(punchlist, cart, tmp_path):
    findings = tmp_path / "review.json"
    findings.write_text(
        json.dumps(
            [
                {
                    "file": "cart.py",
                    "line": 12,
                    "title": "eval of a stranger's text",
                    "severity": "critical",
                }
            ]
        )
    )
    document = punchlist.json("fix", "--all", "--findings", str(findings))
    assert "eval of a stranger's text" in {
        finding["title"] for item in document["report"]["items"] for finding in item["findings"]
    }


ASKING = """
about: Gives up after one round, unless somebody says otherwise.
steps:
  - review
  - consolidate
  - repeat:
      rounds: 1
      on_limit: ask
      hard_cap: 2
      steps: [plan, fix, verify, commit, stop-when: no-must-fix]
  - report
"""


@pytest.fixture
def waiting(punchlist, tmp_path):
    """A run that has asked a person whether to go round again."""
    (tmp_path / "asking.yaml").write_text(ASKING)
    ran = punchlist("run", "--all", "--workflow", str(tmp_path / "asking.yaml"))
    assert ran.returncode == 4, ran.stdout
    assert "waiting for an answer" in ran.stdout
    return punchlist


def test_a_run_that_waits_says_what_to_type_and_an_answer_lets_it_go_on(waiting):
    (run,) = [row["run"] for row in waiting.json("list")]
    status = waiting("status").stdout
    assert f"Next: punchlist answer {run} a   answer it, or with b, c" in status
    assert waiting.json("status")["report"]["questions"][-1]["question"][:30] in status
    wrong = waiting("answer", "last", "z")
    assert wrong.returncode == 2
    assert "the answers are a (" in wrong.stderr
    answered = waiting("answer", "last", "b", "--by", "Ada", "--json")
    items = json.loads(answered.stdout)["report"]["items"]
    assert {
        attempt["by"]
        for item in items
        if item["status"] == "dismissed"
        for attempt in item["attempts"][-1:]
    } == {"Ada"}
    assert waiting.json("status")["state"] == "ended"


def test_an_answer_can_be_recorded_without_going_on(waiting):
    waiting("answer", "last", "a", "--no-resume")
    assert waiting.json("status")["state"] == "stopped"
    assert waiting("resume", "--quiet").returncode == 1
    assert waiting("answer", "last", "a").returncode == 2


def test_resuming_a_run_that_waits_asks_for_the_answer(waiting):
    ran = waiting("resume")
    assert ran.returncode == 2
    assert "waits for an answer" in ran.stderr


def test_there_is_nothing_to_resume_about_a_run_that_ended(done):
    told = done("resume")
    assert told.returncode == done.ran.returncode
    assert "has ended; nothing to resume" in told.stdout
    assert json.loads(done("resume", "--json").stdout)["state"] == "ended"


def test_a_run_that_landed_nothing_has_nothing_to_apply(punchlist):
    punchlist("review", "--all", "--quiet")
    told = punchlist("apply")
    assert told.returncode == 2
    assert "landed no fix, so there is nothing to apply" in told.stderr


def test_the_fixes_come_home_and_the_branch_goes(punchlist, cart):
    punchlist("run", "--all", "--quiet")
    assert punchlist("apply").returncode == 0
    assert "import os" not in (cart.root / "cart.py").read_text()
    assert punchlist("discard").returncode == 0
    assert cart.git("branch", "--list", "punchlist/*") == ""


def test_checks_are_allowed_and_the_permission_is_taken_back(punchlist, cart):
    cart.commit({"pytest.ini": "[pytest]\n", "tests/test_cart.py": "def test_it(): pass\n"})
    assert "-m pytest" in punchlist("allow").stdout
    assert punchlist.json("run", "--all", "--dry-run")["checks_allowed"] is True
    punchlist("allow", "--revoke")
    assert punchlist.json("run", "--all", "--dry-run")["checks_allowed"] is None


def test_settings_are_written_once(punchlist, cart):
    assert punchlist("init").returncode == 0
    assert tomllib.loads((cart.root / ".punchlist.toml").read_text()) == {}
    assert punchlist("init").returncode != 0


def test_the_settings_that_are_written_name_nothing_of_this_machine_and_work(punchlist, cart):
    cart.commit({"tests/test_cart.py": "import pytest\n\ndef test_it(): pass\n"})
    assert punchlist("init").returncode == 0
    text = (cart.root / ".punchlist.toml").read_text()
    (check,) = tomllib.loads(text)["checks"]
    assert check == {"name": "pytest", "command": ["python", "-m", "pytest"], "kind": "pytest"}
    assert str(cart.root) not in text
    assert not re.search(r'"/', text)
    cart.commit({".punchlist.toml": text})
    assert "/python" in punchlist("allow").stdout
    (planned,) = punchlist.json("run", "--all", "--dry-run")["checks"]
    assert planned["command"][0].startswith("/")
    assert planned["command"][1:] == ["-m", "pytest"]
    assert planned["python_from"]


def test_python_in_a_check_is_the_projects_own_and_other_programs_are_looked_for_beside_it(
    punchlist, cart
):
    programs = cart.root / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "lint-it").write_text("#!/bin/sh\n")
    (cart.root / ".gitignore").write_text(".venv\n")
    checks = (
        '[[checks]]\nname = "t"\ncommand = ["python", "t.py"]\n'
        '[[checks]]\nname = "l"\ncommand = ["lint-it"]\nkind = "gate"\n'
        '[[checks]]\nname = "o"\ncommand = ["/bin/true"]\n'
    )
    cart.commit({".punchlist.toml": checks})
    planned = punchlist.json("run", "--all", "--dry-run", "--yes")["checks"]
    commands = [check["command"] for check in planned]
    assert commands == [
        [str(programs / "python"), "t.py"],
        [str(programs / "lint-it")],
        ["/bin/true"],
    ]
    assert planned[0]["python_from"] == ".venv in your checkout"


@pytest.mark.parametrize("covered", [True, False])
def test_the_demo_explains_itself_and_every_finding_has_an_end(punchlist, tmp_path, covered):
    """It installs coverage.py for its tests where that can be had, and goes on where it cannot."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    if covered:
        assert needs.covered_python()
        pack_coverage(wheels)
    punchlist.env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    ran = punchlist("demo", "--folder", str(tmp_path / "demo"))
    assert ran.returncode == 1, ran.stderr
    assert ("coverage.py cannot be installed here" in ran.stderr) is not covered
    assert ("coverage.py is not installed" in ran.stdout) is not covered
    assert "How to read this" in ran.stderr
    assert "Referenced file deleted" in ran.stdout
    assert "breaks " in ran.stdout
    repository = tmp_path / "demo" / "stockroom"
    assert punchlist("audit", cwd=repository).returncode == 0
    shown = punchlist("show", "7", cwd=repository).stdout
    assert ("executing 1 of its 1 changed line" in shown) is covered
    assert punchlist("demo", "--folder", str(tmp_path / "demo")).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--all", "--staged"), "exclude each other"),
        (("run", "--set", "limits.time"), "must be KEY=VALUE"),
        (("run", "--max-time", "soon"), "is no time"),
        (("run", "--findings", "nowhere.sarif"), "does not exist"),
        (("run", "--nonsense"), "No such option"),
        (("status", "zzz"), "no run"),
        (("show", "last"), "no run is recorded"),
        (("answer", "last"), "nothing was answered"),
        (("show", "1"), "no run is recorded"),
        (("show", "1", "2"), "punchlist show last 2"),
        (("status", "7"), '"7" is not a run'),
        (("workflows", "nope"), "punchlist workflows show nope"),
    ],
)
def test_a_request_that_is_wrong_is_exit_code_2_with_a_hint(punchlist, arguments, said):
    ran = punchlist(*arguments)
    assert ran.returncode == 2, ran.stderr
    assert said in ran.stderr
    assert "hint: " in ran.stderr
    assert ran.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--set", "limits.tiem=3"), 'did you mean "limits.time"?'),
        (("run", "--workflow", "provne"), 'did you mean "proven"?'),
        (("workflows", "check", "absent.yaml"), "cannot be read"),
    ],
)
def test_settings_and_workflows_that_are_wrong_are_exit_code_6(punchlist, arguments, said):
    ran = punchlist(*arguments)
    assert ran.returncode == 6, ran.stderr
    assert said in ran.stderr


def test_outside_of_a_repository_the_error_says_so_in_json_too(make_punchlist, tmp_path):
    punchlist = make_punchlist(tmp_path)
    ran = punchlist("run", "--json")
    assert ran.returncode == json.loads(ran.stdout)["exit"] == 6
    assert "error: " in ran.stderr


def test_a_limit_of_time_leaves_the_run_incomplete(punchlist):
    ran = punchlist("run", "--all", "--max-time", "0.01s")
    assert ran.returncode == 3, ran.stdout
    assert "time limit" in ran.stdout


def test_a_ledger_that_does_not_add_up_is_exit_code_7(punchlist):
    punchlist("review", "--all", "--quiet")
    with sqlite3.connect(punchlist.home / "ledger.sqlite3") as database:
        database.execute(
            "UPDATE entries SET line = CAST(replace(line, 'E711', 'E712') AS BLOB) WHERE kind = 'reviewed'"
        )
    audited = punchlist("audit")
    assert audited.returncode == 7
    assert "does NOT add up" in audited.stdout


def test_a_review_says_that_no_check_was_run_and_does_not_look_for_any(punchlist, cart):
    cart.commit({"tests/test_cart.py": "import pytest\n\n\ndef test_it():\n    assert True\n"})
    punchlist("review", "--all")
    report = punchlist("report", "last", "--format", "md").stdout
    assert "No tests or other checks of the project were run" in report
    assert "the workflow runs none, so none was looked for" in report


def test_a_run_that_fixes_nothing_names_the_checks_that_it_did_not_run(punchlist, repo):
    repo.commit({"cart.py": "", "tests/test_cart.py": "def test_it():\n    assert True\n"})
    repo.commit({"clean.py": "TOTAL = 1\n"})
    assert "pytest was not run" in punchlist("run", "--commit", "HEAD", "--yes").stdout


COUNTING = """#!/bin/sh
echo "$*" >> {log}
exec {git} "$@"
"""


def test_a_review_of_what_is_staged_takes_few_processes(punchlist, cart, tmp_path):
    """Each costs some milliseconds, and a review is run before each commit."""
    log, folder = tmp_path / "log", tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(COUNTING.format(log=log, git=shutil.which("git")))
    (folder / "git").chmod(0o755)
    (cart.root / "new.py").write_text("import os\n")
    cart.git("add", "new.py")
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    command = ["-m", "punchlist", "review", "--staged", "--set", "analyzers.enabled=ruff"]
    ran = subprocess.run(
        [sys.executable, *command],
        cwd=cart.root,
        env={**punchlist.env, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    assert len(log.read_text().splitlines()) <= 18, log.read_text()
