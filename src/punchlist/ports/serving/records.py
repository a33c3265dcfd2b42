"""The ports to registered repositories, what users allowed in them, and keys of requests."""

from typing import Protocol

from msgspec import Struct

from punchlist.model.ledger.run_row import RepositoryKey


class RepositoryEntry(Struct, frozen=True, kw_only=True):
    """`id` names it in requests, `git_dir` and `identity` in the ledger."""

    id: str
    name: str
    root: str
    git_dir: str
    identity: str | None = None
    """None if it was registered by a version that did not look for it."""

    @property
    def key(self) -> RepositoryKey:
        return RepositoryKey(self.git_dir, self.identity)


class RepositoryList(Protocol):
    """The repositories that servers may work on."""

    def list_all(self) -> tuple[RepositoryEntry, ...]:
        """Return them in the order in which they were registered."""
        ...

    def add(self, repository: RepositoryEntry) -> None:
        """Register it, last in the list; a known one is replaced."""
        ...

    def remove(self, identifier: str) -> bool:
        """Unregister it; return whether it was registered."""
        ...


class Allowances(Protocol):
    """Hashes of what users allowed in a repository, which is named by its id."""

    def list_granted(self, repository: str) -> frozenset[str]: ...

    def grant(self, repository: str, *fingerprints: str) -> None: ...

    def revoke(self, repository: str) -> None:
        """Forget all that was allowed in the repository."""
        ...


class KeyRecord(Struct, frozen=True):
    """The hash of the request that first had the key, and the id of the run that it begins."""

    request: str
    run: str


class RequestKeys(Protocol):
    """The idempotency keys of the last week."""

    def read(self, key: str) -> KeyRecord | None: ...

    def claim(self, key: str, record: KeyRecord) -> KeyRecord:
        """Keep the record if the key is new; return the one that is kept. Of several processes that
        claim a key at once, one keeps its record.
        """
        ...
