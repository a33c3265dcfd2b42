"""Runs that nobody wanted stopped: left in the middle by a process that was killed, or that had to
stop.
"""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.store.lease import holder
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.drive.background import STOPPED
from punchlist.app.drive.run_cache import read_start
from punchlist.app.repositories import Registered
from punchlist.model.ledger.events import Interrupted
from punchlist.model.ledger.run_row import RunRow


class Unfinished(Struct, frozen=True, kw_only=True):
    run: str
    workflow: str
    repository: str
    """As people call it."""


def unfinished(
    home: Path, store: SqliteStore, repositories: Iterable[Registered]
) -> tuple[Unfinished, ...]:
    """Of these repositories, newest first; those that wait for a person, and those that a person
    stopped, are not among them.
    """
    return tuple(
        Unfinished(
            run=row.id,
            workflow=started.workflow_name if (started := read_start(store, row.id)) else "",
            repository=each.name,
        )
        for each in repositories
        for row in store.runs(each.git_dir)
        if not row.outcome and _left(store, row) and holder(home, row.id) is None
    )


def _left(store: SqliteStore, row: RunRow) -> bool:
    if row.last_kind == "interrupted":
        return _last_word(store, row) == STOPPED
    return not row.waits


def _last_word(store: SqliteStore, row: RunRow) -> str:
    said = (
        entry.event.reason for entry in store.read(row.id) if isinstance(entry.event, Interrupted)
    )
    return list(said)[-1]
