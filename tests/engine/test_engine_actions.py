"""An action is done at most once, as soon as it may be, and what came of it is written down before anything else happens."""

import asyncio
import errno

import pytest
from probes import Watch, action, all_of, at_once, done

from punchlist.engine import Limits
from punchlist.errors import DiskFull, StoreError, ToolError
from punchlist.model.ledger import events as ev
from punchlist.steps.verb import select_pending


class Log:
    """A performer that keeps what it was asked to do."""

    def __init__(self, perform=at_once) -> None:
        self.jobs: list[str] = []
        self._perform = perform

    async def __call__(self, job, run, world):
        self.jobs.append(job.name)
        return await self._perform(job, run, world)


class PowerCut(BaseException):
    """The process is gone; nobody catches this."""


class Mortal:
    """A store that is cut off at its Nth append: before the event is written (its effect is done), or right after."""

    def __init__(self, store, when: str, number: int) -> None:
        self._store, self._when, self._left = store, when, number

    def append(self, *arguments):
        self._left -= 1
        if self._left == 0 and self._when == "before":
            raise PowerCut
        entry = self._store.append(*arguments)
        if self._left == 0:
            raise PowerCut
        return entry

    def read(self, *arguments):
        return self._store.read(*arguments)


def test_a_step_that_names_an_action_for_ever_has_it_done_once(stage):
    log = Log()
    stage.verb(all_of("a", "b", "a"), log)
    run = stage.drive()
    assert run.ended
    assert sorted(log.jobs) == ["a", "b"]
    assert stage.keys == ["started", "a", "b", "", "ended"]


def refused(target):
    return ev.ConnectionRefused(child="a", target=target, why="not listed")


def test_what_a_child_does_is_written_down_while_its_action_runs_and_changes_no_position(stage):
    seen = []

    async def perform(job, run, world):
        event = refused(f"{job.name}.example:443")
        stage.notices.post(event)
        while event not in [entry.event for entry in stage.entries]:  # noqa: ASYNC110 - in a file
            await asyncio.sleep(0.001)
        seen.append(event)
        return done(job.name)

    stage.verb(all_of("a", "b"), perform)
    run = stage.drive()
    assert [event.target for event in seen] == ["a.example:443", "b.example:443"]
    assert [entry.place for entry in stage.entries].count("child") == 2
    assert [each.target for each in run.children.tries] == ["a.example:443", "b.example:443"]
    assert run.ended
    assert stage.run == run


def test_a_notice_from_before_the_run_is_driven_is_written_down_first(stage):
    stage.notices.post(refused("early.example:443"))
    stage.verb(all_of("a"), Log())
    assert [each.target for each in stage.drive().children.tries] == ["early.example:443"]
    assert stage.keys[1] == "notice 1"


def test_a_notice_that_the_store_refuses_is_kept_and_does_not_end_the_action(stage):
    class Full:
        def __init__(self) -> None:
            self.full = True
            self.kept = []

        def record(self, event):
            if self.full:
                raise StoreError("no room")
            self.kept.append(event.target)

    store = Full()
    stage.notices.subscribe(store.record)
    stage.notices.post(refused("one:1"))
    store.full = False
    stage.notices.post(refused("two:2"))
    assert store.kept == ["one:1", "two:2"]


def test_the_same_key_at_another_place_is_another_action(stage):
    log = Log()
    stage.verb(all_of("a"), log)
    stage.verb(all_of("a"), log)
    stage.drive()
    assert log.jobs == ["a", "a"]
    assert [(entry.place, entry.key) for entry in stage.entries[1:-1]] == [
        ("0", "a"),
        ("0", ""),
        ("1", "a"),
        ("1", ""),
    ]


@pytest.mark.parametrize("when", ["before", "after"])
def test_cut_off_at_any_event_the_run_goes_on_and_does_nothing_again_that_is_recorded(
    paper_stage, when
):
    stage, log, ledger = paper_stage, Log(), paper_stage.store
    stage.verb(all_of("a", "b", "c"), log)
    stage.verb(all_of("d", "e"), log)
    cuts = 0
    while not stage.run.ended:
        recorded = set(stage.keys)
        log.jobs.clear()
        stage.store = Mortal(ledger, when, 3)  # that it went on, one event, and the cut
        try:
            stage.drive()
        except PowerCut:
            cuts += 1
        stage.store = ledger
        assert recorded.isdisjoint(log.jobs)
        assert cuts < 20, "the run does not get on"
    aside = ("signal",)
    told = [(entry.place, entry.key) for entry in stage.entries if entry.place not in aside]
    assert len(told) == len(set(told))
    assert set(told) == {
        ("start", "started"), *(("0", key) for key in ("a", "b", "c", "")), *(("1", key) for key in ("d", "e", "")), ("end", "ended"),
    }  # fmt: skip
    assert cuts >= 4


def test_what_becomes_possible_starts_while_another_action_still_runs(stage):
    """`late` needs `quick`; `slow` waits for `late`, so a barrier between them would never let the run end."""
    late_is_done = asyncio.Event()

    def step(run, options, place):
        return (
            action("slow"),
            action("quick"),
            *([action("late")] if "quick" in run.position.here else []),
        )

    async def perform(job, run, world):
        if job.name == "slow":
            await asyncio.wait_for(late_is_done.wait(), 10)
        if job.name == "late":
            late_is_done.set()
        return done(job.name)

    stage.verb(step, perform)
    stage.drive()
    assert stage.keys == ["started", "quick", "late", "slow", "", "ended"]


@pytest.mark.parametrize(("width", "most"), [(1, 1), (3, 3), (100, 20), (0, 20)])
def test_no_more_actions_than_the_width_go_side_by_side_and_zero_is_no_limit(stage, width, most):
    here, seen = set(), []

    async def perform(job, run, world):
        here.add(job.name)
        seen.append(len(here))
        for _ in range(3):
            await asyncio.sleep(0)
        here.remove(job.name)
        return done(job.name)

    stage.limits = Limits(width=width)
    stage.verb(all_of(*map(str, range(20))), perform)
    run = stage.drive()
    assert max(seen) == most
    assert run.seq == 23


def test_a_performer_sees_the_run_as_it_was_when_the_action_was_named(stage):
    seen = {}

    def step(run, options, place):
        return (action("first"),) if "first" not in run.position.here else (action("second"),)

    async def perform(job, run, world):
        seen[job.name] = set(run.position.here)
        return done(job.name)

    stage.verb(step, perform)
    stage.drive()
    assert seen == {"first": set(), "second": {"first"}}


def test_an_action_that_fails_in_a_known_way_is_an_event_and_the_run_ends_incomplete(stage):
    async def perform(job, run, world):
        if job.name == "bad":
            raise ToolError("ruff is gone", hint="pip install ruff")
        return done(job.name)

    log = Log(perform)
    stage.verb(all_of("good", "bad", "more"), log)
    run = stage.drive()
    (failed,) = [entry.event for entry in stage.entries if isinstance(entry.event, ev.Failed)]
    assert (failed.reason, failed.hint) == ("ruff is gone", "pip install ruff")
    assert run.trouble == ("0 bad: ruff is gone (hint: pip install ruff)",)
    assert run.ended == "incomplete"
    assert sorted(log.jobs) == ["bad", "good", "more"], (
        "it is not tried again, and costs the others nothing"
    )


def test_an_action_that_the_file_system_refuses_has_failed_and_the_run_goes_on(stage, tmp_path):
    async def perform(job, run, world):
        if job.name == "bad":
            (tmp_path / "nowhere/link").symlink_to(tmp_path)
        return done(job.name)

    stage.verb(all_of("good", "bad"), perform)
    stage.verb(all_of("later"), perform)
    run = stage.drive()
    (failed,) = [entry.event for entry in stage.entries if isinstance(entry.event, ev.Failed)]
    assert "No such file or directory" in failed.reason
    assert run.ended == "incomplete"
    assert stage.keys == ["started", "good", "bad", "", "later", "", "ended"]


def test_a_reviewer_whose_action_failed_is_a_failed_reviewer_and_not_a_silent_one(stage):
    tries = iter((True, False, True))

    async def perform(job, run, world):
        if next(tries):
            raise PermissionError(errno.EACCES, "Permission denied", "a.py")
        return ev.Reviewed(reviewer=job.name, commit="base", looked_at=1)

    stage.analyzers = {"ruff": None}
    for _ in range(3):
        stage.verb(all_of("ruff"), perform)
    seen = []
    run = stage.drive(Watch(lambda entry, run: seen.append(run.blind)))
    why = "ruff: [Errno 13] Permission denied: 'a.py'"
    assert seen[::2] == [[why], [], [why], [why]]
    assert run.ended == "incomplete"


@pytest.mark.parametrize(
    "error", [StoreError("the disk is full"), OSError(errno.ENOSPC, "the disk is full")]
)
def test_what_cannot_be_written_by_a_performer_is_no_event(stage, error):
    full = True

    async def perform(job, run, world):
        if full:
            raise error
        return done(job.name)

    stage.verb(all_of("evidence"), perform)
    with pytest.raises(StoreError, match="the disk is full"):
        stage.drive()
    assert stage.keys == ["started"]
    full = False
    assert stage.drive().ended
    assert stage.keys == ["started", "resumed 1", "evidence", "", "ended"]


def test_what_was_done_on_a_full_disk_is_no_event(stage):
    """An agent that could not write there says that it failed, and is not to blame."""
    stage.verb(all_of("fix"))
    stage.has_room = lambda: False
    with pytest.raises(DiskFull, match="does not count"):
        stage.drive()
    assert stage.keys == ["started"]
    stage.has_room = lambda: True
    assert stage.drive().ended
    assert stage.keys == ["started", "resumed 1", "fix", "", "ended"]


def test_what_the_ledger_does_not_take_is_shown_to_nobody(stage):
    class Full:
        def __init__(self, store):
            self.read, self._append = store.read, store.append

        def append(self, run, place, key, event, at):
            if key == "b":
                raise StoreError("the disk is full")
            return self._append(run, place, key, event, at)

    ledger, watch = stage.store, Watch()
    stage.verb(all_of("a", "b", "c"))
    stage.limits = Limits(width=1)
    stage.store = Full(ledger)
    with pytest.raises(StoreError):
        stage.drive(watch)
    assert watch.told_keys == ["a"]
    stage.store = ledger
    assert stage.keys == ["started", "a"]
    assert stage.drive().ended


def test_a_fault_of_our_own_is_let_through_and_what_was_done_beside_it_is_kept(stage):
    broken, stopped = True, []

    async def perform(job, run, world):
        if job.name == "slow":
            try:
                await asyncio.sleep(30 if broken else 0)
            except asyncio.CancelledError:
                stopped.append(job.name)
                raise
        if job.name == "faulty" and broken:
            raise ZeroDivisionError
        return done(job.name)

    log = Log(perform)
    stage.verb(all_of("slow", "faulty", "fine"), log)
    with pytest.raises(ZeroDivisionError):
        stage.drive()
    assert stopped == ["slow"]
    assert stage.keys == ["started", "fine"]
    broken = False
    log.jobs.clear()
    assert stage.drive().ended
    assert sorted(log.jobs) == ["faulty", "slow"]


def test_events_of_actions_that_end_together_are_told_in_the_order_they_began(stage):
    names = [f"n{number}" for number in range(30)]
    stage.limits = Limits(width=0)
    stage.verb(all_of(*names))
    stage.drive()
    assert stage.keys[1:-2] == names


def test_a_step_with_nothing_to_do_is_an_event_too(stage):
    stage.verb(all_of())
    stage.drive()
    assert [(entry.place, entry.event.__class__) for entry in stage.entries[1:]] == [
        ("0", ev.StepDone),
        ("end", ev.Ended),
    ]


def test_a_tool_may_be_called_what_the_engine_calls_its_own_events(stage):
    names = ("done", "started", "decision", "ended", "halted")
    stage.verb(lambda run, options, place: select_pending(run, *map(action, names)))
    stage.verb(lambda run, options, place: select_pending(run, *map(action, names)))
    run = stage.drive()
    assert run.position.done == {"0", "1"}
    assert [entry.key for entry in stage.entries if entry.place in run.position.done] == [
        *names,
        "",
        *names,
        "",
    ]


def test_an_event_is_written_and_folded_before_it_is_shown(stage):
    def on_told(entry, run):
        assert stage.entries[-1] == entry
        assert run == stage.run

    watch = Watch(on_told)
    stage.verb(all_of("a", "b"))
    stage.drive(watch)
    assert watch.told_keys == ["a", "b", "", "ended"]
