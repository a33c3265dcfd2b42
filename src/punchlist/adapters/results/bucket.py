"""Results of runs as objects in an S3 bucket."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from punchlist.adapters.results.folder import RUN
from punchlist.errors import StoreError

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig

_HINT = "see keep.to and keep.endpoint in your settings, and the variables AWS_*"
_SECONDS = timedelta(seconds=30)


class BucketResults:
    """Credentials and region come from the variables AWS_*, as in other programs."""

    def __init__(self, address: str, endpoint: str = "") -> None:
        self.where = address.rstrip("/")
        client: ClientConfig = {"timeout": _SECONDS}
        if endpoint.startswith("http://"):
            client["allow_http"] = True
        with self._convert_errors("opened"):
            self._store = S3Store.from_url(
                self.where,
                config={"endpoint": endpoint} if endpoint else None,
                client_options=client,
                retry_config={"max_retries": 3, "retry_timeout": _SECONDS},
            )

    def put(self, run: str, name: str, content: bytes) -> None:
        with self._convert_errors("written"):
            obstore.put(self._store, f"{run}/{name}", content)

    def list_names(self, run: str) -> frozenset[str]:
        return frozenset(each["path"].removeprefix(f"{run}/") for each in self._list(f"{run}/"))

    def list_runs(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for each in self._list(""):
            run, slash, _ = each["path"].partition("/")
            if slash and RUN.fullmatch(run):
                found[run] = max(each["last_modified"].timestamp(), found.get(run, 0.0))
        return found

    def remove(self, run: str) -> None:
        names = [each["path"] for each in self._list(f"{run}/")]
        with self._convert_errors("removed"):
            obstore.delete(self._store, names)

    def _list(self, prefix: str) -> "Iterator[ObjectMeta]":
        with self._convert_errors("listed"):
            for several in obstore.list(self._store, prefix or None):
                yield from several

    @contextmanager
    def _convert_errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            why = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
            raise StoreError(f"{self.where} cannot be {done}: {why}", hint=_HINT) from error
