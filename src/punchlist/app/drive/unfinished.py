"""Runs left unfinished by a process that was killed or had to stop."""

from collections.abc import Iterable

from msgspec import Struct

from punchlist.app.drive.background import STOPPED
from punchlist.app.drive.run_cache import read_start
from punchlist.app.repositories import RepositoryEntry
from punchlist.model.ledger.events import Interrupted
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.state import SharedState
from punchlist.ports.store import Store


class UnfinishedRun(Struct, frozen=True, kw_only=True):
    run: str
    workflow: str
    repository: str
    """Its name."""


def find_unfinished(
    state: SharedState, repositories: Iterable[RepositoryEntry]
) -> tuple[UnfinishedRun, ...]:
    """Return the runs that neither wait for a user nor were stopped by one, newest first."""
    found, store = [], state.store
    for repository in repositories:
        for row in store.runs(repository.git_dir, repository.identity):
            if (
                not row.outcome
                and _was_left(store, row)
                and state.leases.find_holder(row.id) is None
            ):
                started = read_start(store, row.id)
                name = started.workflow_name if started else ""
                found.append(UnfinishedRun(run=row.id, workflow=name, repository=repository.name))
    return tuple(found)


def _was_left(store: Store, row: RunRow) -> bool:
    if row.last_kind != "interrupted":
        return not row.waits
    events = (entry.event for entry in store.read(row.id))
    return [event.reason for event in events if isinstance(event, Interrupted)][-1] == STOPPED
