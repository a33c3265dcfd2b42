"""A place in an object store, with patience while it does not answer."""

import re
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    GenericError,
    NotFoundError,
    NotModifiedError,
)
from obstore.store import LocalStore, from_url

from punchlist.adapters.backoff import retry_delay
from punchlist.errors import StoreAway, StoreError
from punchlist.ports.artifacts import Tell

R = TypeVar("R")

PATIENCE = 60.0
"""Seconds for which a store that does not answer is waited for."""
_NO_ANSWER = timedelta(seconds=20)
_CONNECT = timedelta(seconds=5)
_HINT = "see the setting `objects`, and that this machine may use it; then: punchlist resume"
_REFUSED = re.compile(r"status(?: code)?:? ?4(?!08|09|25|29)\d\d")
"""An answer that will be the same the next time."""
_QUERY = re.compile(r"\?\S*")


class Fetched(NamedTuple):
    content: bytes
    etag: str


class Bucket:
    """Objects by key; safe for threads. Credentials come from this process's environment only."""

    def __init__(self, url: str, *, allow_http: bool = False, patience: float = PATIENCE) -> None:
        self.where = url.rstrip("/")
        self._patience = 0.0 if url.startswith("file:") else patience
        try:
            self._store = _open_store(self.where, allow_http=allow_http)
        except (BaseError, OSError, ValueError) as error:
            raise self._make_error("opened", error) from error

    def put(self, key: str, content: bytes, tell: Tell) -> str:
        """Write the object; return its version."""
        put = obstore.put
        written = self._retry("written", tell, lambda: put(self._store, key, content))
        return written["e_tag"] or ""

    def create(self, key: str, content: bytes, tell: Tell) -> str | None:
        """Write the object if there is none; return its version, or None if there is one. After an
        answer that was lost that may be the one written here.
        """
        try:
            written = self._retry(
                "written", tell, lambda: obstore.put(self._store, key, content, mode="create")
            )
        except AlreadyExistsError:
            return None
        return written["e_tag"] or ""

    def get(self, key: str, tell: Tell, etag: str = "") -> Fetched | None:
        """Return the object, or None if there is none; raise NotModifiedError if its version is
        still `etag`.
        """

        def fetch() -> Fetched:
            options: Any = {"if_none_match": etag} if etag else None
            found = obstore.get(self._store, key, options=options)
            return Fetched(bytes(found.bytes()), found.meta["e_tag"] or "")

        try:
            return self._retry("read", tell, fetch)
        except (NotFoundError, FileNotFoundError):
            return None

    def list_sizes(self, prefix: str, tell: Tell) -> dict[str, int]:
        """Return the size of each object below the prefix, by key."""

        def list_all() -> dict[str, int]:
            pages = obstore.list(self._store, prefix)
            return {each["path"]: each["size"] for page in pages for each in page}

        return self._retry("listed", tell, list_all)

    def list_folders(self) -> frozenset[str]:
        """Return the first parts of all keys that have several."""
        found = self._retry(
            "listed", lambda _: None, lambda: obstore.list_with_delimiter(self._store)
        )
        return frozenset(found["common_prefixes"])

    def remove(self, keys: list[str], tell: Tell) -> None:
        self._retry("removed", tell, lambda: obstore.delete(self._store, keys))

    def _retry(self, done: str, tell: Tell, work: Callable[[], R]) -> R:
        """Do the work, again while the store does not answer: it must be such that it can be done
        twice. Raise StoreAway when the patience is over, and StoreError for other trouble.
        """
        until, tries = time.monotonic() + self._patience, 0
        while True:
            try:
                result = work()
            except (AlreadyExistsError, NotModifiedError, NotFoundError, FileNotFoundError):
                raise
            except (BaseError, OSError) as error:
                if "Not a directory" in str(error):
                    raise FileNotFoundError(str(error)) from error
                if time.monotonic() >= until or not _may_pass(error):
                    raise self._make_error(done, error) from error
            else:
                if tries:
                    tell(f"{self.where} answers again")
                return result
            if not tries:
                tell(f"{self.where} does not answer; it is tried for {self._patience:.0f} s")
            tries += 1
            time.sleep(retry_delay(tries, 1, first=0.1, longest=1))

    def _make_error(self, done: str, error: Exception) -> StoreError:
        why = (str(error).splitlines() or [""])[0][:300] or type(error).__name__
        kind = StoreAway if _may_pass(error) else StoreError
        return kind(f"{self.where} cannot be {done}: {_QUERY.sub('', why)}", hint=_HINT)


def _may_pass(error: Exception) -> bool:
    return isinstance(error, GenericError) and not _REFUSED.search(str(error))


def _open_store(url: str, *, allow_http: bool) -> Any:
    if url.startswith("file:"):
        return LocalStore(Path(unquote(urlsplit(url).path)), mkdir=True)
    return from_url(
        url,
        client_options={
            "timeout": _NO_ANSWER,
            "connect_timeout": _CONNECT,
            "allow_http": allow_http,
        },
        retry_config={"max_retries": 0},
    )
