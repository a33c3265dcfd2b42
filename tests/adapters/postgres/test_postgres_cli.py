"""The command line works on a ledger in PostgreSQL as on one in SQLite, and copies between them."""

import json
import os
import subprocess

import psycopg
import pytest

import warm
from postgres_server import run_server


@pytest.fixture(scope="module")
def url():
    with run_server() as server:
        with psycopg.connect(f"{server}/postgres", autocommit=True) as base:
            base.execute("CREATE DATABASE fleet")
        yield f"{server}/fleet"


@pytest.fixture
def punchlist(repo, tmp_path, url):
    """Run the command on the store; return what it printed."""
    repo.commit({"a.py": "import os\n"})

    def run(*words, store=url, home="home", code=0):
        env = {**os.environ, "PUNCHLIST_HOME": str(tmp_path / home), "PUNCHLIST_STORE": store}
        command = warm.command(*words)
        ran = subprocess.run(
            command, cwd=repo.root, env=env, capture_output=True, text=True, check=False
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stderr if code else ran.stdout

    return run


def test_a_run_is_recorded_seen_from_another_home_audited_and_copied_back(punchlist, url, tmp_path):
    assert "punchlist store upgrade" in punchlist("review", "--all", code=7)
    assert "version 0 to" in punchlist("store", "upgrade")
    assert "is up to date" in punchlist("store", "upgrade")
    punchlist("review", "--all", code=1)
    (run,) = json.loads(punchlist("list", "--json", home="elsewhere"))
    assert not (tmp_path / "home" / "ledger.sqlite3").exists()
    assert json.loads(punchlist("audit", "--json", home="elsewhere"))["ok"]
    lines = punchlist("audit", "--export", "-")
    assert run["run"] in lines
    assert url not in lines
    back = f"sqlite:{tmp_path / 'back'}"
    for new in (lines.count("\n"), 0):
        copied = json.loads(punchlist("store", "copy", url, back, "--json"))
        assert copied == {"runs": 1, "entries": new}
    assert punchlist("audit", "--export", "-", store=back) == lines
    assert json.loads(punchlist("store", "show", "--json", store=back))["runs"] == 1


def test_a_repository_cannot_say_where_the_ledger_is(punchlist, repo, tmp_path):
    repo.commit({".punchlist.toml": 'store = "postgresql://x@127.0.0.1:1/x"\n'})
    punchlist("review", "--all", store="", code=1)
    assert (tmp_path / "home" / "ledger.sqlite3").exists()


def test_an_unknown_kind_of_store_is_told(punchlist):
    assert "mysql is no kind of store" in punchlist("list", store="mysql://x/y", code=6)
