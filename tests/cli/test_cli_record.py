"""The record holds: tampers are found, commits and issues anchor the ledger, and no secret is in it."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tampers import ANCHORED, FOUND, Scene
from typed_command import CART, Punchlist

from needs import SOAK
from punchlist.model.ledger import verify_ledger

SECRET = "sk-ant-" + "api03-Zx8Qw3Er5Ty7Ui9Op2As4Df6Gh8Jk1Lz0Xc"
TEST = "import unittest\n\nfrom cart import total\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(total([1]), 1)\n"


@pytest.fixture(scope="module")
def cart(shared_repo):
    shared_repo.commit({"cart.py": CART, "test_cart.py": TEST})
    return shared_repo


@pytest.fixture(scope="module")
def ran(cart, tmp_path_factory):
    """Two runs; the first one has commits, filed issues and a baseline."""
    punchlist = Punchlist(tmp_path_factory.mktemp("record") / "state", cart.root)
    punchlist.analyzers = ""
    for _ in range(2):
        ended = punchlist("run", "--all", "--yes", "--quiet", "--force")
        assert ended.returncode in {0, 1}, ended.stderr
    return punchlist


def runs(punchlist) -> tuple[str, str]:
    with sqlite3.connect(punchlist.home / "ledger.sqlite3") as database:
        first, second = database.execute("SELECT id FROM runs ORDER BY started_at").fetchall()
    return first[0], second[0]


def trailer(cart, name: str, commit: str) -> str:
    return cart.git(
        "log", "-1", f"--format=%(trailers:key=Punchlist-{name},valueonly)", commit
    ).strip()


def test_tampers_are_found_by_the_audit_and_by_the_verifier_and_rewrites_by_a_commit(
    ran, cart, tmp_path
):
    first, second = runs(ran)
    branch = f"punchlist/{first}"
    kept = tmp_path / "kept"
    shutil.copytree(ran.home, kept)
    for place, tamper in enumerate((None, *FOUND[:: 1 if SOAK else 2], *ANCHORED)):
        shutil.rmtree(ran.home)
        shutil.copytree(kept, ran.home)
        scene = Scene(ran.home, first, second, 0, Random(f"sample {place}"))
        hashes = [json.loads(line)["hash"] for line in scene.lines]
        scene.anchored = 1 + hashes.index(trailer(cart, "Ledger", branch))
        told = tamper(scene) if tamper else "nothing"
        alone = ran("audit", first, "--json")
        said = f"{tamper and tamper.__name__}: {told}: {alone.stdout}{alone.stderr}"
        assert alone.returncode == (7 if tamper in FOUND else 0), said
        if tamper not in FOUND:
            against = ran("audit", first, "--against", branch)
            assert against.returncode == (7 if tamper else 0), said + against.stdout
        lines = Scene(ran.home, first, second, 0, Random(0)).lines
        ledger = verify_ledger.Ledger()
        for line in lines:
            ledger.add_line(line)
        with sqlite3.connect(ran.home / "ledger.sqlite3") as database:
            rows = database.execute("SELECT head FROM runs WHERE id = ?", [first]).fetchall()
        ledger.close(rows[0][0])
        problems = json.loads(alone.stdout)["problems"]
        assert problems[: len(ledger.problems)] == ledger.problems, said
    shutil.rmtree(ran.home)
    shutil.copytree(kept, ran.home)


def test_commits_and_issues_name_the_head_of_the_ledger_and_the_audit_takes_them(
    ran, cart, tmp_path
):
    first, _ = runs(ran)
    branch = f"punchlist/{first}"
    exported = [
        json.loads(line) for line in ran("audit", first, "--export", "-").stdout.splitlines()
    ]
    numbers = {entry["hash"]: entry["seq"] for entry in exported}
    landed = max(entry["seq"] for entry in exported if entry["event"]["kind"] == "committed")
    assert 1 < numbers[trailer(cart, "Ledger", branch)] < landed
    assert trailer(cart, "Run", branch) == first
    items = trailer(cart, "Items", branch).split(", ")
    assert [each.split()[0] for each in trailer(cart, "Proofs", branch).split(", ")] == items
    (issue, *_) = sorted(ran.home.glob("repos/*/issues/**/major-*.md"))
    assert f"<!-- punchlist:ledger {first} " in issue.read_text()
    for named in (branch, f"main..{branch}", str(issue)):
        audit = ran.json("audit", "--against", named)
        assert (audit["run"], audit["ok"]) == (first, True), audit["problems"]
        assert audit["anchors"]
    assert "names no entry" in ran("audit", "--against", "main").stderr
    assert "no commit, range or file" in ran("audit", "--against", "nowhere").stderr
    assert ran("audit", "--against", "--output=x").returncode == 2
    other = ran("audit", runs(ran)[1], "--against", branch)
    assert (other.returncode, "nothing there is of run" in other.stderr) == (2, True)
    assert ran("apply", first, "--squash").returncode == 0
    assert numbers[trailer(cart, "Ledger", "HEAD")] == len(exported)
    shown = subprocess.run(
        [
            sys.executable,
            "-I",
            verify_ledger.__file__,
            "-",
            "--anchor",
            trailer(cart, "Ledger", "HEAD"),
        ],
        input=ran("audit", first, "--export", "-").stdout.encode(),
        capture_output=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stdout
    second = runs(ran)[1]
    assert ran("apply", second).returncode == 0
    assert cart.git("rev-list", "--parents", "-1", "HEAD").count(" ") == 2
    assert ran.json("audit", "--against", "HEAD")["run"] == second


@pytest.fixture
def punchlist(cart, tmp_path):
    return Punchlist(tmp_path / "state", cart.root)


@pytest.fixture
def agent(punchlist, tmp_path):
    """A scripted agent with a variable that is a secret."""
    settings, script = tmp_path / "settings.toml", tmp_path / "script.json"
    finding = {"title": f"the key {SECRET} is in the code", "description": f"password = '{SECRET}'"}
    finding |= {"file_path": "cart.py", "line_start": 6, "line_end": 6, "severity": "minor"}
    deferred = {"outcome": {"outcome": "deferred", "explanation": f"it needs {SECRET}"}}
    lines = [
        {"role": "unified", "answer": {"findings": [finding], "summary": "looked"}},
        {"role": "fixer", "fixes": [deferred]},
    ]
    script.write_text(json.dumps(lines))
    settings.write_text(
        f'[agents]\nuse = ["robot"]\n[agent.robot]\nkind = "scripted"\nscript = "{script}"\n'
        f'[agent.robot.env]\nROBOT_KEY = "{SECRET}x"\n'
    )
    punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    punchlist.analyzers = ""
    return settings


def test_the_ledger_names_agents_variables_and_never_their_values(punchlist, agent):
    ended = punchlist("run", "--all", "--set", "limits.time=0.000001")
    exported = punchlist("audit", "--export", "-").stdout
    assert "ROBOT_KEY" in exported, ended.stderr
    assert f"{SECRET}x" not in exported
    assert f"{SECRET}x".encode() not in (punchlist.home / "ledger.sqlite3").read_bytes()


def test_a_run_whose_variable_is_not_set_any_more_says_which(punchlist, agent, cart):
    punchlist("run", "--all")
    with sqlite3.connect(punchlist.home / "ledger.sqlite3") as database:  # as if it had been killed
        database.execute("DELETE FROM entries WHERE seq > 3")
    agent.write_text(agent.read_text().partition("[agent.robot.env]")[0])
    resumed = punchlist("resume")
    assert "agent.robot.env.ROBOT_KEY" in resumed.stderr, resumed.stdout
    assert SECRET not in resumed.stderr


def test_no_report_has_a_secret_that_issues_leave_out(punchlist, agent):
    punchlist("run", "--all")
    (folder,) = (punchlist.home / "runs").iterdir()
    reports = [path for path in folder.iterdir() if path.name.startswith(("report.", "cycles."))]
    assert len(reports) >= 5
    for path in reports:
        assert SECRET.encode() not in path.read_bytes(), path.name
    assert b"secret removed" in (folder / "report.md").read_bytes()
    for name in ("md", "json", "sarif", "junit", "html"):
        assert SECRET not in punchlist("report", "--format", name).stdout, name
    assert all(
        SECRET not in Path(each).read_text()
        for each in punchlist.home.glob("repos/*/issues/**/*.md")
    )
