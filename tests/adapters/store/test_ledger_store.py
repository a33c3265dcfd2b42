"""The ledger keeps every entry, in order, once, and says so clearly when it cannot."""

import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from state_contract import started

from punchlist.adapters.store import migrations
from punchlist.adapters.store.embedded import EmbeddedState
from punchlist.adapters.store.sqlite import FILE, SqliteStore
from punchlist.errors import StoreError, UsageError
from punchlist.model.ledger.events import Ended, Halted
from punchlist.model.ledger.hash_chain import verify_entries
from punchlist.ports.serving.pull_notices import PullNotice, Taken

SRC = Path(__file__).parents[3] / "src"


def test_a_reader_sees_what_a_run_writes_meanwhile(tmp_path):
    with SqliteStore.open(tmp_path) as writer, SqliteStore.open(tmp_path, readonly=True) as reader:
        writer.append("r1", "0", "a", started(), 1.0)
        assert [entry.seq for entry in reader.read("r1")] == [1]
        writer.append("r1", "0", "b", Ended(outcome="clean"), 2.0)
        assert [entry.seq for entry in reader.read("r1", after=1)] == [2]
        with pytest.raises(StoreError, match="read-only"):
            reader.append("r1", "0", "c", Ended(outcome="clean"), 3.0)


def test_a_reader_of_an_empty_home_makes_nothing_and_finds_nothing(tmp_path):
    with SqliteStore.open(tmp_path / "home", readonly=True) as reader:
        assert reader.runs() == []
        with pytest.raises(UsageError, match="no run is recorded"):
            reader.find_run("last")
    assert not (tmp_path / "home").exists()


def test_a_full_disk_costs_the_entry_and_nothing_else(tmp_path, apart):
    with SqliteStore.open(tmp_path) as store:
        store.append("r1", "0", "a", Halted(limit="x"), 1.0)
        pages = store._database.execute("PRAGMA page_count").fetchone()[0]
        store._database.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="disk is full") as told:
            store.append("r1", "0", "b", Halted(limit="x" * 100_000), 2.0)
        assert "free some space" in told.value.hint
        store._database.execute("PRAGMA max_page_count = 100000")
        store.append("r1", "0", "b", Halted(limit="y"), 3.0)
        entries = list(store.read("r1"))
        assert [entry.seq for entry in entries] == [1, 2]
        assert verify_entries(entries) == ""


def test_a_disk_that_refuses_to_write_costs_the_entry_and_nothing_else(tmp_path, apart):
    """The limit on file size makes the kernel refuse the write itself, in the middle of a transaction."""
    code = """
import sys; from pathlib import Path
from punchlist.adapters.store.sqlite import SqliteStore; from punchlist.errors import StoreError; from punchlist.model.ledger.events import Halted
store = SqliteStore.open(Path(sys.argv[1]))
for at in range(1000):
    try: store.append("r1", str(at), "k", Halted(limit="x" * 40_000), at)
    except StoreError as error: print(at, error, "|", error.hint); break
"""
    said = apart(code, tmp_path, largest=1_000_000)
    written = int(said.split()[0])
    assert "free some space" in said
    with SqliteStore.open(tmp_path) as store:
        entries = list(store.read("r1"))
        assert len(entries) == written > 3
        assert verify_entries(entries) == ""
        store.append("r1", "next", "k", Halted(limit="x"), 1.0)


def test_an_entry_is_durable_when_append_returns_even_if_the_process_is_killed(tmp_path):
    code = """
import os, signal, sys; from pathlib import Path
from punchlist.adapters.store.sqlite import SqliteStore; from punchlist.model.ledger.events import Halted
store = SqliteStore.open(Path(sys.argv[1]))
for at in range(20): store.append("r1", str(at), "k", Halted(limit="x"), at)
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run(
        [sys.executable, "-c", code, tmp_path], check=False, env={"PYTHONPATH": str(SRC)}
    )
    with SqliteStore.open(tmp_path, readonly=True) as store:
        assert len(list(store.read("r1"))) == 20


def test_a_home_that_cannot_be_made_is_told_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="not a folder") as told:
        SqliteStore.open(tmp_path / "file" / "home")
    assert "PUNCHLIST_HOME" in told.value.hint


@pytest.fixture
def open_to_all():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        home = Path(folder)
        home.chmod(0o755)
        yield home


def test_a_read_only_home_can_be_read_and_is_told_on_writing(open_to_all, apart):
    with SqliteStore.open(open_to_all) as store:
        store.append("r1", "0", "a", started(), 1.0)
    (open_to_all / FILE).chmod(0o444)
    open_to_all.chmod(0o555)
    code = """
import os, sys; from pathlib import Path
from punchlist.adapters.store.sqlite import SqliteStore; from punchlist.errors import StoreError
if os.getuid() == 0: os.setuid(65534)
print(SqliteStore.open(Path(sys.argv[1]), readonly=True).find_run("last"))
try: SqliteStore.open(Path(sys.argv[1]))
except StoreError as error: print(error, error.hint)
"""
    said = apart(code, open_to_all)
    open_to_all.chmod(0o755)
    assert said.startswith("r1\n")
    assert "read-only" in said
    assert "PUNCHLIST_HOME" in said


def test_a_ledger_of_a_newer_punchlist_is_left_alone(tmp_path):
    SqliteStore.open(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE)
    database.execute(f"PRAGMA user_version = {migrations.VERSION + 1}")
    database.close()
    for readonly in (True, False):
        with pytest.raises(StoreError, match="newer punchlist") as told:
            SqliteStore.open(tmp_path, readonly=readonly)
        assert "upgrade" in told.value.hint


@pytest.mark.parametrize("version", [1, 3])
def test_a_ledger_of_an_older_punchlist_keeps_its_runs_and_takes_notices_of_forges(
    tmp_path, version
):
    with sqlite3.connect(tmp_path / FILE) as database:
        for statement in (each for step in migrations.STEPS[:version] for each in step):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {version}")
        database.execute("INSERT INTO runs (id, repository, started_at) VALUES ('r1', '/x', 1)")
    with closing(EmbeddedState(tmp_path)) as state:
        notice = PullNotice(forge="github", repository="acme/shop", number=7)
        assert state.pulls.put("r1", notice, ("a", "b"), 9) is Taken.KEPT
        assert [each.notice for each in state.pulls.list_all()] == [notice]
        assert state.store.find_run("last") == "r1"


@pytest.mark.parametrize("readonly", [True, False])
def test_a_file_that_is_no_ledger_is_told_and_left_as_it_is(tmp_path, readonly):
    (tmp_path / FILE).write_bytes(b"not a database, not at all" * 100)
    with pytest.raises(StoreError, match="not a ledger"):
        SqliteStore.open(tmp_path, readonly=readonly)
    assert (tmp_path / FILE).read_bytes() == b"not a database, not at all" * 100


def test_a_damaged_ledger_is_told(tmp_path):
    with SqliteStore.open(tmp_path) as store:
        for at in range(50):
            store.append("r1", str(at), "k", Halted(limit="x" * 2000), at)
    raw = bytearray((tmp_path / FILE).read_bytes())
    raw[4096:-4096] = b"\xff" * (len(raw) - 8192)
    (tmp_path / FILE).write_bytes(raw)
    with pytest.raises(StoreError, match="damaged"), SqliteStore.open(tmp_path) as store:
        list(store.read("r1"))
