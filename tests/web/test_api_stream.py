"""The ledger as Server-Sent Events: every line once and in order, for many readers, over reconnects and a killed server."""

import asyncio
import random
import time

import pytest

pytest.importorskip("litestar")
from reading import asked, end, grow, heard, ids, ledger, resident

from needs import rarely
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger import events as ev
from punchlist.web.client import Client, NotDone


class Ledger:
    """A run that the test writes, as another process does."""

    def __init__(self, house, store: SqliteStore, run: str, lines: int) -> None:
        self.site, self.store, self.run = house, store, run
        self.path = f"/api/runs/{run}/stream"
        ledger(store, run, str(house.folder / "repo" / ".git"), lines)

    def grow(self, numbers) -> None:
        grow(self.store, self.run, numbers)


@pytest.fixture
def record(house, request):
    with SqliteStore.open(house.home) as store:
        yield Ledger(house, store, f"261115-{abs(hash(request.node.name)) % 10**6:06}", 5)


def test_all_lines_come_once_and_in_order_and_the_end_is_said(house, record):
    end(record.store, record.run)
    with house.client("read") as client:
        with client.stream("GET", record.path) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            events = list(heard(answer.iter_lines()))
        assert [event.id for event in events] == ["1", "2", "3", "4", "5", "6", ""]
        assert [event.name for event in events] == ["started", *["stepdone"] * 4, "ended", "end"]
        assert "of the user" not in str(events)
        with client.stream("GET", record.path, headers={"last-event-id": "4"}) as answer:
            assert [event.id for event in heard(answer.iter_lines())] == ["5", "6", ""]
        assert client.get(record.path, headers={"last-event-id": "6"}).status_code == 204
        assert client.get(record.path, headers={"last-event-id": "six"}).status_code == 400


@pytest.mark.serial
def test_what_another_process_writes_comes_too(house, record):
    with house.client("read") as client, client.stream("GET", record.path) as answer:
        events = heard(answer.iter_lines())
        assert [next(events).id for _ in range(5)] == ["1", "2", "3", "4", "5"]
        before = time.monotonic()
        record.grow([6])
        assert next(events).id == "6"
        assert time.monotonic() - before < 5


async def one_reader(record: Ledger, want: int, rng: random.Random, *, restless: bool) -> list[str]:
    """Reads until it has so many; a restless one hangs up now and then, and whoever loses the server comes back."""
    got: list[str] = []
    while len(got) < want:
        stay = rng.randrange(1, 40) if restless else want
        try:
            async for seen in ids(record.site, record.path, got[-1] if got else ""):
                got.append(seen)
                stay -= 1
                if len(got) >= want or not stay:
                    break
        except (OSError, EOFError):
            await asyncio.sleep(rng.uniform(0.05, 0.3))
    return got


async def written(record: Ledger, lines: int, kills: int) -> None:
    numbers = list(range(6, lines + 1))
    step = max(1, len(numbers) // 20)
    killed = {(n + 1) * 20 // (kills + 1) for n in range(kills)}
    for turn, first in enumerate(range(0, len(numbers), step)):
        await asyncio.to_thread(record.grow, numbers[first : first + step])
        if turn in killed:
            record.site.kill()
            await asyncio.to_thread(record.site.start)
        await asyncio.sleep(0.05)


def read_by_many(record: Ledger, readers: int, lines: int, *, kills: int = 0) -> None:
    rng = random.Random(7)

    async def all_of_them() -> list[list[str]]:
        reading = [one_reader(record, lines, rng, restless=n % 3 == 0) for n in range(readers)]
        *got, _ = await asyncio.gather(*reading, written(record, lines, kills))
        return got

    got = asyncio.run(all_of_them())
    wanted = [str(n) for n in range(1, lines + 1)]
    assert [n for n, each in enumerate(got) if each != wanted] == []
    assert len(got) == readers


def test_fifty_readers_lose_and_repeat_nothing(record):
    read_by_many(record, 50, 60)


def test_the_python_client_reads_the_same_over_a_killed_server(house, record):
    with Client(house.address, house.tokens["read"], timeout=30) as client:
        assert house.repository in {each.id for each in client.repositories()}
        assert client.run(record.run).seq == 5
        assert [event.seq for event in client.events(record.run, after=3).events] == [4, 5]
        seen = []
        for event in client.stream(record.run):
            seen.append(event.id)
            if len(seen) == 5:
                house.kill()
                record.grow([6, 7])
                end(record.store, record.run)
                house.start()
        assert seen == [str(n) for n in range(1, 9)]
        with pytest.raises(NotDone, match="no such run"):
            client.run("261115-nobody")


def test_five_hundred_readers_lose_and_repeat_nothing_while_the_server_is_killed(record):
    read_by_many(record, 500, 105, kills=2)


async def settled(pid: int) -> int:
    """The memory of a process, once it does not grow any more."""
    before = resident(pid)
    for _ in range(200):
        await asyncio.sleep(0.5)
        now = resident(pid)
        if now <= before + 1:
            return now
        before = now
    raise AssertionError(f"it still grows: {before} MB")


async def stalled(record: Ledger, readers: int) -> list[asyncio.StreamWriter]:
    """So many who ask for the stream, see that it begins, and read no more."""
    writers = []
    for _ in range(readers):
        reader, writer = await asked(record.site, record.path, "")
        assert b" 200 " in await reader.readline()
        writers.append(writer)
    return writers


@pytest.mark.parametrize(
    ("size", "lines"), [(300_000, 40), *rarely((6_000_000, 5))], ids=["many", "large"]
)
def test_readers_that_do_not_read_take_no_memory(house, record, size, lines):
    """A hundred readers ask for all of it, and take none; meanwhile one who reads gets everything, also what comes later."""

    def more(first: int) -> None:
        for number in range(first, first + lines):
            record.store.append(
                record.run, f"{number}", "", ev.StepDone(verb="x" * size), float(number)
            )

    def read() -> list[str]:
        with house.client("read") as client, client.stream("GET", record.path) as answer:
            events = heard(answer.iter_lines())
            return [next(events).id for _ in range(5 + 2 * lines)]

    async def grown() -> int:
        before = resident(house.pid)
        writers = await stalled(record, 100)
        try:
            await settled(house.pid)
            await asyncio.to_thread(more, 6 + lines)
            assert await asyncio.to_thread(read) == [
                str(number) for number in range(1, 6 + 2 * lines)
            ]
            return await settled(house.pid) - before
        finally:
            for writer in writers:
                writer.close()

    more(6)
    megabytes = asyncio.run(grown())
    assert megabytes < 150, (
        f"{megabytes} MB for 100 readers of {2 * lines * size / 1e6:.0f} MB each"
    )
