"""How many events a second many readers of one run get, and what one costs the server, beside reading the same rows without HTTP.

    python bench/readers.py [--lines 1000] [--readers 1 10 100 500]

A server in a process of its own, a recorded run, and readers that each get all of it as Server-Sent Events over loopback. Two
lower bounds, in the same run: "rows" reads the ledger's lines from SQLite as often as there are readers, and sends nothing; "bare
socket" is an asyncio server that knows the bytes already and only writes them. "over both" is the server's processor time for an
event over that of the two together. Readers share the machine with the server, so the rate is theirs as well.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.store.serving.access import FileAccess
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.access import Role
from punchlist.model.ledger import events as ev
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.web.client import Client
from punchlist.web.schemas import Registering
from punchlist.web.security.tokens import Tokens

RUN = "261115-bench0"
END = b"event: end"
TICKS = os.sysconf("SC_CLK_TCK")
HEAD = "{:>8}  {:>9}  {:>9}  {:>7}  {:>9}  {:>11}  {:>9}"


class Served(Struct, frozen=True):
    seconds: float
    cpu: float
    """Seconds of processor time, of whoever served."""


def recorded(home: Path, git_dir: str, lines: int) -> None:
    with SqliteStore.open(home) as store:
        started = ev.Started(
            repository=git_dir, change=Change(kind=ScopeKind.ALL, base="0" * 40, head="0" * 40), workflow_name="proven",
            workflow="steps: []", settings="{}", reviewers=(), checks=(), checks_allowed=False, version="0",
        )  # fmt: skip
        store.append(RUN, "start", "started", started, 1.0)
        for number in range(2, lines):
            failed = ev.Failed(reason=f"reason {number}: " + "word " * 40, hint="none")
            store.append(RUN, str(number), "action", failed, float(number))
        store.append(RUN, "end", "ended", ev.Ended(outcome="left"), float(lines))


def repository(folder: Path) -> Path:
    who = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    for command in (
        ("init", "--quiet"),
        (*who, "commit", "--quiet", "--allow-empty", "--message", "first"),
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def one(port: int, token: str, lines: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(
        f"GET /api/runs/{RUN}/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\r\n".encode()
    )
    seen = 0
    while line := await reader.readline():
        seen += line.startswith(b"id: ")
        if line.startswith(END):
            break
    writer.close()
    assert seen == lines, f"{seen} of {lines} events came"


async def read_by(readers: int, port: int, token: str, lines: int) -> float:
    before = time.perf_counter()
    await asyncio.gather(*(one(port, token, lines) for _ in range(readers)))
    return time.perf_counter() - before


def over_http(
    readers: int, server: "subprocess.Popen[bytes]", port: int, token: str, lines: int
) -> Served:
    before = processor_time(server.pid)
    seconds = asyncio.run(read_by(readers, port, token, lines))
    return Served(seconds, processor_time(server.pid) - before)


def rows(readers: int, home: Path) -> Served:
    cpu, before = time.process_time(), time.perf_counter()
    with SqliteStore.open(home, readonly=True) as store:
        for _ in range(readers):
            for _line in store.export(RUN):
                pass
    return Served(time.perf_counter() - before, time.process_time() - cpu)


BARE = """
import asyncio, sys
frames = sys.stdin.buffer.read().split(b"\\n\\n")
async def serve(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    for frame in frames:
        writer.write(frame + b"\\n\\n")
        await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


def bare(readers: int, home: Path, lines: int) -> Served:
    with SqliteStore.open(home, readonly=True) as store:
        frames = b"".join(
            b"id: 1\nevent: failed\ndata: " + line.strip() + b"\n\n" for line in store.export(RUN)
        )
    with subprocess.Popen(
        [sys.executable, "-c", BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        server.stdin.write(frames + END)
        server.stdin.close()
        port = int(server.stdout.readline())
        try:
            return over_http(readers, server, port, "", lines)
        finally:
            server.kill()


def told(readers: int, lines: int, ours: Served, plain: Served, socket: Served) -> str:
    events = readers * lines
    micro = [1e6 * each.cpu / events for each in (ours, plain, socket)]
    ratio = micro[0] / max(1e-9, micro[1] + micro[2])
    rate = [f"{events / each.seconds:,.0f}" for each in (ours, socket)]
    return HEAD.format(
        readers, rate[0], rate[1], *(f"{each:.1f}" for each in micro), f"{ratio:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--readers", type=int, nargs="+", default=[1, 10, 100, 500])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as made:
        folder = Path(made)
        (folder / "repo").mkdir()
        token = Tokens(FileAccess(folder / "state")).create_token(Role.ADMIN)
        recorded(folder / "state", str(repository(folder / "repo") / ".git"), chosen.lines)
        env = {
            **os.environ,
            "PUNCHLIST_HOME": str(folder / "state"),
            "PUNCHLIST_CONFIG": os.devnull,
        }
        command = [sys.executable, "-m", "punchlist", "serve", "--port", "0"]
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as server:
            try:
                port = int(server.stderr.readline().split()[-1].rpartition(b":")[2])
                with Client(f"http://127.0.0.1:{port}", token) as client:
                    client.register(Registering(path=str(folder / "repo")))
                print(
                    HEAD.format(
                        "readers",
                        "events/s",
                        "bare /s",
                        "us each",
                        "rows us",
                        "socket us",
                        "over both",
                    )
                )
                for readers in chosen.readers:
                    ours = over_http(readers, server, port, token, chosen.lines)
                    plain, socket = (
                        rows(readers, folder / "state"),
                        bare(readers, folder / "state", chosen.lines),
                    )
                    print(told(readers, chosen.lines, ours, plain, socket), flush=True)
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
