"""Actions that hold the same thing never run at the same time, and a run that waits for a person is not done."""

import asyncio

from msgspec.structs import replace
from probes import action, done

from punchlist.model.item.doubt import Doubt
from punchlist.model.ledger import events as ev
from punchlist.steps.verb import select_pending


def holding(key, *what):
    return replace(action(key), holds=frozenset(what))


def test_what_holds_the_same_runs_one_after_the_other_and_the_rest_side_by_side(stage):
    wanted = (holding("a", "x"), holding("b", "x"), holding("c", "y"), holding("d"))
    running: set[str] = set()
    together: list[set[str]] = []

    async def work(job, run, world):
        running.add(job.name)
        together.append(set(running))
        await asyncio.sleep(0.02)
        running.discard(job.name)
        return done(job.name)

    stage.verb(lambda run, options, place: select_pending(run, *wanted), work)
    stage.drive()
    assert not any({"a", "b"} <= each for each in together)
    assert any({"a", "c", "d"} <= each for each in together)
    assert set().union(*together) == {"a", "b", "c", "d"}


def test_a_step_with_an_unanswered_question_of_an_agent_is_not_done(stage):
    async def work(job, run, world):
        return ev.Clarified(doubts=(Doubt("F001-q1", 1, "which?"),))

    stage.verb(
        lambda run, options, place: () if run.asking.doubts else select_pending(run, action("ask")),
        work,
    )
    run = stage.drive()
    assert run.waits
    assert not run.position.done
    assert not run.ended
