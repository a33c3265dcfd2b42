"""Files that surfaces keep in the state folder, readable by their owner only."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from punchlist.adapters.store.atomic_write import write_atomic
from punchlist.adapters.store.permissions import keep_private
from punchlist.errors import StoreError

_HINT = "point PUNCHLIST_HOME at a folder that can be written"


def write_state(home: Path, name: str, content: bytes) -> Path:
    """Write a file atomically at a path relative to the state folder, and return that path."""
    path = home / name
    try:
        keep_private(home)
        write_atomic(path, content)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}", hint=_HINT) from error
    return path


def load_secret(home: Path, name: str, size: int) -> bytes:
    """Return the random bytes kept in a file of the state folder; create it at the first call."""
    path = home / name
    try:
        keep_private(home)
        if not path.exists():
            _create_secret(path, size)
        secret = path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be read or written: {error.strerror}", hint=_HINT
        ) from error
    if len(secret) != size:
        hint = "remove it; everybody signs in again"
        raise StoreError(f"{path}: is no secret of ours", hint=hint)
    return secret


def _create_secret(path: Path, size: int) -> None:
    """Create the file atomically; of two processes that do so at once, the first one's is kept."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(size))
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
