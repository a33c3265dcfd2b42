"""Requests to stop runs: a file in the run's folder, which the driving process polls."""

from pathlib import Path

import msgspec

from punchlist.adapters.store.atomic_write import store_file
from punchlist.adapters.store.errors import convert_errors
from punchlist.model.ledger import codec as wire
from punchlist.ports.state import StopRequest

FILE = "stop"


class FileStops:
    """`runs` is the folder that holds the folders of the runs."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs

    def request(self, run: str, stop: StopRequest) -> None:
        store_file(self._runs / run / FILE, wire.encode(stop))

    def read(self, run: str) -> StopRequest | None:
        try:
            return wire.decode((self._runs / run / FILE).read_bytes(), StopRequest)
        except OSError:
            return None  # the driver polls again in a moment
        except msgspec.MsgspecError:
            return StopRequest()  # a request all the same

    def clear(self, run: str) -> None:
        path = self._runs / run / FILE
        with convert_errors(path, "removed"):
            path.unlink(missing_ok=True)
