"""Reads Server-Sent Events, and makes ledgers to be read."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger import events as ev
from punchlist.model.patch.change import Change, ScopeKind


class Heard(Struct, frozen=True):
    name: str
    id: str
    data: dict


def heard(lines: Iterable[str]) -> Iterator[Heard]:
    """Events of a stream; comments and `retry` are not among them."""
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line:
            if "data" in fields:
                yield Heard(
                    fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"])
                )
            fields = {}


async def asked(site, path: str, last: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request on a connection of its own, by hand: a client library for hundreds of readers costs more than the server."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    token = f"authorization: Bearer {site.tokens['read']}\r\n"
    since = f"last-event-id: {last}\r\n" if last else ""
    writer.write(
        f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{site.port}\r\n{token}{since}\r\n".encode()
    )
    await writer.drain()
    return reader, writer


async def ids(site, path: str, last: str) -> AsyncIterator[str]:
    """The ids of a stream. Raises where the connection breaks off."""
    reader, writer = await asked(site, path, last)
    try:
        status = await reader.readline()
        if not status:
            raise EOFError
        assert b" 200 " in status, status
        while line := await reader.readline():
            if line.startswith(b"id: "):
                yield line[4:].decode().strip()
        raise EOFError
    finally:
        writer.close()


def resident(pid: int) -> int:
    """Megabytes that a process has in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) // 1024


def started(git_dir: str) -> ev.Started:
    return ev.Started(
        repository=git_dir,
        change=Change(kind=ScopeKind.ALL, base="0" * 40, head="0" * 40),
        workflow_name="proven",
        workflow="steps: [{report: {}}]",
        settings='{"secret": "of the user"}',
        reviewers=("ruff",),
        checks=(),
        checks_allowed=False,
        version="0",
    )


def ledger(store: SqliteStore, run: str, git_dir: str, lines: int = 0) -> None:
    """A run of so many lines that nobody drives."""
    store.append(run, "start", "started", started(git_dir), 1.0)
    grow(store, run, range(2, lines + 1))


def grow(store: SqliteStore, run: str, numbers: Iterable[int]) -> None:
    for number in numbers:
        store.append(run, f"{number}", "", ev.StepDone(verb="scan"), float(number))


def end(store: SqliteStore, run: str) -> None:
    store.append(run, "end", "ended", ev.Ended(outcome="clean"), 1e6)
