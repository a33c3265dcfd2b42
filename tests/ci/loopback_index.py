"""A package index on loopback that has this punchlist, built from the checkout, and what it needs, taken from this environment."""

import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import Distribution, distribution
from pathlib import Path

import release_check

import needs

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


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def repack(found: Distribution, folder: Path) -> None:
    """Write the wheel that an installed package came from, as far as pip looks at it."""
    about = re.findall(r"^Tag: (.*)", found.read_text("WHEEL"), re.MULTILINE)
    stem = f"{normalize(found.name).replace('-', '_')}-{found.version}"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{stem}-{about[0]}.whl", "w") as wheel:
        info = next(file.parts[0] for file in found.files if file.name == "METADATA")
        for file in found.files:
            path, name = Path(found.locate_file(file)), str(file)
            if file.name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"):
                continue
            if name.startswith("../"):  # programs; those that pip makes by itself are scripts
                if path.read_bytes()[:2] == b"#!":
                    continue
                name = f"{stem}.data/scripts/{path.name}"
            if path.suffix != ".pyc":
                wheel.write(path, name)
        wheel.writestr(f"{info}/RECORD", "")


def pack_coverage(folder: Path) -> None:
    """Write the wheel of the coverage.py that `make test` installed for itself."""
    prefix = Path(needs.covered_python()).parents[1]
    [site] = map(str, prefix.glob("lib/python*/site-packages"))
    [found] = Distribution.discover(name="coverage", path=[site])
    repack(found, folder)
