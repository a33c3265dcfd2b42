"""Request to stop a run: a file in its folder, which the driving process polls."""

from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.store.atomic_write import store_file
from punchlist.adapters.store.errors import convert_errors

FILE = "stop"


class StopRequest(Struct, frozen=True):
    """`by` is the requester."""

    by: str = ""


def request_stop(folder: Path, stop: StopRequest) -> None:
    """Write the request into the run's `folder`."""
    store_file(folder / FILE, msgspec.json.encode(stop))


def read_stop(folder: Path) -> StopRequest | None:
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=StopRequest)
    except OSError:
        return None  # the driver polls again in a moment
    except msgspec.MsgspecError:
        return StopRequest()  # a request all the same


def clear_stop(folder: Path) -> None:
    path = folder / FILE
    with convert_errors(path, "removed"):
        path.unlink(missing_ok=True)
