"""The very first moment of a ledger: several processes may come at once, and all of them get it."""

import sqlite3
from threading import Timer

from punchlist.adapters.store.sqlite import FILE, SqliteStore
from punchlist.model.events import StepDone


def test_who_comes_while_another_process_makes_the_ledger_waits_for_it(tmp_path):
    """While a file that is not in WAL mode yet is being written, SQLite refuses a change of mode at once, whatever the time-out."""
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    Timer(0.3, other.execute, ["COMMIT"]).start()
    with SqliteStore.open(tmp_path) as store:
        assert store.append("r", "0", "a", StepDone(verb="x"), 1.0).seq == 1
    other.close()
