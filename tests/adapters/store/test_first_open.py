"""The very first moment of a ledger: several processes may come at once, and all of them get it."""

import sqlite3
from threading import Timer

from punchlist.adapters.store.sqlite import FILE, SqliteStore
from punchlist.model.ledger.events import StepDone


def test_who_comes_while_another_process_makes_the_ledger_waits_for_it(tmp_path):
    """While a file that is not in WAL mode yet is being written, SQLite refuses a change of mode at once, whatever the time-out."""
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    Timer(0.3, other.execute, ["COMMIT"]).start()
    with SqliteStore.open(tmp_path) as store:
        assert store.append("r", "0", "a", StepDone(verb="x"), 1.0).seq == 1
    other.close()


def test_a_ledger_whose_making_was_cut_off_is_an_empty_one(tmp_path):
    sqlite3.connect(tmp_path / "ledger.sqlite3").close()
    (tmp_path / "ledger.sqlite3").touch()
    reader = SqliteStore.open(tmp_path, readonly=True)
    assert reader.runs() == []
    reader.close()
    writer = SqliteStore.open(tmp_path)
    assert writer.runs() == []
    writer.close()
