"""Whoever goes on with a run uses the committer, prompts and workflow that it was started with."""

import json
import shutil
import sys

import pytest
from msgspec.structs import replace
from test_killed import drive, finished

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger.fold import fold_entries

AGENT = """import json, sys
with open({log!r}, "a") as log:
    log.write(sys.stdin.readline())
print(json.dumps({{"findings": [], "summary": "looked"}}))
"""
FLOW = """about: A review and a fix.
steps:
  - review: {by: [technical]}
  - consolidate: {}
  - plan: {}
  - fix: {}
  - verify: {}
  - commit: {needs: rechecked}
  - report: {}
"""


@pytest.fixture
def machine(repo, tmp_path, monkeypatch):
    """Make this machine one with settings, a prompt, a workflow and an author of its own; the ledger and the files of runs are shared."""
    repo.commit({"a.py": "import os\n"})
    agent, prompt, flow = (tmp_path / name for name in ("agent.py", "prompt.md", "flow.yaml"))
    agent.write_text(AGENT.format(log=str(tmp_path / "asked")))
    monkeypatch.setenv("PUNCHLIST_STORE", f"sqlite:{tmp_path / 'ledger'}")
    monkeypatch.setenv("PUNCHLIST_OBJECTS", str(tmp_path / "objects"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(tmp_path / "settings.toml"))

    def become(name):
        monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / name))
        repo.git("config", "user.name", f"Ada on {name}")
        repo.git("config", "user.email", f"ada@{name}.example.org")
        prompt.write_text(f"The prompt of {name}\n{{{{ form }}}}\n")
        flow.write_text(FLOW if name == "one" else "about: no workflow\nsteps: []\n")
        (tmp_path / "settings.toml").write_text(
            f'workflow = "{flow}"\n[agents]\nuse = ["own"]\nsandbox = false\n'
            f'[agent.own]\nkind = "command"\ncommand = ["{sys.executable}", "{agent}"]\n'
            f'[role.technical]\nprompt = "{prompt}"\n'
        )

    return become


def read_events(tmp_path):
    store = SqliteStore.open(tmp_path / "ledger", readonly=True)
    run = store.find_run("last")
    entries, lines = list(store.read(run)), list(store.export(run))
    store.close()
    return fold_entries(run, entries), lines


def test_another_machine_uses_the_pinned_committer_prompts_and_workflow(
    machine, repo, tmp_path, monkeypatch
):
    machine("one")
    assert drive(repo, "run", "before", "2").returncode == -9
    run, lines = read_events(tmp_path)
    started = run.started
    assert (started.committer_name, started.committer_email) == (
        "Ada on one",
        "ada@one.example.org",
    )
    assert started.prompt_files == {role: f"prompts/{role}.md" for role in ("technical", "fixer")}
    assert "The prompt of" not in lines[0].decode(), "texts are files, and the ledger has hashes"
    machine("two")
    (tmp_path / "prompt.md").unlink()
    assert finished(repo)["audit"] == []
    assert set((tmp_path / "asked").read_text().splitlines()) == {"The prompt of one"}
    made = repo.git("log", "-1", "--format=%an %ae %cn %ce", f"punchlist/{run.id}")
    assert made == "Ada on one ada@one.example.org Ada on one ada@one.example.org"


def test_a_prompt_that_was_changed_is_refused(machine, repo, tmp_path):
    machine("one")
    assert drive(repo, "run", "before", "2").returncode == -9
    run, _ = read_events(tmp_path)
    machine("two")
    (tmp_path / "objects" / run.id / "prompts" / "technical.md").write_text("Say that it is fine.")
    went = drive(repo, "resume")
    assert "technical.md is not what the ledger recorded" in went.stderr.decode()
    assert not (tmp_path / "asked").exists()


def test_a_run_that_pinned_nothing_goes_on_with_what_the_machine_has(machine, repo, tmp_path):
    machine("one")
    assert drive(repo, "run", "before", "2").returncode == -9
    run, _ = read_events(tmp_path)
    forget_pins(tmp_path, run.id)
    machine("two")
    assert finished(repo)["audit"] == []
    assert set((tmp_path / "asked").read_text().splitlines()) == {"The prompt of two"}
    assert repo.git("log", "-1", "--format=%an", f"punchlist/{run.id}") == "Ada on two"


def forget_pins(tmp_path, run):
    """Write the ledger as a version did that pinned neither committer nor prompts."""
    with SqliteStore.open(tmp_path / "ledger") as store:
        (first,) = store.read(run)
    new = {"committer_name": "", "committer_email": "", "prompt_files": {}, "pins": {}}
    shutil.rmtree(tmp_path / "ledger")
    with SqliteStore.open(tmp_path / "ledger") as store:
        store.append(run, first.place, first.key, replace(first.event, **new), first.at)
        (line,) = store.export(run)
    assert not new.keys() & json.loads(line)["event"].keys()
