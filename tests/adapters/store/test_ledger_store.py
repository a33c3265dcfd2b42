"""The ledger keeps every entry, in order, once, and says so clearly when it cannot."""

import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from punchlist.adapters.store import migrations
from punchlist.adapters.store.sqlite import FILE, SqliteStore
from punchlist.errors import StoreError, UsageError
from punchlist.model.finding.finding import Context, Finding, RefusedEntry, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.events import (
    AnyEvent,
    Asked,
    Ended,
    Failed,
    Halted,
    Reviewed,
    Started,
    StepDone,
)
from punchlist.model.ledger.hash_chain import verify_entries, verify_lines
from punchlist.model.patch.change import Change, ScopeKind

SRC = Path(__file__).parents[3] / "src"


def started(repository="/repo/a"):
    change = Change(kind=ScopeKind.ALL, base="b" * 40, head="b" * 40)
    return Started(
        repository=repository,
        change=change,
        workflow_name="proven",
        workflow="steps: []",
        settings="{}",
        checks=(),
        checks_allowed=False,
        reviewers=("ruff",),
        version="0",
    )


def finding(number, detail=""):
    return Finding(
        id=f"f{number}",
        source="ruff",
        title=f"unused import {number}",
        spot=Spot("src/a.py", number + 1, number + 1),
        severity=Severity.MINOR,
        detail=detail,
        context=Context(symbol="main", span="importos", before="x" * 60, after="y" * 60),
    )


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "home") as store:
        yield store


# Odd bytes of a file are read as surrogates, and a finding quotes them.
texts = st.text(st.characters(codec=None), max_size=30)
events = st.one_of(
    st.builds(Failed, reason=texts, hint=texts),
    st.builds(Halted, limit=texts),
    st.builds(StepDone, verb=texts),
    st.builds(Asked, question=texts, choices=st.dictionaries(texts, texts, max_size=3)),
    st.builds(
        Reviewed,
        reviewer=texts,
        commit=texts,
        refused=st.lists(st.builds(RefusedEntry, texts, texts, texts), max_size=3).map(tuple),
    ),
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(written=st.lists(events, min_size=1, max_size=8))
def test_what_is_appended_is_read_back_in_order_and_unbroken(tmp_path, written: list[AnyEvent]):
    home = Path(tempfile.mkdtemp(dir=tmp_path))
    with SqliteStore.open(home) as store:
        appended = [
            store.append("r1", f"{at}", "k", event, 1.5 + at) for at, event in enumerate(written)
        ]
    with SqliteStore.open(home, readonly=True) as store:
        entries = list(store.read("r1"))
        assert [entry.event for entry in entries] == written
        assert entries == appended
        assert [entry.seq for entry in entries] == list(range(1, len(written) + 1))
        assert verify_entries(entries) == ""
        assert verify_lines(line.rstrip(b"\n") for line in store.export("r1")) == ""


def test_the_first_event_of_an_action_wins(store):
    first = store.append("r1", "0", "check", Failed(reason="no"), 1.0)
    again = store.append("r1", "0", "check", Failed(reason="another story"), 2.0)
    assert again == first
    assert [entry.event for entry in store.read("r1")] == [Failed(reason="no")]


def test_runs_have_chains_of_their_own(store):
    for at in range(6):
        store.append(f"r{at % 2}", str(at), "k", Halted(limit=str(at)), at)
    assert [entry.seq for entry in store.read("r0")] == [1, 2, 3]
    assert verify_entries(store.read("r0")) == verify_entries(store.read("r1")) == ""


def test_reading_can_start_after_an_entry(store):
    for at in range(100):
        store.append("r1", str(at), "k", Halted(limit="x"), at)
    assert [entry.seq for entry in store.read("r1", after=97)] == [98, 99, 100]
    assert len(list(store.read("r1"))) == 100


def test_a_review_with_ten_thousand_findings_fits(store):
    event = Reviewed(
        reviewer="ruff", commit="c", findings=tuple(finding(n, "d" * 200) for n in range(10_000))
    )
    store.append("r1", "0", "ruff", event, 1.0)
    (entry,) = store.read("r1")
    assert entry.event == event


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


def test_runs_are_listed_newest_first_with_their_last_event(store):
    store.append("old", "0", "a", started("/repo/a"), 1.0)
    store.append("new", "0", "a", started("/repo/b"), 2.0)
    store.append("old", "1", "a", Ended(outcome="clean"), 3.0)
    assert [
        (row.id, row.repository, row.last_at, row.last_kind, row.entries) for row in store.runs()
    ] == [("new", "/repo/b", 2.0, "started", 1), ("old", "/repo/a", 3.0, "ended", 2)]
    assert [row.id for row in store.runs("/repo/a")] == ["old"]


def test_a_run_is_found_by_any_unique_part_of_its_id_or_as_the_last(store):
    for at, run in enumerate(["abc1", "abd2", "abd22"]):
        store.append(run, "0", "a", started(), at)
    for part in ("abc", "c1", "C1", "punchlist/abc1", " bc1"):
        assert store.find_run(part) == "abc1"
    assert store.find_run("last") == "abd22"
    assert store.find_run("abd2") == "abd2", "a whole id is not ambiguous"
    with pytest.raises(UsageError, match=r"2 runs have .bd. in their id: abd22, abd2$"):
        store.find_run("bd")
    with pytest.raises(
        UsageError, match=r"no run has .x. in its id; there are: abd22, abd2, abc1$"
    ):
        store.find_run("x")
    with pytest.raises(UsageError, match="no run is recorded for /elsewhere"):
        store.find_run("abc", "/elsewhere")


def test_threads_and_processes_may_append_at_once(tmp_path):
    stores = [SqliteStore.open(tmp_path) for _ in range(4)]

    def append(store, name):
        for at in range(10):
            store.append("r1", str(at), name, Halted(limit="x"), at)
            store.append("r1", str(at), "shared", Halted(limit=name), at)

    threads = [
        threading.Thread(target=append, args=(store, f"t{n}")) for n, store in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = list(stores[0].read("r1"))
    assert len(entries) == 4 * 10 + 10
    assert verify_entries(entries) == ""
    for store in stores:
        store.close()


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


def test_what_was_measured_is_kept_and_the_first_value_holds(tmp_path):
    with SqliteStore.open(tmp_path) as store:
        assert store.get("baseline/tree") is None
        store.put("baseline/tree", b"\x00\xff")
        store.put("baseline/tree", b"other")
    with SqliteStore.open(tmp_path, readonly=True) as store:
        assert store.get("baseline/tree") == b"\x00\xff"
