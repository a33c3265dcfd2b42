"""One wide run on several workers: others do single actions, and its driver alone records them."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from state_contract import started

from fleet_world import find_driver, list_units
from punchlist._version import __version__
from punchlist.adapters.agents.spending import Spending
from punchlist.app.fleet import spread
from punchlist.app.fleet.helper import decode_input, find_own_trouble
from punchlist.app.fleet.spread import SpreadActions
from punchlist.errors import StoreError, UsageError
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold_entries
from punchlist.ports.fleet.queue import Job, Room, WorkerInfo
from punchlist.ports.fleet.units import Taker, Unit, UnitReport, UnitTask
from punchlist.steps import VERBS
from punchlist.steps.support.agent_fix import AgentFix
from punchlist.steps.verb import Action

DRIVER = Taker(worker="d", version=__version__)
ACTION = Action("batch 1", AgentFix((1,), "fixer 1"), role="fixer")


def test_fixes_of_a_wide_run_are_made_by_two_workers_and_recorded_by_one(fleet):
    fleet.play_wide(3)
    workers = [fleet.start_worker(name, lease=15) for name in "ab"]
    assert all(worker.id for worker in workers)
    run = fleet.enqueue_wide(spread=2)
    fleet.wait_ended(run)
    _, other = find_driver(fleet, run, workers)
    assert sorted(fleet.list_attempts(run)) == ["", other.id, other.id]
    assert sorted(fleet.calls) == ["fixer", "fixer", "fixer", "technical"]
    fleet.check_once(run, commits=3)
    assert list_units(fleet) == []
    assert list((other.home / "workers" / "1" / "units").iterdir()) == []
    assert "the ledger adds up" in fleet.command("audit", run)


class Played:
    """A driver with real units, and the other worker, which the test plays."""

    def __init__(self, state, spending):
        job = Job(run="r1", repository="/repo/a")
        state.queue.enqueue(job, started("/repo/a"), 1.0)
        state.queue.take("d", (), Room())
        for name in ("d", "w"):
            info = WorkerInfo(id=name, machine="here", pid=1, width=2, version=__version__)
            state.workers.register(info)
        self.lease = state.leases.acquire("r1")
        self.state, self.units, self.spending = state, state.units, spending
        self.run = fold_entries("r1", state.store.read("r1"))
        self.recorded = []

    @asynccontextmanager
    async def give_away(self):
        """Give an action away; yield the task that waits for it, and the driver."""
        async with SpreadActions(self.units, "r1", DRIVER, self.spending, most=2) as driver:
            driver.subscribe(self.recorded.append, lambda: None)
            waiting = asyncio.create_task(driver.perform("fix", ACTION, self.run))
            yield waiting, driver
            await asyncio.wait([waiting])

    async def take(self):
        taker = Taker(worker="w", version=__version__)
        found = []
        await self.wait_for(lambda: found.append(self.units.take(taker)) or found[-1])
        return found[-1]

    async def wait_for(self, what):
        async with asyncio.timeout(30):
            while not await asyncio.to_thread(what):  # noqa: ASYNC110 - another thread writes it
                await asyncio.sleep(0.01)

    def kill_worker(self):
        self.state._database.execute("UPDATE workers SET until = '-infinity' WHERE id = 'w'")


@pytest.fixture
def played(open_fleet):
    return Played(open_fleet(), Spending(limit=5))


REFUSED = ev.ConnectionRefused(child="robot", target="example.org", why="not listed", label="x")
DONE = ev.Attempted(fixer="agent", agent="robot", usage=Usage(dollars=0.5, output_tokens=9))


def test_what_happens_in_a_unit_is_told_at_once_and_what_is_spent_both_ways(played):
    async def play():
        played.spending.set_elsewhere("another unit", 1.0)
        async with played.give_away() as (waiting, _):
            unit = await played.take()
            assert decode_input(unit.task) == ACTION.input
            now = UnitReport(notices=(REFUSED,), dollars=0.25)
            await asyncio.to_thread(played.units.beat, unit.id, "w", now)
            await played.wait_for(lambda: played.units.beat(unit.id, "w", None) == 1.0)
            assert played.recorded == [replace(REFUSED, worker="w")]
            assert played.spending.dollars == 1.25
            last = UnitReport(event=DONE, notices=(REFUSED, REFUSED), dollars=0.5)
            await asyncio.to_thread(played.units.finish, unit.id, "w", last)
            assert await waiting == replace(DONE, worker="w")

    asyncio.run(play())
    assert played.recorded == [replace(REFUSED, worker="w")] * 2
    assert played.spending.dollars == 1.5
    assert played.units.list_states("r1") == []


def test_the_unit_of_a_dead_worker_is_done_here_and_what_it_had_spent_is_told(played):
    cut = Usage(dollars=0.3, cut=1)

    async def play():
        async with played.give_away() as (waiting, _):
            unit = await played.take()
            told = UnitReport(dollars=0.3, unfinished=cut)
            await asyncio.to_thread(played.units.beat, unit.id, "w", told)
            played.kill_worker()
            assert await waiting is None
        late = UnitReport(event=DONE)
        assert not await asyncio.to_thread(played.units.finish, unit.id, "w", late)

    asyncio.run(play())
    assert played.spending.collect_cut() == cut
    assert played.spending.dollars == pytest.approx(0.3)


def test_a_unit_that_a_living_worker_does_not_know_of_is_done_here(played):
    """Its worker took it in a transaction whose answer was lost, and took another one instead."""

    async def play():
        async with played.give_away() as (waiting, _):
            await played.take()
            late = "UPDATE units SET beat_at = clock_timestamp() - interval '2 min'"
            played.state._database.execute(late)
            assert await waiting is None

    asyncio.run(play())
    assert played.units.list_states("r1") == []


def test_an_action_does_not_wait_for_a_state_that_cannot_be_read_any_more(played):
    async def play():
        async with played.give_away() as (waiting, _):
            await played.take()
            played.state.wait_for(0)
            played.state._database.execute("ALTER TABLE units RENAME TO gone")
            with pytest.raises(StoreError):
                await waiting

    asyncio.run(play())


def test_what_no_worker_begins_or_what_is_given_back_is_done_here(played, monkeypatch):
    async def play():
        async with played.give_away() as (waiting, driver):
            unit = await played.take()
            back = UnitReport(why="no such agent here")
            await asyncio.to_thread(played.units.finish, unit.id, "w", back)
            assert await waiting is None
            monkeypatch.setattr(spread, "_UNTAKEN", 0)
            await played.wait_for(lambda: driver.width == 2)
            assert await driver.perform("fix", ACTION, played.run) is None
            assert driver.width == 0, "nothing more is offered for a while"

    asyncio.run(play())
    assert played.units.list_states("r1") == []


def test_a_cancelled_action_ends_when_the_worker_has_ended_it(played):
    async def play():
        async with played.give_away() as (waiting, _):
            unit = await played.take()
            waiting.cancel()
            await played.wait_for(lambda: played.units.beat(unit.id, "w", None) is None)
            assert not waiting.done()
            last = UnitReport(why="it was ended", unfinished=Usage(dollars=0.1, cut=1))
            await asyncio.to_thread(played.units.finish, unit.id, "w", last)
        assert waiting.cancelled()

    asyncio.run(play())
    assert played.spending.collect_cut() == Usage(dollars=0.1, cut=1)
    assert played.units.list_states("r1") == []


def test_the_next_driver_ends_the_units_of_the_one_before_and_tells_what_was_cut(played):
    task = UnitTask(seq=2, verb="fix", kind="AgentFix", input="{}")
    unit = Unit(id="u1", run="r1", driver="d", version=__version__, agents=(), task=task)
    played.units.offer(unit)

    async def play():
        await played.take()
        played.lease.release()
        played.state.leases.acquire("r1")
        async with SpreadActions(played.units, "r1", DRIVER, played.spending, most=1) as driver:
            driver.subscribe(played.recorded.append, lambda: None)
            last = UnitReport(unfinished=Usage(dollars=0.2, cut=1), notices=(REFUSED,))
            assert await asyncio.to_thread(played.units.beat, "u1", "w", last) is None
            assert await asyncio.to_thread(played.units.finish, "u1", "w", last)
            await played.wait_for(lambda: not played.units.list_states("r1"))

    asyncio.run(play())
    assert played.spending.collect_cut() == Usage(dollars=0.2, cut=1)
    assert played.recorded == [replace(REFUSED, worker="w")]


def test_only_what_a_verb_calls_portable_is_done_for_another_worker():
    for verb, kind in (("commit", "Commit"), ("verify", "Conclude"), ("none", "AgentFix")):
        with pytest.raises(UsageError, match="no action for another worker"):
            decode_input(UnitTask(seq=1, verb=verb, kind=kind, input="{}"))
    portable = {verb: VERBS[verb].portable for verb in VERBS if VERBS[verb].portable}
    assert set(portable) == {"review", "reproduce", "fix", "verify", "challenge"}
    for verb, kinds in portable.items():
        assert kinds <= set(VERBS[verb].performers)


@pytest.mark.parametrize(
    ("event", "trouble"),
    [
        (ev.Failed(reason="no disk"), "no disk"),
        (ev.Reviewed(reviewer="a", commit="c", failed="not installed"), "not installed"),
        (ev.Reviewed(reviewer="a", commit="c", failed="cut", usage=Usage(dollars=1)), ""),
        (ev.Reviewed(reviewer="a", commit="c", failed="cut", usage=Usage(unpriced=1)), ""),
        (ev.Reproduced(item=1, why="no agent"), "no agent"),
        (ev.Reproduced(item=1, red=True, why="seen to fail"), ""),
        (ev.Examined(batch=1, refuted="breaks a test"), ""),
        (ev.Attempted(fixer="agent"), ""),
    ],
)
def test_trouble_without_any_work_of_an_agent_is_not_handed_in(event, trouble):
    assert find_own_trouble(event) == trouble
