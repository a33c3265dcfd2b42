"""Runs driven beside a loop do not hold it up, and wake whoever follows them there."""

import asyncio
import threading

import pytest

from made import made_run
from punchlist.app.drive.background import Talk, wait_ring
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.model.ledger.events import Entry, Resumed
from punchlist.model.ledger.run import Run


class Busy:
    """Stands in a session's place: computes without a pause, until it is let go."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.closed = False

    async def run(self, watcher) -> Run:
        run = made_run(id="r1")
        watcher.handle_event(
            Entry(run="r1", seq=1, at=0, place="", key="", event=Resumed(version="1")), run
        )
        for _ in range(20):  # whoever began it hears of that first
            await asyncio.sleep(0)
        assert self.free.wait(30), "the loop that looks on was held up"
        watcher.handle_event(
            Entry(run="r1", seq=2, at=0, place="", key="2", event=Resumed(version="1")), run
        )
        return run

    def close(self) -> None:
        self.closed = True


async def begun(driving, session):
    return await driving.drive(session, session.run)


def test_the_loop_goes_on_while_a_run_computes():
    async def story() -> None:
        app, driving = Busy(), ThreadedDriver()
        assert await begun(driving, app) == "r1"
        bell = driving.bell.listen("r1")
        assert driving.is_driving("r1")
        app.free.set()
        assert await wait_ring(bell, 30)
        await driving.wait_settled("r1")
        assert (driving.is_driving("r1"), app.closed) == (False, True)
        await driving.close()

    asyncio.run(story())


def test_what_keeps_a_run_from_beginning_is_raised_here():
    class Refusing(Busy):
        async def run(self, watcher) -> Run:
            raise LookupError("there is nothing to do")

    async def story() -> None:
        app, driving = Refusing(), ThreadedDriver()
        with pytest.raises(LookupError, match="nothing to do"):
            await begun(driving, app)
        assert app.closed
        await driving.close()

    asyncio.run(story())


def test_a_run_is_stopped_from_here_and_the_thread_ends():
    class Patient(Busy):
        async def run(self, watcher) -> Run:
            watcher.handle_event(
                Entry(run="r1", seq=1, at=0, place="", key="", event=Resumed(version="1")),
                made_run(id="r1"),
            )
            await asyncio.sleep(60)
            raise AssertionError("it was not stopped")

    async def story() -> None:
        driving = ThreadedDriver()
        await begun(driving, Patient())
        assert await driving.cancel_run("r1", "ada")
        assert not await driving.cancel_run("r1", "ada"), "it is not driven here any more"
        await begun(driving, Patient())
        driving.stop_all()
        await driving.wait_settled("r1")
        await driving.close()

    before = threading.active_count()
    asyncio.run(story())
    assert threading.active_count() == before


def test_of_what_agents_say_only_so_much_is_kept_for_whoever_looks_on():
    talk = Talk()
    for number in range(1000):
        talk.add("r1", "fix/1", f"{'x' * 100_000} {number}")
    said = talk.list_after("r1", 0)
    assert sum(len(each.text) for each in said) < 5_000_000
    assert said[-1].text.endswith(" 999")
