"""X-Idempotency-Key: a repeated request runs once, whichever server gets it, and if one was killed.

A key's first request claims it, with the id of the run that it will begin. All later ones find that
id, and a run begins once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256

from punchlist.ports.serving.records import KeyRecord, RequestKeys
from punchlist.web.problem import Refused


class IdempotencyKeys:
    """The request and the run of each key. `began`: whether a run is in the ledger."""

    def __init__(self, keys: RequestKeys, began: Callable[[str], bool]) -> None:
        self._keys = keys
        self._began = began
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def lock_key(self, key: str) -> AsyncIterator[None]:
        """Let requests with the same key to this server wait for each other."""
        if not key:
            yield
            return
        lock, others = self._turns.get(key, (asyncio.Lock(), 0))
        self._turns[key] = (lock, others + 1)
        try:
            async with lock:
                yield
        finally:
            _, users = self._turns.pop(key)
            if users > 1:
                self._turns[key] = (lock, users - 1)

    def find_run(self, key: str, request: bytes) -> str:
        """Return the run that began with this key, or ''; refuse a key that was used for another
        request.
        """
        kept = self._keys.read(key) if key else None
        return self._check(kept, request) if kept else ""

    def claim_run(self, key: str, request: bytes, run: str) -> str:
        """Return the id of the run to begin: this one, or that of the request that was first."""
        if not key:
            return run
        kept = self._keys.claim(key, KeyRecord(sha256(request).hexdigest(), run))
        self._check(kept, request)
        return kept.run

    def is_claimed(self, key: str, run: str) -> bool:
        """Return whether the key names this run; one that is just being locked has no name yet."""
        kept = self._keys.read(key) if key else None
        return kept is not None and run in ("", kept.run)

    def _check(self, kept: KeyRecord, request: bytes) -> str:
        run = kept.run if self._began(kept.run) else ""
        if kept.request != sha256(request).hexdigest():
            what = "this idempotency key was used for another request"
            raise Refused(422, what, "use a new key", run=run)
        return run
