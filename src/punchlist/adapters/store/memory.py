"""A ledger in memory, for runs that are not recorded."""

from collections.abc import Iterator, Sequence

from punchlist.model.ledger.events import AnyEvent, Entry
from punchlist.model.ledger.run_row import RunRow


class MemoryStore:
    """The entries of one run."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        seq = len(self.entries) + 1
        entry = Entry(run=run, seq=seq, at=at, place=place, key=key, event=event)
        self.entries.append(entry)
        return entry

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        return iter(self.entries[after:])

    def runs(self, repository: str = "", identity: str | None = None) -> Sequence[RunRow]:
        return ()
