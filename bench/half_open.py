"""How long the server takes to answer while a thousand connections stay half open, beside the same server left alone.

    python bench/half_open.py [--connections 1000] [--seconds 60] [--descriptors 1024]

A server in a process of its own on loopback. Each connection sends half of a request's headers and then nothing; one that the
server closes is opened again. Meanwhile a client asks for /api/health twenty times a second, each time on a new connection. "ratio"
is the median with the crowd over the median without it; the log's growth is what the server wrote meanwhile.
"""

import argparse
import asyncio
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from punchlist.adapters.store.serving.access import FileAccess
from punchlist.app.access import Role
from punchlist.web.security.tokens import Tokens

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

HALF = b"GET /api/health HTTP/1.1\r\nhost: 127.0.0.1\r\n"
HEAD = "{:>10}  {:>10}  {:>10}  {:>10}  {:>8}  {:>8}"


async def ask(port: int) -> float:
    """Return the seconds until a whole answer has come."""
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HALF + b"connection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200"), answer[:100]
    return time.perf_counter() - began


async def ask_for(port: int, seconds: float) -> list[float]:
    until, took = time.monotonic() + seconds, []
    while time.monotonic() < until:
        took.append(await ask(port))
        await asyncio.sleep(0.05)
    return sorted(took)


async def stay_half_open(port: int, counted: list[int]) -> None:
    """Open a connection, leave it half open, and again when the server closes it."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HALF)
            counted[0] += 1
            await reader.read()
            writer.close()
        except OSError:
            pass
        await asyncio.sleep(0.5)


async def crowd(port: int, connections: int, opened: "Synchronized[int]") -> None:
    counted = [0]
    tasks = [asyncio.create_task(stay_half_open(port, counted)) for _ in range(connections)]
    while tasks:
        opened.value = counted[0]
        await asyncio.sleep(0.2)


def run_crowd(port: int, connections: int, opened: "Synchronized[int]") -> None:
    asyncio.run(crowd(port, connections, opened))


def measure(port: int, connections: int, seconds: float) -> tuple[list[float], list[float], int]:
    """The crowd is in a process of its own, so that its work is not taken for the server's."""
    quiet = asyncio.run(ask_for(port, min(10.0, seconds)))
    opened = multiprocessing.Value("i")
    others = multiprocessing.Process(
        target=run_crowd, args=(port, connections, opened), daemon=True
    )
    others.start()
    while opened.value < connections:
        time.sleep(0.05)
    busy = asyncio.run(ask_for(port, seconds))
    others.terminate()
    others.join()
    return quiet, busy, opened.value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--descriptors", type=int, default=1024)
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * given.connections + 200), hard))
    with tempfile.TemporaryDirectory() as folder:
        Tokens(FileAccess(Path(folder))).create_token(Role.ADMIN, "bench")
        log = Path(folder) / "log"
        limited = f'ulimit -n {given.descriptors}; exec "$@"'
        command = (sys.executable, "-m", "punchlist", "serve", "--port", "0", "--not-here")
        with log.open("wb") as file:
            server = subprocess.Popen(
                ["sh", "-c", limited, "sh", *command],
                cwd=folder, env={"PUNCHLIST_HOME": folder, "PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
                stdout=file, stderr=file,
            )  # fmt: skip
        try:
            while "listening on" not in log.read_text() or "stops it" not in log.read_text():
                assert server.poll() is None, log.read_text()
                time.sleep(0.05)
            port = int(log.read_text().split("listening on ")[1].split()[0].rpartition(":")[2])
            before = log.stat().st_size
            quiet, busy, opened = measure(port, given.connections, given.seconds)
            grown = log.stat().st_size - before
        finally:
            server.terminate()
            server.wait()
    print(
        f"{given.connections} half-open connections for {given.seconds:g} s, {opened:,} opened in all"
    )
    print(HEAD.format("", "median ms", "p99 ms", "worst ms", "ratio", "log B"))
    for name, took, log_size in (("quiet", quiet, 0), ("crowd", busy, grown)):
        late = took[min(len(took) - 1, int(len(took) * 0.99))]
        cells = (f"{1e3 * each:.1f}" for each in (median(took), late, took[-1]))
        print(HEAD.format(name, *cells, f"{median(took) / median(quiet):.2f}", f"{log_size:,}"))


if __name__ == "__main__":
    main()
