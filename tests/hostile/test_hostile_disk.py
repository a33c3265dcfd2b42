"""A state folder that cannot be written, or runs full in the middle: a clear error, an intact ledger, and a run that goes on."""

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hostile_ground import RUFF, Ground

from small_disks import full, mounted

__all__ = ["mounted"]

BAD = "import os\n\nprint(1)\n"


@pytest.fixture
def sealed(mounted):
    """Makes a mounted folder read-only, for root too."""
    return lambda folder: subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def fill_when_held(home: Path, leave: int) -> None:
    """The hook can write nowhere but in its tree: that is where it says that it waits."""
    while not (held := list(home.glob("repos/*/trees/*/held"))):
        time.sleep(0.02)
    full(home, leave)
    held[0].unlink()


def test_a_read_only_home_is_told_with_a_remedy_and_the_checkout_is_not_blamed(
    repo, mounted, sealed
):
    repo.commit({"a.py": BAD})
    home = mounted("state", "size=1m")
    sealed(home)
    ground = Ground(repo.root, home)
    for told in (ground.review(), ground("allow"), ground("run", "--all", "--dry-run")):
        assert told.code in (6, 7), told.stdout
        assert str(home) in told.error
        assert "read-only" in told.error or "Read-only" in told.error
        assert "PUNCHLIST_HOME" in told.error
    doctor = ground("doctor")
    assert "PUNCHLIST_HOME" in doctor.stdout


def test_what_was_recorded_can_be_read_from_a_home_that_became_read_only(repo, mounted, sealed):
    repo.commit({"a.py": BAD})
    home = mounted("state", "size=64m")
    ground = Ground(repo.root, home)
    assert ground.review().code == 0
    sealed(home)
    for command in (("status",), ("show",), ("list",), ("audit",), ("report", "--format", "json")):
        told = ground(*command)
        assert told.code == 0, (command, told.stderr)
    refused = ground.review()
    assert refused.code in (6, 7)
    assert "PUNCHLIST_HOME" in refused.error


def test_a_home_that_is_a_file_or_below_one_is_told(repo, ground, tmp_path):
    repo.commit({"a.py": BAD})
    (tmp_path / "file").write_text("not a folder")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        told = Ground(repo.root, home).review()
        assert told.code in (6, 7)
        assert "PUNCHLIST_HOME" in told.error


def test_a_disk_that_is_full_from_the_start_is_told_and_nothing_begins(repo, mounted):
    repo.commit({"a.py": BAD})
    home = mounted("state", "size=1m")
    filler = full(home)
    ground = Ground(repo.root, home)
    told = ground.review()
    assert told.code in (6, 7), told.stdout
    assert "full" in told.error or "No space" in told.error
    filler.unlink()
    assert ground.review().code == 0
    assert ground.sound()["ok"]


def test_a_disk_too_small_for_a_work_tree_stops_the_run_and_resume_goes_on_once_there_is_room(
    repo, mounted
):
    repo.commit({"a.py": BAD, "data.bin": os.urandom(3_000_000)})
    home = mounted("state", "size=8m")
    ground = Ground(repo.root, home)
    filler = full(home, leave=1_500_000)
    told = ground.review("--set", "detect-checks=false")
    assert told.code == 7, told.stdout
    assert "No space left" in told.error or "full" in told.error
    assert "free some" in told.error
    filler.unlink()
    assert ground.sound()["ok"]
    assert ground("resume").code == 0
    assert ground.sound()["fixed"] == 1


@pytest.mark.parametrize("leave", [0, 4_096, 20_000, 60_000, 200_000])
def test_a_disk_that_runs_full_while_the_run_commits_loses_nothing_and_resume_finishes(
    repo, mounted, leave
):
    """The user's own pre-commit hook holds the run at the worst moment, until somebody has filled the disk."""
    repo.commit({f"m{number}.py": BAD for number in range(60)})
    home = mounted("state", "size=32m")
    ground = Ground(repo.root, home)
    hook = repo.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\n: > held\nwhile [ -e held ]; do sleep 0.02; done\n",
        mode=0o755,
    )
    filling = threading.Thread(target=fill_when_held, args=(home, leave), daemon=True)
    filling.start()
    told = ground("run", "--all", "--yes", "--json", *RUFF, "--set", "detect-checks=false")
    hook.unlink()
    filler = home / "filler"
    assert filler.exists()
    if told.code not in (0, 1, 3):
        assert told.code == 7, told.stderr
        assert "full" in told.error or "No space left" in told.error
        assert "resume" in told.error
    assert ground("audit").code == 0, "what was recorded adds up while the disk is still full"
    filler.unlink()
    resumed = ground("resume", "--json")
    assert resumed.code in (0, 1), resumed.stdout[-3000:] + resumed.stderr
    audit = ground.sound()
    assert audit["fixed"] == audit["items"] == 60
    assert repo.git("fsck", "--full", "--no-dangling") == ""
    commits = repo.git("log", "--format=%s", f"main..punchlist/{audit['run']}").splitlines()
    assert commits == ["Fix F401: 60 items"]


def test_a_full_disk_where_issues_are_filed_lists_what_could_not_be(repo, mounted, ground):
    repo.commit({"a.py": "def f(:\n"})
    issues = mounted("issues", "size=1m")
    full(issues)
    told = ground.review("--set", f"track.folder={issues}")
    assert told.code == 3, told.stdout
    assert [item["unfiled"] != "" for item in told.json["report"]["items"]] == [True] * len(
        told.json["report"]["items"]
    )
    audit = ground.sound()
    assert audit["listed"] == audit["items"] > 0


def test_a_ledger_that_is_no_ledger_is_told_and_left_alone(repo, ground):
    repo.commit({"a.py": BAD})
    ground.home.mkdir()
    ledger = ground.home / "ledger.sqlite3"
    ledger.write_bytes(b"my holiday pictures" * 1000)
    told = ground.review()
    assert told.code == 7
    assert "not a ledger" in told.error
    assert ledger.read_bytes() == b"my holiday pictures" * 1000


def test_a_ledger_somebody_wrote_in_does_not_pass_the_audit(repo, ground):
    import sqlite3

    repo.commit({"a.py": BAD})
    assert ground.review().code == 0
    with sqlite3.connect(ground.home / "ledger.sqlite3") as database:
        database.execute(
            "UPDATE entries SET line = replace(line, 'F401', 'F402') WHERE kind = 'reviewed'"
        )
    database.close()
    told = ground("audit")
    assert told.code == 7
    assert "Traceback" not in told.stderr
    assert ground("run", "--all", "--dry-run", *RUFF).code == 0
