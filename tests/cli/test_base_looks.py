"""What an analyzer said of the base is kept for the next review, and used only where a new look would say the same."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from punchlist.adapters.analyzers.identity import identify_binary, identify_package
from punchlist.adapters.sandbox.support import sandbox_kind

OLD = "import os\n\n\ndef run(value):\n    return eval(value)\n\n\nLAST = 1\n"
"""F401 and bandit's B307, in lines that no edit below touches."""
USED = OLD.replace("def", "import sys\n\nprint(sys.path)\n\n\ndef")

pytestmark = pytest.mark.skipif(
    sandbox_kind() != "bubblewrap", reason="nothing is kept of a tool that can read the user's home"
)


@pytest.fixture
def typed(repo, make_punchlist):
    repo.commit({"a.py": USED, "b.py": OLD})
    punchlist = make_punchlist(repo.root)
    punchlist.analyzers = "ruff,bandit"
    return punchlist


def review(punchlist, *options):
    """Return what the review reports, without what differs between any two of them."""
    report = json.loads(punchlist("review", "--staged", "--json", *options).stdout)["report"]
    return [
        (item["path"], item["line"], item["status"], item["in_scope"], item["findings"][0]["rule"])
        for item in report["items"]
    ]


def list_kept(punchlist):
    with closing(sqlite3.connect(punchlist.home / "ledger.sqlite3")) as database:
        query = "SELECT key, value FROM cache WHERE key LIKE 'base-look/%'"
        return dict(database.execute(query).fetchall())


def stage(repo, files):
    for name, text in files.items():
        (repo.root / name).write_text(text)
    repo.git("add", "--all")


EDITS = [
    {"a.py": USED + "import re\n"},
    {"a.py": USED.replace("print(sys.path)\n", "")},  # now line 4 has a finding, and is unchanged
    {"a.py": USED + "\n\ndef two(it):\n    return eval(it)\n", "b.py": OLD + "MORE = 2\n"},
    {"a.py": USED + "\n", "new.py": OLD},
]


def test_reviews_with_what_is_kept_say_what_reviews_without_it_say(typed, repo):
    for edit in EDITS + EDITS:
        stage(repo, edit)
        with_kept = review(typed)
        home, typed.home = typed.home, typed.home.with_name("fresh")
        typed.env["PUNCHLIST_HOME"] = str(typed.home)
        assert with_kept == review(typed)
        shutil.rmtree(typed.home)
        typed.home = home
        typed.env["PUNCHLIST_HOME"] = str(home)
        repo.git("reset", "--quiet", "--hard")


def test_the_base_is_looked_at_once_for_each_tool_files_options_and_base(typed, repo):
    stage(repo, EDITS[0])
    review(typed)
    assert len(list_kept(typed)) == 2
    stage(repo, {"a.py": USED + "import json\n"})
    review(typed)
    assert len(list_kept(typed)) == 2, "another edit of the same file"
    review(typed, "--set", "analyzers.rules=correctness")
    assert len(list_kept(typed)) == 3, "other options of ruff"
    stage(repo, {"b.py": OLD + "import json\n"})
    review(typed)
    assert len(list_kept(typed)) == 5, "one more file"
    repo.commit({"c.py": "C = 1\n"})
    stage(repo, {"a.py": USED + "import csv\n"})
    review(typed)
    assert len(list_kept(typed)) == 7, "another base"


def test_what_is_kept_is_used(typed, repo):
    stage(repo, EDITS[0])
    assert ("a.py", 1, "open", True, "F401") not in review(typed, "--set", "analyzers.enabled=ruff")
    with sqlite3.connect(typed.home / "ledger.sqlite3") as database:
        database.execute("UPDATE cache SET value = X'7b7d' WHERE key LIKE 'base-look/%'")
    database.close()
    assert ("a.py", 1, "open", True, "F401") in review(typed, "--set", "analyzers.enabled=ruff")


def test_of_a_tool_whose_configuration_names_more_files_nothing_is_kept(typed, repo):
    repo.commit({"ruff.toml": 'extend = "more.toml"\n', "more.toml": "line-length = 90\n"})
    stage(repo, EDITS[0])
    review(typed, "--set", "analyzers.enabled=ruff")
    assert not list_kept(typed)


def test_a_script_is_not_known_by_its_file_and_another_binary_is_another(tmp_path):
    script, binary = tmp_path / "script", tmp_path / "binary"
    script.write_text("#!/bin/sh\nexec ruff\n")
    binary.write_bytes(b"\x7fELF1")
    before = identify_binary(str(binary))
    assert before
    assert not identify_binary(str(script))
    binary.write_bytes(b"\x7fELF12")
    assert identify_binary(str(binary)) not in {"", before}


def test_a_package_is_known_by_its_files_and_its_neighbours_and_not_with_plugins(
    tmp_path, monkeypatch
):
    site = tmp_path / "site-packages"
    monkeypatch.setattr("sys.path", [str(site)])
    for name in ("bandit", "bandit-1.dist-info", "stevedore-1.dist-info"):
        (site / name).mkdir(parents=True)
    (site / "bandit" / "a.py").write_text("A = 1\n")
    (site / "bandit-1.dist-info" / "entry_points.txt").write_text("[bandit.plugins]\n")
    seen = {identify_package("bandit")}
    (site / "bandit" / "a.py").write_text("A = 12\n")
    seen.add(identify_package("bandit"))
    (site / "stevedore-1.dist-info").rename(site / "stevedore-2.dist-info")
    seen.add(identify_package("bandit"))
    assert len(seen - {""}) == 3
    (site / "more-1.dist-info").mkdir()
    (site / "more-1.dist-info" / "entry_points.txt").write_text("[bandit.plugins]\nx = x\n")
    assert not identify_package("bandit")
