"""X-Idempotency-Key: a repeated request runs once, also if the server was killed in between."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.app.state_folder import write_state
from punchlist.web.problem import Refused

_KEPT = 7 * 86400
_FOLDER = "requests/keys"


class KeyRecord(Struct, frozen=True):
    """`run` is empty until the run began; `fingerprint` and `at` tell whether it did."""

    request: str
    run: str = ""
    fingerprint: str = ""
    at: float = 0


Begun = Callable[[str, float], str]
"""The run that was begun with such a fingerprint since then, or nothing."""


class IdempotencyKeys:
    """The request and the run of each key."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def lock_key(self, key: str) -> AsyncIterator[None]:
        """Let requests with the same key wait for each other."""
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

    def find_run(self, key: str, request: bytes, begun: Begun) -> str:
        """Return the run of this key, or ''; refuse a key that was used for another request."""
        kept = self._load_record(key)
        if kept is None:
            return ""
        run = kept.run or begun(kept.fingerprint, kept.at)
        if kept.request != sha256(request).hexdigest():
            raise Refused(
                422, "this idempotency key was used for another request", "use a new key", run=run
            )
        return run

    def save_intent(self, key: str, request: bytes, fingerprint: str) -> None:
        """Record the request before its run begins, so that a killed server can find it later."""
        self._remove_old()
        self._save_record(key, KeyRecord(sha256(request).hexdigest(), "", fingerprint, time.time()))

    def save_run(self, key: str, request: bytes, run: str) -> None:
        self._save_record(key, KeyRecord(sha256(request).hexdigest(), run))

    def _load_record(self, key: str) -> KeyRecord | None:
        if not key:
            return None
        try:
            return msgspec.json.decode((self._home / _key_file(key)).read_bytes(), type=KeyRecord)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def _save_record(self, key: str, kept: KeyRecord) -> None:
        if key:
            write_state(self._home, _key_file(key), msgspec.json.encode(kept))

    def _remove_old(self) -> None:
        before = time.time() - _KEPT
        with suppress(FileNotFoundError):
            for path in (self._home / _FOLDER).iterdir():
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)


def _key_file(key: str) -> str:
    return f"{_FOLDER}/{sha256(key.encode(errors='surrogatepass')).hexdigest()}.json"
