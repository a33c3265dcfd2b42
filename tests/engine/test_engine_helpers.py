"""Actions that other workers may do: only as many as have room there, and what comes back undone is done here."""

import asyncio

import pytest
from msgspec.structs import replace
from probes import Job, action, done

from punchlist.engine import Limits
from punchlist.model.ledger import events as ev
from punchlist.steps.verb import select_pending

KEYS = ("a", "b", "c", "d", "e")


class Elsewhere:
    """Performs what it is given, or gives it back; notes how much it has at once."""

    def __init__(self, width, *, does=True):
        self.width, self.does = width, does
        self.given, self.now, self.most = [], 0, 0
        self.ended = []
        self.full, self.through = asyncio.Event(), asyncio.Event()

    def subscribe(self, record, wake):
        self.record, self.wake = record, wake

    async def perform(self, verb, action, run):
        self.given.append(action.key)
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self.width:
            self.full.set()
        try:
            await asyncio.sleep(0.01)
        finally:
            self.now -= 1
            self.ended.append(action.key)
        if self.now == 0:
            self.through.set()
        return replace(done(action.key), worker="other") if self.does else None


class Here:
    """Performs here; notes how much at once."""

    def __init__(self):
        self.done, self.now, self.most = [], 0, 0

    async def __call__(self, job, run, world):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        self.done.append(job.name)
        return done(job.name)


def plan_all(run, options, place):
    return select_pending(run, *map(action, KEYS))


@pytest.fixture
def wide(stage):
    """A run of five actions, of which one is performed at a time."""

    def build(width, *, does=True, portable=True, **more):
        stage.helpers, here = Elsewhere(width, does=does), Here()
        stage.limits = Limits(width=1, **more)
        stage.verb(plan_all, here, portable=frozenset({Job} if portable else ()))
        return stage.helpers, here

    return build


def test_what_has_no_room_here_is_done_elsewhere_and_recorded_once(stage, wide):
    there, here = wide(2)
    stage.drive()
    assert set(there.given) | set(here.done) == set(KEYS)
    assert len(there.given) + len(here.done) == len(KEYS)
    assert there.most == 2
    assert here.most == 1
    workers = {entry.key: entry.event.worker for entry in stage.entries if entry.key in KEYS}
    assert workers == {key: "other" if key in there.given else "" for key in KEYS}


def test_what_comes_back_undone_is_done_here_as_there_is_room(stage, wide):
    there, here = wide(4, does=False)
    stage.drive()
    assert there.given
    assert sorted(here.done) == sorted(KEYS)
    assert here.most == 1


@pytest.mark.parametrize("how", [{"width": 0}, {"width": 4, "portable": False}])
def test_without_a_place_elsewhere_or_if_it_must_be_done_here_nothing_is_given_away(
    stage, wide, how
):
    there, here = wide(**how)
    stage.drive()
    assert there.given == []
    assert here.done == list(KEYS)


def test_a_worker_that_becomes_idle_gets_the_next_action_at_once(stage, wide):
    there, here = wide(0)
    perform = here.__call__

    async def slow(job, run, world):
        if job.name == "a":
            there.width = 4
            there.wake()
            await there.through.wait()
        return await perform(job, run, world)

    stage.knows("probe 0", plan_all, slow, portable=frozenset({Job}))
    stage.drive()
    assert here.done == ["a"]
    assert sorted(there.given) == ["b", "c", "d", "e"]


def test_a_stop_waits_until_nothing_is_done_elsewhere(stage, wide):
    there, _ = wide(2)

    async def stopped():
        driving = asyncio.create_task(stage.driving())
        await there.full.wait()
        driving.cancel()
        return await driving

    asyncio.run(stopped())
    assert sorted(there.ended) == sorted(there.given)
    assert isinstance(stage.entries[-1].event, ev.Interrupted)
