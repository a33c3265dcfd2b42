"""Looking at a run that is done."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.cli.drawing import draw_lines
from punchlist.cli.show.summary import render_summary
from punchlist.model.ledger.fold import fold_entries


def recorded(punchlist):
    """Its last run, from the ledger."""
    store = SqliteStore.open(punchlist.home, readonly=True)
    run = store.find_run("last")
    return fold_entries(run, store.read(run))


def test_the_status_is_the_summary_again_and_exit_code_0(done):
    status = done("status")
    assert status.returncode == 0
    assert status.stdout == done.ran.stdout


def test_the_list_has_one_line_per_run(done):
    listed = done("list").stdout.splitlines()
    assert listed[0].split()[0] == "Run"
    assert "unresolved" in listed[1]
    (row,) = done.json("list")
    assert row["outcome"] == "leftovers"


def test_every_repository_is_listed_from_anywhere(done, tmp_path):
    assert "unresolved" in done("list", "--all", cwd=tmp_path).stdout


def test_a_run_is_found_by_any_part_of_its_id(done):
    (row,) = done.json("list")
    for part in (row["run"][:-1], row["run"][7:], row["run"][3:11].upper()):
        assert done("status", part).returncode == 0
        assert done("show", part).returncode == 0
        assert done("report", part).returncode == 0
    none = done("status", "xyz")
    assert none.returncode == 2
    assert f"there are: {row['run']}" in none.stderr


def test_an_item_is_found_by_its_number_its_code_or_a_part_of_its_fingerprint(done):
    items = done.json("show")
    item = next(each for each in items if each["number"] == 2)
    whole = done("show", "last", "2").stdout
    for name in ("#2", "F002", "f2", item["fingerprint"], item["fingerprint"][-8:]):
        assert done("show", "last", name).stdout == whole, name
    none = done("show", "last", "zzzz")
    assert (none.returncode, "has no item zzzz" in none.stderr) == (2, True)
    assert "its items are 1 to" in none.stderr


def test_items_are_shown_by_severity_file_and_line_and_no_line_ends_in_spaces(done):
    shown = done("show").stdout
    assert shown.index("E711") < shown.index("F401")
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_items_can_be_asked_for_by_status(done):
    assert {item["status"] for item in done.json("show", "--status", "fixed")} == {"fixed"}
    assert "has no such item" in done("show", "--status", "dismissed").stdout


def test_one_item_is_shown_with_its_history_its_proof_and_its_change(done):
    fixed = done.json("show", "--status", "fixed")[0]
    shown = done("show", "last", str(fixed["number"])).stdout
    for part in ("Reported by", "History", "fix claimed", "Proof", "analyzer clean", "Landed as"):
        assert part in shown
    assert "\n  -" in shown
    assert "Landed as" not in done("show", "last", str(fixed["number"]), "--no-diff").stdout


def test_an_item_that_is_not_there_is_a_usage_error(done):
    shown = done("show", "last", "99")
    assert shown.returncode == 2
    assert "its items are 1 to" in shown.stderr


@pytest.mark.parametrize("form", ["md", "json", "sarif", "junit", "html"])
def test_a_report_goes_to_stdout_or_to_a_file(done, form, tmp_path):
    printed = done("report", "--format", form)
    assert printed.returncode == 0, printed.stderr
    target = tmp_path / "report"
    assert done("report", "--format", form, "-o", str(target)).stdout == ""
    assert target.read_text() == printed.stdout
    assert "E711" in printed.stdout


def test_a_report_that_cannot_be_written_is_told_with_the_file(done, tmp_path):
    told = done("report", "-o", str(tmp_path / "absent" / "report.md"))
    assert told.returncode == 2
    assert "cannot be written" in told.stderr


def test_the_audit_adds_up(done, tmp_path):
    audited = done("audit", "--export", str(tmp_path / "ledger.jsonl"))
    assert audited.returncode == 0
    assert "the ledger adds up" in audited.stdout
    lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
    assert done.json("audit")["entries"] == len(lines)


def test_the_ledger_of_a_run_can_be_read_as_events(done):
    lines = [json.loads(line) for line in done("status", "--events").stdout.splitlines()]
    assert lines[0]["event"]["kind"] == "started"


def test_the_report_is_opened_in_the_browser_or_it_is_said_where_it_is(done, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    opened = done("report", "--open", BROWSER=f"{browser} %s", TMPDIR=str(tmp_path))
    assert (opened.returncode, "it is open in your browser" in opened.stderr) == (0, True)
    page = Path((tmp_path / "opened").read_text().strip().removeprefix("file://"))
    assert page.read_text().startswith("<!doctype html>")
    none = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    written = done("report", "--open", "-o", str(tmp_path / "r.html"), **none)
    assert written.returncode == 0
    assert f"wrote {tmp_path / 'r.html'}" in written.stderr
    assert "there is no browser here" in written.stderr
    assert done("report", "--open", "--format", "md", **none).returncode == 2


def test_the_doctor_tells_what_is_there(done):
    told = done("doctor")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "ruff" in told.stdout
    assert {probe["name"] for probe in done.json("doctor")} >= {"python", "git", "ruff"}


def test_the_settings_say_where_they_come_from(done):
    told = done("doctor", "--settings", PUNCHLIST_LIMITS__TIME="60")
    (line,) = [line for line in told.stdout.splitlines() if line.startswith("limits.time")]
    assert "60" in line
    assert "PUNCHLIST_LIMITS__TIME" in line


def test_workflows_are_listed_shown_and_checked(done, tmp_path):
    assert "proven" in done("workflows").stdout
    assert set(done.json("workflows", "list")) >= {"proven", "review"}
    text = done("workflows", "show", "proven").stdout
    own = tmp_path / "own.yaml"
    own.write_text(text)
    assert done("workflows", "check", str(own)).returncode == 0
    own.write_text(text.replace("stop-when: settled", "stop-when: settl"))
    wrong = done("workflows", "check", str(own))
    assert wrong.returncode == 6
    assert 'did you mean "settled"?' in wrong.stderr


def test_the_summary_keeps_its_columns_on_a_narrow_terminal(done):
    lines = list(draw_lines(render_summary(recorded(done)), 60))
    assert all(len(line) <= 60 for line in lines)
    tally = next(number for number, line in enumerate(lines) if line.startswith("  Fixed"))
    end = next(number for number, line in enumerate(lines) if line.startswith("Next: "))
    assert all(line.startswith("  ") for line in lines[tally:end] if line.strip())


def test_what_is_below_home_begins_with_a_tilde(done):
    assert "~/state/runs/" in done("status", "-v").stdout
    assert "filed in ~/state/repos/" in done("status").stdout
    assert str(done.home) not in done("status", "-v").stdout


def test_a_setting_without_a_value_says_so(done):
    told = done("doctor", "--settings").stdout
    assert re.search(r"^track\.folder +\(none\)", told, re.MULTILINE)


def test_no_color_and_width_are_honoured(done):
    assert max(map(len, done("status", COLUMNS="200").stdout.splitlines())) <= 200
    assert "\x1b" not in done("status", NO_COLOR="1").stdout


@pytest.mark.parametrize("made", [True, False], ids=["without commits", "outside"])
@pytest.mark.parametrize(
    ("typed", "code"),
    [
        (["doctor", "--settings"], 0),
        (["list"], 0),
        (["workflows"], 0),
        (["show", "last"], 2),
        (["report", "last"], 2),
        (["audit", "last"], 2),
        (["status"], 2),
    ],
)
def test_commands_that_only_look_work_without_commits_and_outside(
    make_punchlist, tmp_path, typed, code, made
):
    folder = tmp_path / "empty"
    folder.mkdir()
    if made:
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    ran = make_punchlist(folder)(*typed)
    assert ran.returncode == code, ran.stderr
    assert "no commits" not in ran.stderr
    assert "not a git repository" not in ran.stderr
