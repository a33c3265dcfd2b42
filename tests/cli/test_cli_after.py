"""What the commands say of a run after its end: dismissals, applying and discarding, cleaning up."""

import json
import shutil
import stat

import pytest


@pytest.fixture
def ran(punchlist):
    """A run that fixed two imports and filed what it could not fix."""
    assert punchlist("run", "--all", "--quiet").returncode == 1
    return punchlist


def row(punchlist):
    (line,) = punchlist.json("list")
    return line


def test_list_and_status_agree_on_a_run_whose_leftovers_were_dismissed(ran):
    before = row(ran)
    assert (before["state"], before["outcome"]) == ("ended", "leftovers")
    told = ran("dismiss", "last", "1-99", "--why", "as we like it")
    assert told.returncode == 0, told.stderr
    assert "items of run" in told.stdout or "1 item of run" in told.stdout
    after, status = row(ran), ran.json("status")
    assert (after["state"], after["outcome"], after["seconds"]) == (
        "ended",
        "fixed",
        before["seconds"],
    )
    assert after["seconds"] == pytest.approx(status["report"]["run"]["seconds"], abs=0.01)
    assert (status["exit"], status["report"]["outcome"]) == (0, "fixed")
    assert ran("resume").returncode == 0


def test_a_rule_is_dismissed_by_whom_git_names_and_a_number_that_is_none_is_refused(ran, cart):
    cart.git("config", "user.name", "Ada L.")
    assert "has no item 3-x" in ran("dismiss", "last", "3-x", "--why", "w").stderr
    assert "which items?" in ran("dismiss", "last", "--why", "w").stderr
    assert "can be dismissed" in ran("dismiss", "last", "--rule", "NONE", "--why", "w").stderr
    items = ran.json("status")["report"]["items"]
    left = next(item for item in items if item["status"] == "filed")
    assert (
        "dismissed"
        in ran(
            "dismiss",
            "last",
            "--path",
            "cart.py",
            "--rule",
            left["findings"][0]["rule"],
            "--why",
            "w",
        ).stdout
    )
    now = next(
        item for item in ran.json("status")["report"]["items"] if item["number"] == left["number"]
    )
    assert (now["status"], now["attempts"][-1]["by"]) == ("dismissed", "Ada L.")
    assert "taken up again" in ran("dismiss", "last", str(left["number"]), "--undo").stdout
    assert "not dismissed" in ran("dismiss", "last", str(left["number"]), "--undo").stderr


def test_the_list_shows_what_became_of_the_fixes(ran):
    assert row(ran)["standing"] == ""
    ran("discard")
    assert "unresolved, discarded" in ran("list").stdout
    refused = ran("apply")
    assert refused.returncode == 2
    assert "was discarded: its branch is gone" in refused.stderr
    assert "git branch punchlist/" in refused.stderr


def test_cleaning_names_what_it_removes_and_reports_go_only_when_asked_for(ran):
    run = row(ran)["run"]
    report = ran.home / "runs" / run / "report.html"
    assert report.exists()
    assert "work tree" in ran("clean").stdout
    (repository,) = (ran.home / "repos").iterdir()
    (repository / "trees" / "t1").mkdir()
    assert ran("clean").stdout == "removed 1 work tree\n"
    assert report.exists()
    assert "nothing to remove" in ran("clean").stdout
    for alone in (("--older-than", "0"), ("--reports",)):
        assert "go together" in ran("clean", *alone).stderr
    ran("dismiss", "last", "1-99", "--why", "a later word does not make it younger, nor unfinished")
    assert "nothing to remove" in ran("clean", "--reports", "--older-than", "1").stdout
    assert (
        f"removed the reports of 1 run: {run}"
        in ran("clean", "--reports", "--older-than", "0").stdout
    )
    assert not report.exists()
    assert ran("audit").returncode == 0


def test_what_is_kept_of_a_repository_that_is_gone_goes_from_anywhere_and_the_ledger_stays(
    ran, tmp_path
):
    run = row(ran)["run"]
    assert "nothing to remove" in ran("clean", "--all", cwd=tmp_path).stdout
    shutil.rmtree(ran.folder)
    said = ran("clean", "--all", cwd=tmp_path)
    assert f"removed what was kept of {ran.folder}/.git, which is gone" in said.stdout, said
    assert list((ran.home / "repos").iterdir()) == []
    assert list((ran.home / "runs").iterdir()) == []
    listed = json.loads(ran("list", "--all", "--json", cwd=tmp_path).stdout)
    assert [line["run"] for line in listed] == [run]


def test_the_state_folder_is_closed_to_others(ran):
    modes = {
        name: stat.S_IMODE((ran.home / name).stat().st_mode)
        for name in ("", "runs", "repos", "ledger.sqlite3")
    }
    assert modes == {"": 0o700, "runs": 0o700, "repos": 0o700, "ledger.sqlite3": 0o600}


@pytest.mark.soak
def test_the_demo_leaves_no_workshop_behind_and_tells_the_same_the_next_time(punchlist, tmp_path):
    first, second = (punchlist("demo", "--quiet") for _ in range(2))
    assert (first.returncode, second.returncode) == (1, 1)
    for ran in (first, second):
        assert "breaks tests.test_money.MoneyTest.test_half_a_cent_goes_up\n" in ran.stdout
        assert "it was not tried again" not in ran.stdout
    assert list((punchlist.home / "repos").glob("*/git")) == []
    assert list((punchlist.home / "repos").glob("*/trees")) == []
    assert "which is gone" in punchlist("clean", "--all", cwd=tmp_path).stdout
