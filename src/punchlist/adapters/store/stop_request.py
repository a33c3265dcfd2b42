"""Request to stop a run: a file in its folder, which the driving process polls."""

from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.store.atomic_write import write_atomic
from punchlist.adapters.store.errors import make_store_error

FILE = "stop"


class StopRequest(Struct, frozen=True):
    """`by` is the requester."""

    by: str = ""


def request_stop(folder: Path, stop: StopRequest) -> None:
    """Write the request into the run's `folder`."""
    path = folder / FILE
    try:
        write_atomic(path, msgspec.json.encode(stop))
    except OSError as error:
        raise make_store_error(error, path, "written") from error


def read_stop(folder: Path) -> StopRequest | None:
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=StopRequest)
    except OSError:
        return None  # it is looked for again in a moment
    except msgspec.MsgspecError:
        return StopRequest()  # that it is there says enough


def clear_stop(folder: Path) -> None:
    path = folder / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise make_store_error(error, path, "removed") from error
