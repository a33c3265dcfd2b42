"""How one stream goes: what is there first, then what comes; signs of life; agents' words beside it; and how it ends."""

import asyncio

import pytest

pytest.importorskip("litestar")
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.errors import StoreAway
from punchlist.web.problem import Refused
from punchlist.web.sse.follow import Pace, Subscription, follow_run
from punchlist.web.state import Options, WebSession


class Lines:
    """A source of numbers, as far as it was told."""

    def __init__(self, last: int) -> None:
        self.last = last

    def next_frame(self, run, after):
        return ((after[0] + 1, 0), f"{after[0] + 1}".encode()) if after[0] < self.last else None


def reader(source, over=lambda: None, after=0, admitted=lambda: True) -> Subscription:
    return Subscription(
        run="r",
        source=source,
        after=(after, 0),
        over=over,
        encode=lambda said: f"{said.label}: {said.text}".encode(),
        admitted=admitted,
    )


async def taken(stream, count: int) -> list[bytes]:
    got = [await anext(stream) for _ in range(count)]
    return [piece for piece in got if not piece.startswith(b"retry")]


def test_what_is_there_comes_first_and_then_what_is_rung_for():
    async def main() -> None:
        source, driving = Lines(2), ThreadedDriver()
        stream = follow_run(reader(source, after=1), driving, Pace(poll=60, beat=60), lambda: False)
        assert await taken(stream, 2) == [b"2"]
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        source.last = 3
        driving.bell.ring("r")
        assert await asyncio.wait_for(waiting, 5) == b"3"

    asyncio.run(main())


def test_without_a_bell_it_looks_by_itself():
    async def main() -> None:
        source = Lines(0)
        stream = follow_run(
            reader(source), ThreadedDriver(), Pace(poll=0.01, beat=60), lambda: False
        )
        await anext(stream)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.03)
        source.last = 1
        assert await asyncio.wait_for(waiting, 5) == b"1"

    asyncio.run(main())


def test_where_nothing_happens_there_are_signs_of_life():
    async def main() -> None:
        stream = follow_run(
            reader(Lines(0)), ThreadedDriver(), Pace(poll=0.01, beat=0.02), lambda: False
        )
        assert await taken(stream, 3) == [b": still here\n\n"] * 2

    asyncio.run(main())


def test_agents_are_heard_once_and_beside_the_ledger():
    async def main() -> None:
        driving, source = ThreadedDriver(), Lines(1)
        for n in range(1000):
            driving.talk.add("r", "fixer", str(n))
        stream = follow_run(reader(source), driving, Pace(poll=60, beat=60), lambda: False)
        got = await taken(stream, 2 + 256)
        assert got[0] == b"1"
        assert got[1:] == [f"fixer: {n}".encode() for n in range(744, 1000)], (
            "only the last of it is kept"
        )
        source.last = 2
        driving.talk.add("r", "fixer", "more")
        driving.bell.ring("r")
        assert await taken(stream, 2) == [b"2", b"fixer: more"]

    asyncio.run(main())


def test_it_ends_when_it_is_over_and_all_was_told():
    async def main() -> None:
        stream = follow_run(
            reader(Lines(2), over=lambda: b"bye"), ThreadedDriver(), Pace(), lambda: False
        )
        assert [piece async for piece in stream][1:] == [b"1", b"2", b"bye"]
        quiet = follow_run(
            reader(Lines(1), over=lambda: b""), ThreadedDriver(), Pace(), lambda: False
        )
        assert [piece async for piece in quiet][1:] == [b"1"]

    asyncio.run(main())


def test_what_is_told_while_it_ends_is_not_lost():
    async def main() -> None:
        source = Lines(1)

        def over() -> bytes:
            source.last = 2  # written between the last look and the question whether it is over
            return b"bye"

        stream = follow_run(
            reader(source, over=over), ThreadedDriver(), Pace(poll=0.01), lambda: False
        )
        assert [piece async for piece in stream][1:] == [b"1", b"2", b"bye"]

    asyncio.run(main())


def test_who_is_not_welcome_any_more_hears_no_more():
    async def main() -> None:
        source, admitted = Lines(1), [True]
        stream = follow_run(
            reader(source, admitted=lambda: admitted[0]),
            ThreadedDriver(),
            Pace(poll=0.01, beat=0.02),
            lambda: False,
        )
        assert await taken(stream, 2) == [b"1"]
        admitted[0] = False
        rest = [piece async for piece in stream]
        assert len(rest) <= 1, rest
        assert b"2" not in rest

    asyncio.run(main())


def test_a_server_that_stops_ends_its_streams():
    async def main() -> None:
        closing, driving = [False], ThreadedDriver()
        stream = follow_run(reader(Lines(1)), driving, Pace(poll=60, beat=60), lambda: closing[0])
        assert await taken(stream, 2) == [b"1"]
        waiting = asyncio.ensure_future(anext(stream, b"over"))
        await asyncio.sleep(0.01)
        closing[0] = True
        driving.stop_all()
        assert await asyncio.wait_for(waiting, 5) == b"over"

    asyncio.run(main())


def test_however_many_come_at_once_only_so_many_are_let_in(tmp_path):
    async def main() -> None:
        desk = WebSession(tmp_path, Options(), lambda: False)
        crowd = [desk.open_stream(reader(Lines(0))) for _ in range(1000)]
        begun = [await anext(stream, None) for stream in crowd]
        assert sum(each is not None for each in begun) == 900
        with pytest.raises(Refused, match="too many streams"):
            desk.open_stream(reader(Lines(0)))
        for stream in crowd:
            await stream.aclose()
        assert await anext(desk.open_stream(reader(Lines(0))), None) is not None
        await desk.close()

    asyncio.run(main())


class Flaky(Lines):
    """A source that is away at times."""

    away = over = False
    admits = True

    def find_end(self):
        return b"bye" if self.over else None

    def next_frame(self, run, after):
        self.require()
        return super().next_frame(run, after)

    def is_admitted(self):
        self.require()
        return self.admits

    def require(self):
        if self.away:
            raise StoreAway("away")


async def rest_of(stream) -> list[bytes]:
    return [piece async for piece in stream]


@pytest.mark.parametrize("dropped", [False, True])
def test_a_store_that_was_away_costs_no_line_and_lets_in_only_who_is_still_admitted(dropped):
    async def main() -> None:
        source = Flaky(1)
        stream = follow_run(
            reader(source, source.find_end, admitted=source.is_admitted),
            ThreadedDriver(),
            Pace(poll=0.01, beat=60),
            lambda: False,
        )
        assert await taken(stream, 2) == [b"1"]
        source.away, source.last, source.admits = True, 3, not dropped
        coming = asyncio.create_task(rest_of(stream))
        await asyncio.wait({coming}, timeout=0.1)
        assert not coming.done()
        source.away, source.over = False, True
        assert await coming == ([] if dropped else [b"2", b"3", b"bye"])

    asyncio.run(main())


def test_a_ledger_whose_entries_are_told_is_looked_at_seldom():
    told = [True]
    pace = Pace(poll=1, seldom=7, told=lambda: told[0])
    assert pace.wait == 7
    told[0] = False
    assert pace.wait == 1
