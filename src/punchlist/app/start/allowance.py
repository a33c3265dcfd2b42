"""What a person has allowed to run in a repository: remembered by its exact text; a changed command
is asked for again.
"""

from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.errors import StoreError
from punchlist.model.checks.check import Check


class Allowed(Struct, frozen=True):
    fingerprints: frozenset[str] = frozenset()


class Allowance:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "allowed.json"

    def covers(self, fingerprint: str) -> bool:
        return fingerprint in self._read().fingerprints

    def grant(self, *fingerprints: str) -> None:
        self._write(Allowed(self._read().fingerprints | set(fingerprints)))

    def revoke(self) -> None:
        self._write(Allowed())

    def _read(self) -> Allowed:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Allowed)
        except FileNotFoundError:
            return Allowed()
        except msgspec.MsgspecError:
            return Allowed()  # a damaged memory allows nothing

    def _write(self, allowed: Allowed) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(msgspec.json.encode(allowed))
        except OSError as error:
            raise StoreError(
                f"{self._path}: cannot be written: {error.strerror}",
                hint="point PUNCHLIST_HOME at a folder that can be written",
            ) from error


def of_checks(checks: tuple[Check, ...]) -> str:
    return sha256(
        msgspec.json.encode(sorted((check.name, check.command) for check in checks))
    ).hexdigest()


def of_settings(text: str) -> str:
    return sha256(text.encode()).hexdigest()
