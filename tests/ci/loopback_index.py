"""A package index on loopback that has this punchlist, built from the checkout, and what it needs, taken from this environment."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import Distribution, distribution
from pathlib import Path

import release_check
from wheels import normalize, repack

_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;(.*))?")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def serve_index(folder: Path) -> Iterator[str]:
    """Serve the folder on loopback; the address of its index."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/simple"
    finally:
        server.shutdown()
        server.server_close()


def fill_index(folder: Path) -> None:
    """Write the wheel of the checkout, and a wheel of each package that it needs."""
    own = folder / "simple/punchlist"
    own.mkdir(parents=True)
    release_check.build(release_check.ROOT, own, "wheel")
    for found in find_needs("punchlist", {}).values():
        repack(found, folder / "simple" / normalize(found.name))


def find_needs(name: str, known: dict[str, Distribution]) -> dict[str, Distribution]:
    """What a package needs here, without its extras."""
    for line in distribution(name).requires or ():
        needed, marker = _REQUIREMENT.match(line).groups()
        if normalize(needed) in known or "extra" in (marker or ""):
            continue
        try:
            known[normalize(needed)] = distribution(needed)
        except ModuleNotFoundError:  # for another Python or system
            continue
        find_needs(needed, known)
    return known
