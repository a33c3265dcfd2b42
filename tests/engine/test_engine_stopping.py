"""Ctrl-C, time, money and rounds: whatever ends a run early is written down, nothing is left running, and the rest is told."""

import asyncio
import time

import pytest
from msgspec.structs import replace
from probes import Watch, action, all_of, dismiss_one, done

from punchlist.engine import Limits
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Fact, Move, Status
from punchlist.model.ledger import events as ev
from punchlist.steps.report import FilingScope
from punchlist.steps.report import Options as Report
from punchlist.steps.verb import NoOptions, select_pending
from punchlist.workflow.language import Do, OnLimit, Repeat, StopWhen, Until

FOREVER = 30


def kinds(stage) -> list[str]:
    return [type(entry.event).__name__ for entry in stage.entries]


async def long_job(job, run, world):
    await asyncio.sleep(FOREVER if job.name.startswith("long") else 0)
    return done(job.name)


def loop(stage, perform, *, until=Until.NO_MUST_FIX, **options) -> None:
    """One verb in a loop; what is done in a round is up to `perform`."""
    stage.knows(
        "work",
        lambda run, options, place: (
            all_of("work")(run, options, place) if run.find_items(Status.OPEN) else ()
        ),
        perform,
    )
    loop = {"rounds": 3, "on_limit": OnLimit.GO_ON, "hard_cap": 5, **options}
    stage.then(Repeat(steps=(Do("work", NoOptions()), StopWhen(until)), **loop))


async def nothing(job, run, world):
    return done(job.name)


def test_cancelling_writes_it_down_leaves_no_task_and_can_be_gone_on_with(stage):
    stage.verb(all_of("short", "long"), long_job)
    left = set()

    async def main():
        driver = asyncio.create_task(
            stage.driving(Watch(lambda entry, run: entry.key == "short" and driver.cancel()))
        )
        run = await driver
        left.update(asyncio.all_tasks() - {asyncio.current_task()})
        return run

    began = time.monotonic()
    run = asyncio.run(main())
    assert time.monotonic() - began < FOREVER / 2
    assert left == set()
    assert (run.interrupted, run.ended) == (True, "")
    assert stage.keys == ["started", "short", "interrupted 2"]
    assert stage.run == run

    stage.knows("probe 0", all_of("short", "long"))
    watch = Watch()
    run = stage.drive(watch)
    assert (run.interrupted, bool(run.ended)) == (False, True)
    assert watch.began_keys == ["long"]


def test_an_action_that_ends_at_the_very_moment_of_the_cancel_is_written_down(stage):
    driver = []

    async def perform(job, run, world):
        driver[0].cancel()
        return done(job.name, dollars=3)

    async def main():
        driver.append(asyncio.current_task())
        return await stage.driving()

    stage.verb(all_of("paid for"), perform)
    run = asyncio.run(main())
    assert stage.keys == ["started", "paid for", "interrupted 2"]
    assert run.usage.dollars == 3


def test_what_a_cancelled_action_still_says_is_not_believed(stage):
    async def perform(job, run, world):
        try:
            await asyncio.sleep(FOREVER)
        except asyncio.CancelledError:
            return done("all is well")
        return done(job.name)

    stage.verb(all_of("judge"), perform)
    stage.limits = Limits(seconds=0.05)
    stage.clock = time.time
    run = stage.drive()
    assert "judge" not in stage.keys
    assert run.ended == "incomplete"


def test_a_run_may_be_stopped_and_gone_on_with_again_and_again(stage):
    names = [f"n{number}" for number in range(5)]
    stage.limits = Limits(width=1)
    stage.verb(all_of(*names), long_job)
    performed = []
    while not stage.run.ended:
        watch = Watch(
            lambda entry, run: entry.key in (*names, "") and asyncio.current_task().cancel()
        )
        stage.drive(watch)
        performed += [key for key in watch.told_keys if key in names]
    assert performed == names
    assert kinds(stage).count("Interrupted") == len(names)


def test_time_ends_what_is_under_way_and_what_is_left_is_still_filed_and_told(stage):
    stage.limits = Limits(seconds=0.2)
    stage.clock = time.time
    stage.add_items(1, 2)
    stage.verb(all_of("short", "long"), long_job)
    stage.verb(all_of("never"))
    stage.then(Do("report", Report()))
    watch = Watch()
    run = stage.drive(watch)
    assert run.halted == "time limit of 0.2 s reached"
    assert run.ended == "incomplete"
    assert "short" in watch.told_keys
    assert "never" not in watch.began_keys
    assert [each.status for each in run.items.values()] == [Status.FILED, Status.FILED]
    assert run.filing.artifacts
    assert "1" not in run.position.done, "a step that was cut is not done"


def test_after_the_time_is_up_not_even_a_quick_action_begins(stage):
    ticks = iter(range(1000))
    stage.clock = lambda: float(next(ticks))
    stage.limits = Limits(seconds=20, width=1)
    stage.verb(all_of(*map(str, range(100))))
    watch = Watch()
    assert stage.drive(watch).halted
    assert 0 < len(watch.began_keys) < 20


def test_a_night_between_two_sittings_is_not_counted(stage):
    now = [0.0]
    stage.clock = lambda: now[0]
    stage.limits = Limits(seconds=100, width=1)

    def on_told(entry, run):
        now[0] += 1
        if entry.key == "a":
            asyncio.current_task().cancel()

    stage.verb(all_of("a", "b"))
    stage.drive(Watch(on_told))
    now[0] += 30_000
    run = stage.drive()
    assert run.ended
    assert not run.halted
    assert run.active < 10


def test_when_the_money_is_spent_what_runs_may_end_and_nothing_more_begins(stage):
    async def perform(job, run, world):
        for _ in range(int(job.name)):
            await asyncio.sleep(0)
        return done(job.name, dollars=2)

    stage.limits = Limits(dollars=3, width=3)
    stage.verb(all_of("1", "5", "9", "2", "3", "4", "6"), perform)
    stage.then(Do("report", Report()))
    watch = Watch()
    run = stage.drive(watch)
    assert run.halted == "money limit of $3 reached"
    assert watch.began_keys == ["1", "5", "9", "2", "survey", "report"]
    assert run.usage.dollars == 8, "what was paid for is known"
    assert run.ended == "incomplete"


def test_a_limit_that_is_reached_when_nothing_is_left_to_begin_cuts_nothing(stage):
    async def perform(job, run, world):
        return done(job.name, dollars=3)

    stage.limits = Limits(dollars=3)
    stage.verb(all_of("only"), perform)
    stage.verb(all_of())
    stage.verb(all_of("told"), last=True)
    run = stage.drive()
    assert not run.halted
    assert run.position.done == {"0", "1", "2"}


def test_what_must_run_last_is_not_cut_by_time(stage):
    async def perform(job, run, world):
        await asyncio.sleep(0.1)
        return done(job.name)

    stage.limits = Limits(seconds=0.05)
    stage.clock = time.time
    stage.verb(all_of("told", "all of it"), perform, last=True)
    stage.drive()
    assert {"told", "all of it", ""} <= set(stage.keys)
    assert "Halted" not in kinds(stage)


def test_a_halted_run_that_is_killed_in_its_report_goes_on_with_the_report_only(stage):
    async def spend(job, run, world):
        await asyncio.sleep(0.01)
        return done(job.name, dollars=1)

    stage.verb(all_of("spend"), spend)
    stage.verb(all_of("never"))
    stage.verb(all_of("file", "tell"), spend, last=True)
    stage.limits = Limits(dollars=1, width=1)
    stage.drive(Watch(lambda entry, run: entry.key == "file" and asyncio.current_task().cancel()))
    watch = Watch()
    run = stage.drive(watch)
    assert watch.began_keys == ["tell"]
    assert run.ended == "incomplete"


def test_a_loop_ends_when_its_work_is_done(stage):
    stage.add_items(1, 2)
    loop(stage, dismiss_one)
    run = stage.drive()
    assert [(each.round, each.open, each.stop) for each in run.position.rounds] == [
        (1, 1, ""),
        (2, 0, "no must-fix item is open"),
    ]


def test_at_the_limit_of_rounds_it_goes_on_with_what_comes_after_and_says_so(stage):
    stage.add_items(1)
    loop(stage, nothing, rounds=2)
    stage.then(Do("report", Report()))
    run = stage.drive()
    assert [each.stop for each in run.position.rounds] == ["", "limit: 2 rounds"]
    assert run.items[1].status is Status.FILED


@pytest.mark.parametrize(
    ("choice", "status", "stop", "fact"),
    [
        ("a", Status.BLOCKED, "blocked by Ada", Fact.SAID_BLOCKED),
        ("b", Status.DISMISSED, "accepted by Ada", Fact.DISMISSED),
    ],
)
def test_at_the_limit_a_person_is_asked_and_may_block_or_accept(stage, choice, status, stop, fact):
    stage.add_items(1, 2)
    loop(stage, nothing, rounds=2, on_limit=OnLimit.ASK)
    run = stage.drive()
    assert not run.ended
    assert run.waiting_for.question == (
        "After 2 review rounds, issues remain:\n- Critical: 0\n- Important: 2\n- Minor: 0"
    )
    assert set(run.waiting_for.choices) == {"a", "b", "c"}
    stage.answer(choice)
    run = stage.drive()
    assert run.position.rounds[-1].stop == stop
    for item in run.items.values():
        assert item.status is status
        assert (item.attempts[-1].fact, item.attempts[-1].by) == (fact, "Ada")


def test_a_run_that_waits_is_not_driven_without_an_answer(stage):
    stage.add_items(1)
    loop(stage, nothing, rounds=1, on_limit=OnLimit.ASK)
    stage.drive()
    before = stage.keys
    run = stage.drive()
    assert run.waiting_for is not None
    assert stage.keys == [*before, f"resumed {len(before)}"]


def test_one_more_round_is_granted_at_a_time_and_never_past_the_hard_cap(stage):
    stage.add_items(1)
    loop(stage, nothing, rounds=2, hard_cap=4, on_limit=OnLimit.ASK)
    run = stage.drive()
    asked = []
    while run.waiting_for is not None:
        choices = run.waiting_for.choices
        asked.append("".join(choices))
        stage.answer("c" if "c" in choices else "a")
        run = stage.drive()
    assert asked == ["abc", "abc", "ab"]
    assert [each.round for each in run.position.rounds] == [1, 2, 3, 4]
    assert run.items[1].status is Status.BLOCKED


def test_an_answer_that_was_never_offered_grants_nothing(stage):
    stage.add_items(1)
    loop(stage, nothing, rounds=1, hard_cap=1, on_limit=OnLimit.ASK)
    stage.drive()
    stage.answer("c")
    run = stage.drive()
    assert len(run.position.rounds) == 1
    assert run.items[1].status is Status.BLOCKED


def test_nobody_is_asked_where_nothing_must_be_fixed(stage):
    stage.add_items(1, severity=Severity.MINOR)
    loop(stage, nothing, rounds=1, on_limit=OnLimit.ASK)
    run = stage.drive()
    assert run.ended
    assert run.asking.questions == ()


def test_a_loop_that_goes_in_circles_stops_early_and_says_why(stage):
    stage.add_items(1, 2)
    loop(stage, nothing, rounds=8, hard_cap=8, until=Until.CONVERGED)
    assert [each.stop for each in stage.drive().position.rounds] == [
        "",
        "",
        "churning: no fewer items in 2 rounds",
    ]


def test_a_loop_that_gets_on_is_not_cut(stage):
    stage.add_items(*range(1, 7))
    loop(stage, dismiss_one, rounds=8, hard_cap=8, until=Until.CONVERGED)
    run = stage.drive()
    assert len(run.position.rounds) == 6
    assert not run.find_items(Status.OPEN)


def test_a_halt_in_a_loop_leaves_it_without_asking_anybody(stage):
    async def spend(job, run, world):
        return done(job.name, dollars=1)

    stage.add_items(1)
    loop(stage, spend, rounds=3, on_limit=OnLimit.ASK)
    stage.then(Do("report", Report()))
    stage.limits = Limits(dollars=1)
    run = stage.drive()
    assert run.asking.questions == ()
    assert run.ended == "incomplete"
    assert run.items[1].status is Status.FILED
    assert not any(isinstance(entry.event, ev.Asked) for entry in stage.entries)


def whole_of(*names):
    """A step whose actions must be done whole."""
    return lambda run, options, place: tuple(replace(action(name), whole=True) for name in names)


def test_no_limit_cuts_what_must_be_done_whole_or_keeps_it_from_beginning(stage):
    stage.limits = Limits(seconds=0.1)
    stage.clock = time.time

    async def slowly(job, run, world):
        await asyncio.sleep(0.15)
        return done(job.name)

    def one_after_the_other(run, options, place):
        return select_pending(run, *whole_of("land", "publish")(run, options, place))[:1]

    stage.verb(one_after_the_other, slowly)
    stage.verb(all_of("never"))
    run = stage.drive()
    assert stage.keys == ["started", "land", "publish", "", "halted", "ended"]
    assert run.halted


def test_what_must_be_done_whole_is_seen_through_beside_what_is_cut(stage):
    stage.limits = Limits(seconds=0.1)
    stage.clock = time.time

    async def perform(job, run, world):
        await asyncio.sleep(0.2 if job.name == "land" else FOREVER)
        return done(job.name)

    stage.verb(
        lambda run, options, place: (*whole_of("land")(run, options, place), action("long")),
        perform,
    )
    stage.drive()
    assert stage.keys == ["started", "halted", "land", "ended"]


def test_who_stops_a_run_once_waits_for_what_must_be_done_whole(stage):
    async def perform(job, run, world):
        await asyncio.sleep(0.05)
        return done(job.name)

    async def main():
        driving = asyncio.ensure_future(stage.driving())
        await asyncio.sleep(0.01)
        driving.cancel()
        return await driving

    stage.verb(whole_of("land"), perform)
    run = asyncio.run(main())
    assert stage.keys == ["started", "land", "interrupted 2"]
    assert run.interrupted


def test_items_claimed_when_the_limit_came_go_back_with_that_reason(stage):
    stage.limits = Limits(seconds=1)  # the claim must come before it, on a busy machine too
    stage.clock = time.time
    stage.add_items(1)

    async def claim(job, run, world):
        return ev.Attempted(fixer="probe", moves=(Move(1, Fact.SAID_FIXED, by="probe"),))

    stage.verb(all_of("claim"), claim)
    stage.verb(all_of("long judging"), long_job)
    stage.then(Do("report", Report(file=FilingScope.NONE)))
    run = stage.drive()
    assert run.items[1].status is Status.OPEN
    assert (run.items[1].attempts[-1].fact, run.items[1].attempts[-1].why) == (
        Fact.REJECTED,
        "the limit came first",
    )
    assert run.ended == "incomplete"


@pytest.mark.parametrize("halted", [True, False])
def test_whoever_stops_what_is_being_stopped_already_waits_as_well(stage, halted):
    """A limit, another process and a signal may come at the same time: what is done whole is still seen through."""
    if halted:
        stage.limits = Limits(seconds=0.05)
        stage.clock = time.time
    landing, landed = asyncio.Event(), asyncio.Event()
    left = set()

    async def perform(job, run, world):
        if job.name == "long":
            await asyncio.sleep(FOREVER)
        landing.set()
        await landed.wait()
        return done(job.name)

    async def main():
        driving = asyncio.ensure_future(stage.driving())
        await landing.wait()
        while halted and "halted" not in stage.keys:  # noqa: ASYNC110 - what is waited for is in the ledger
            await asyncio.sleep(0.01)
        for _ in range(3):
            driving.cancel()
            await asyncio.sleep(0.02)
        landed.set()
        run = await driving
        left.update(asyncio.all_tasks() - {asyncio.current_task()})
        return run

    stage.verb(
        lambda run, options, place: (*whole_of("land")(run, options, place), action("long")),
        perform,
    )
    run = asyncio.run(main())
    assert "land" in stage.keys
    assert stage.keys[-1].startswith("interrupted")
    assert run.interrupted
    assert left == set()
