"""Others at work in the same repository at the same time: a second run, and the user; and a clock that nobody can rely on."""

import json
import shutil
import threading
import time

import pytest
from hostile_ground import RUFF, Ground, notes

BAD = "import os\n\nprint(1)\n"


@pytest.fixture
def slow(repo, ground):
    """Makes every run wait, with its fixes judged and not yet landed, until `go()`; `waiting()` returns once one does.

    The user's own pre-commit hook does that; it leaves the user's own commits alone, which have a date of their own.
    """
    gate = repo.root / ".git" / "hooks" / "gate"
    repo.write(
        ".git/hooks/pre-commit",
        f'#!/bin/sh\n[ -n "$GIT_AUTHOR_DATE" ] && exit 0\nfor _ in $(seq 600); do [ -e {gate} ] && exit 0; sleep 0.05; done\nexit 1\n',
        mode=0o755,
    )

    class Slow:
        def waiting(self, runs=1):
            for _ in range(600):
                if ground.judged() >= runs:
                    return
                time.sleep(0.05)
            raise AssertionError("the run did not come that far")

        def go(self):
            gate.touch()

    return Slow()


def ended(process):
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err, err
    return process.returncode, json.loads(out), err


def test_the_same_request_twice_at_once_names_the_run_at_work(repo, ground, slow):
    repo.commit({"a.py": BAD})
    first = ground.start("run", "--all", "--yes", "--json", *RUFF)
    slow.waiting()
    second = ground.review()
    slow.go()
    code, told, err = ended(first)
    assert code == 0, err
    assert second.code == 5
    assert second.json["run"] == told["run"]
    assert told["run"] in second.error
    assert ground.ledgers() == 1
    assert ground.sound()["ok"]


def test_a_run_at_work_cannot_be_resumed_answered_or_discarded_by_another(repo, ground, slow):
    repo.commit({"a.py": BAD})
    first = ground.start("run", "--all", "--yes", "--json", *RUFF)
    slow.waiting()
    told = [ground("resume"), ground("discard")]
    cleaned = ground("clean", "--json")
    slow.go()
    assert ended(first)[0] == 0
    assert [each.code for each in told] == [5, 5]
    assert all("is already at work" in each.error for each in told)
    assert cleaned.code == 0
    assert ground.sound()["fixed"] == 1


def test_different_scopes_at_once_both_finish_and_neither_disturbs_the_other(repo, ground, slow):
    repo.commit({"one/a.py": BAD, "two/b.py": BAD})
    first = ground.start("run", "--all", "--yes", "--json", *RUFF, "one")
    second = ground.start("run", "--all", "--yes", "--json", *RUFF, "two")
    slow.waiting(2)
    slow.go()
    runs = {}
    for name, process in (("one", first), ("two", second)):
        code, told, err = ended(process)
        assert code == 0, err
        runs[name] = told["report"]["run"]
    for name, run in runs.items():
        assert ground("audit", run["id"]).code == 0
        changed = repo.git("diff", "--name-only", f"main..{run['branch']}").split()
        assert [path.split("/")[0] for path in changed] == [name]


def test_many_different_runs_at_once_in_one_home(repo, ground):
    names = ["a", "b", "c", "d"]
    repo.commit({f"{name}/m.py": BAD for name in names})
    processes = [ground.start("run", "--all", "--yes", "--json", *RUFF, name) for name in names]
    told = [ended(process) for process in processes]
    assert [code for code, _, _ in told] == [0] * 4, [err for _, _, err in told]
    assert ground.ledgers() == 4
    for _, document, _ in told:
        assert ground("audit", document["run"]).code == 0


def commit_more(repo):
    repo.write("later.py", "import re\n")
    repo.git("add", "later.py")
    repo.git("commit", "--quiet", "--no-verify", "--message", "meanwhile")


def switch(repo):
    repo.git("switch", "--quiet", "--create", "elsewhere")
    commit_more(repo)


def rebase(repo):
    repo.git("commit", "--quiet", "--no-verify", "--amend", "--message", "amended")
    repo.git("reflog", "expire", "--expire=now", "--all")


def collect(repo):
    rebase(repo)
    repo.git("gc", "--quiet", "--prune=now", "--aggressive")


def reset(repo):
    repo.git("reset", "--quiet", "--hard", "HEAD~1")


@pytest.mark.parametrize("meanwhile", [commit_more, switch, rebase, collect, reset])
def test_what_the_user_does_meanwhile_neither_disturbs_the_run_nor_is_disturbed(
    repo, ground, slow, meanwhile
):
    repo.commit({"z.py": "z = 1\n"})
    repo.commit({f"m{number}.py": BAD for number in range(5)})
    process = ground.start("run", "--all", "--yes", "--json", *RUFF)
    slow.waiting()
    meanwhile(repo)
    head, where, status = (
        repo.head,
        repo.git("symbolic-ref", "HEAD"),
        repo.git("status", "--porcelain"),
    )
    slow.go()
    code, told, err = ended(process)
    assert (repo.head, repo.git("symbolic-ref", "HEAD"), repo.git("status", "--porcelain")) == (
        head,
        where,
        status,
    )
    audit = ground.sound()
    if code == 0:
        assert audit["fixed"] == 5
        assert repo.git(
            "diff",
            "--name-only",
            f"{told['report']['change']['head']}..{told['report']['run']['branch']}",
        )
    else:
        assert meanwhile is collect, err
        assert code in (3, 6), err
        assert audit["fixed"] == 0
        assert "the commit under review is gone from the repository" in json.dumps(
            told["report"]["trouble"]
        )
    fsck = repo.git("fsck", "--full", "--no-dangling")
    assert fsck == ""


def test_a_run_branch_that_the_user_deleted_or_moved_meanwhile_is_told(repo, ground):
    """Two rounds: the branch appears after the first, and is gone when the second wants to add to it."""
    repo.commit({"a.py": "import os\nimport re\nif re == None:\n    pass\n"})
    repo.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE\n"
        f"cd {repo.root}\nfor b in $(git for-each-ref --format='%(refname:short)' refs/heads/punchlist); do git branch -D $b; done\nexit 0\n",
        mode=0o755,
    )
    told = ground("run", "--all", "--yes", "--json", *RUFF)
    assert told.code in (0, 1, 3), told.stderr
    audit = ground.sound()
    fixed = [item for item in ground.items() if item["status"] == "fixed"]
    assert len(fixed) == audit["fixed"]
    branch = f"punchlist/{audit['run']}"
    for item in fixed:
        assert repo.git("merge-base", "--is-ancestor", item["commit"], branch) == "", (
            "what is called fixed is on the branch"
        )


def test_a_run_branch_deleted_after_the_run_can_still_be_applied(repo, ground):
    repo.commit({"a.py": BAD})
    run = ground.review().json["run"]
    repo.git("branch", "-D", f"punchlist/{run}")
    told = ground("apply")
    assert told.code == 0, told.stderr
    assert (repo.root / "a.py").read_text() == "\nprint(1)\n"


def test_a_repository_that_vanishes_under_a_run_is_told(repo, ground, slow):
    repo.commit({"a.py": BAD})
    process = ground.start("run", "--all", "--yes", "--json", *RUFF)
    slow.waiting()
    shutil.move(repo.root, repo.root.with_name("moved"))
    (repo.root.with_name("moved") / ".git" / "hooks" / "gate").touch()
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err, err
    assert process.returncode in (1, 3, 6), out + err
    moved = Ground(repo.root.with_name("moved"), ground.home)
    told = moved("resume")
    assert told.code in (2, 6)
    assert "error: " in told.stderr
    shutil.move(moved.folder, repo.root)
    assert ground.sound()["ok"]


def test_a_clock_that_goes_backwards_breaks_nothing(repo, ground, monkeypatch):
    """Every look at the clock is an hour before the last one."""
    repo.commit({"a.py": BAD, "b.py": "def f(:\n"})
    now = iter(range(2_000_000_000, 0, -3600))
    turn = threading.Lock()

    def back():
        with turn:
            return float(next(now))

    monkeypatch.setattr(time, "time", back)
    told = ground.review("--set", "limits.time=600")
    assert told.code == 1, told.stdout + told.stderr
    assert ground.sound()["fixed"] == 1
    assert told.json["report"]["run"]["seconds"] >= 0
    assert "time limit" not in notes(told)
    again = ground.review()
    assert again.code == 1
    assert ground("show", again.json["run"]).code == 0
    for form in ("md", "json", "sarif", "junit", "html"):
        assert ground("report", "--format", form).code == 0


def test_a_clock_at_the_beginning_of_time_or_far_ahead_breaks_nothing(repo, ground, monkeypatch):
    repo.commit({"a.py": BAD})
    for moment in (0.0, 4_102_444_800.0 * 2):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        told = ground.review()
        assert told.code == 0, told.stdout + told.stderr
        assert ground.sound()["ok"]


def test_an_interpreter_in_odd_surroundings_still_speaks(repo, ground):
    repo.commit({"ünï.py": BAD})
    told = ground.started(
        "run", "--all", "--yes", *RUFF, LANG="C", LC_ALL="C", PYTHONIOENCODING="ascii", TERM="dumb"
    )
    assert told.code == 0, told.stderr
    assert "Traceback" not in told.stderr
