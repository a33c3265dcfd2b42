"""X-Idempotency-Key: the same request twice is done once, also when the server was killed in
between.
"""

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


class Remembered(Struct, frozen=True):
    """`run` is empty while it is only meant to begin: then `fingerprint` and `at` tell whether it
    did.
    """

    request: str
    run: str = ""
    fingerprint: str = ""
    at: float = 0


Begun = Callable[[str, float], str]
"""The run that was begun with such a fingerprint since then, or nothing."""


class Keys:
    """What was asked under a key, and the run that came of it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """One after the other under the same key."""
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

    def known(self, key: str, request: bytes, begun: Begun) -> str:
        """The run that this key stands for, or nothing; a key that was used for another request is
        refused.
        """
        kept = self._kept(key)
        if kept is None:
            return ""
        run = kept.run or begun(kept.fingerprint, kept.at)
        if kept.request != sha256(request).hexdigest():
            raise Refused(
                422,
                "this idempotency key was used for another request",
                next_="use a new key",
                run=run,
            )
        return run

    def intend(self, key: str, request: bytes, fingerprint: str) -> None:
        """Written before a run begins: a server that is killed then finds out
        later whether it did.
        """
        self._forget_old()
        self._write(key, Remembered(sha256(request).hexdigest(), "", fingerprint, time.time()))

    def remember(self, key: str, request: bytes, run: str) -> None:
        self._write(key, Remembered(sha256(request).hexdigest(), run))

    def _kept(self, key: str) -> Remembered | None:
        try:
            return (
                msgspec.json.decode((self._home / _name(key)).read_bytes(), type=Remembered)
                if key
                else None
            )
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def _write(self, key: str, kept: Remembered) -> None:
        if key:
            write_state(self._home, _name(key), msgspec.json.encode(kept))

    def _forget_old(self) -> None:
        before = time.time() - _KEPT
        with suppress(FileNotFoundError):
            for path in (self._home / _FOLDER).iterdir():
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)


def _name(key: str) -> str:
    return f"{_FOLDER}/{sha256(key.encode(errors='surrogatepass')).hexdigest()}.json"
