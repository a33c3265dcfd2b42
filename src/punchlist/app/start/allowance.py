"""Checks and settings that the user allowed, by hash; a changed command is asked for again."""

from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.errors import StoreError
from punchlist.model.checks.check import Check


class GrantedHashes(Struct, frozen=True):
    fingerprints: frozenset[str] = frozenset()


class Allowance:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "allowed.json"

    def covers(self, fingerprint: str) -> bool:
        return fingerprint in self._load_granted().fingerprints

    def grant(self, *fingerprints: str) -> None:
        self._save_granted(GrantedHashes(self._load_granted().fingerprints.union(fingerprints)))

    def revoke(self) -> None:
        self._save_granted(GrantedHashes())

    def _load_granted(self) -> GrantedHashes:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=GrantedHashes)
        except (FileNotFoundError, msgspec.MsgspecError):  # a damaged file allows nothing
            return GrantedHashes()

    def _save_granted(self, allowed: GrantedHashes) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(msgspec.json.encode(allowed))
        except OSError as error:
            raise StoreError(
                f"{self._path}: cannot be written: {error.strerror}",
                hint="point PUNCHLIST_HOME at a folder that can be written",
            ) from error


def hash_checks(checks: tuple[Check, ...]) -> str:
    commands = sorted(
        (check.name, check.command, check.repair) if check.repair else (check.name, check.command)
        for check in checks
    )
    return sha256(msgspec.json.encode(commands)).hexdigest()


def hash_settings(text: str) -> str:
    return sha256(text.encode()).hexdigest()
