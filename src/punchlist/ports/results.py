"""The port to a store outside of the state folder that keeps the results of runs for some days."""

from collections.abc import Mapping
from typing import Protocol


class ResultStore(Protocol):
    """Files by run and name. Every method raises StoreError where the store does not answer."""

    @property
    def where(self) -> str:
        """The store's address, as everyone who reads a run may know it."""
        ...

    def put(self, run: str, name: str, content: bytes) -> None: ...

    def list_names(self, run: str) -> frozenset[str]:
        """Return the names of the files that are kept of a run."""
        ...

    def list_runs(self) -> Mapping[str, float]:
        """Return the runs that files are kept of, and when the newest of these was written."""
        ...

    def remove(self, run: str) -> None:
        """Remove all files of a run."""
        ...
