"""A wish that a run be stopped: a file beside its lock, which whoever drives the run looks for."""

from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.store.atomic_write import write_whole
from punchlist.adapters.store.errors import told

FILE = "stop"


class Stop(Struct, frozen=True):
    """`by` is who wants it."""

    by: str = ""


def ask_to_stop(folder: Path, stop: Stop) -> None:
    """`folder` is the run's own."""
    path = folder / FILE
    try:
        write_whole(path, msgspec.json.encode(stop))
    except OSError as error:
        raise told(error, path, "written") from error


def asked_to_stop(folder: Path) -> Stop | None:
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Stop)
    except OSError:
        return None  # it is looked for again in a moment
    except msgspec.MsgspecError:
        return Stop()  # that it is there says enough


def forget_stop(folder: Path) -> None:
    path = folder / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise told(error, path, "removed") from error
