"""Items that earlier runs could not file, and no later run has filed."""

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger.events import Debt, Filed
from punchlist.model.ledger.fold import fold_entries


def load_debts(store: SqliteStore, repository: str) -> tuple[Debt, ...]:
    """Return them by run and item, oldest first. Only runs that have some are folded."""
    due: dict[str, list[int]] = {}
    settled: set[str] = set()
    for entry in store.read_kind("filed", repository):
        if isinstance(entry.event, Filed):
            settled.update(entry.event.settled)
            due.setdefault(entry.run, []).extend(entry.event.failed)
    owed = []
    for run_id, numbers in due.items():
        if any(f"{run_id}/{number}" not in settled for number in numbers):
            items = fold_entries(run_id, store.read(run_id)).items
            owed += [
                Debt(run_id, items[number]) for number in sorted(set(numbers)) if number in items
            ]
    return tuple(debt for debt in owed if debt.name not in settled)
