"""State that is deleted under a run: it is said, and nothing counts as done that is recorded nowhere."""

import json

import pytest


@pytest.mark.parametrize("gone", ["", "ledger.sqlite3", "repos", "repos/*/trees", "repos/*/git"])
def test_state_that_is_deleted_under_a_run_is_told(repo, ground, tmp_path, monkeypatch, gone):
    """By a tool of the user's that runs without a sandbox."""
    monkeypatch.setattr("punchlist.adapters.sandbox.support.find_bubblewrap", lambda: "")
    monkeypatch.setattr("punchlist.adapters.sandbox.support.find_version", lambda: 0)
    repo.commit({"a.py": "import os\n"})
    settings = tmp_path / "config/punchlist/settings.toml"
    settings.parent.mkdir(parents=True)
    command = json.dumps(["sh", "-c", f"rm -rf {ground.home}/{gone}"])
    settings.write_text(
        f'[[analyzers.custom]]\nname = "odd"\ncommand = {command}\nfiles = ["*.py"]\n'
    )
    told = ground(
        "run",
        "--all",
        "--no-checks",
        "--set",
        "analyzers.enabled=odd,ruff",
        XDG_CONFIG_HOME=str(settings.parents[1]),
    )
    said = " ".join((told.stdout + told.stderr).split())
    assert told.code != 0
    assert "Traceback" not in said
    assert "was deleted" in said, said
    more = ground("status", "-v").stdout
    assert "start a new run" in said + " ".join(more.split())
    assert "punchlist/" not in repo.git("branch", "--list")
