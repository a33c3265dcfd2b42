"""verified: fix, run the checks, retry with the failure, a report of every cycle."""

import asyncio
import json

from watching import Watch
from workbench import BASE, FAULTS, finding, fix, fixer, review

from punchlist.app.start.dry_run import rehearse_run
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.model.item.item import Fact, Status
from punchlist.model.ledger.events import Attempted, Tried

BREAKS = {
    "path": "shop/prices.py",
    "replace": "return sum(prices)",
    "with": "return sum(prices) + 1",
}


def breaking(**more):
    """A fix that breaks a test."""
    wrong = fix("mean")
    return fixer({**wrong, "edits": [*wrong["edits"], BREAKS]}, **more)


def cycles(bench) -> dict:
    return json.loads((bench.artifacts() / "cycles.json").read_text())


def test_one_cycle_that_passes(bench):
    bench.play(review("mean"), fixer(fix("mean")))
    run = bench.run("verified")
    assert run.items[1].status is Status.FIXED
    told = cycles(bench)
    assert told["final_status"] == "passed"
    assert told["total_cycles"] == 1
    assert told["fixes_applied"] == 1


def test_a_failing_check_goes_into_the_next_prompt_in_short(bench):
    bench.play(review("mean"), breaking(round=1), fixer(fix("mean"), prompt="test_total"))
    watch = Watch()
    run = bench.run("verified", watch=watch)
    item = run.items[1]
    assert [attempt.fact for attempt in item.attempts] == [
        Fact.SAID_FIXED, Fact.REJECTED, Fact.SAID_FIXED, Fact.COMMITTED,
    ]  # fmt: skip
    assert "test_total" in item.attempts[1].why
    assert item.status is Status.FIXED
    assert cycles(bench)["total_cycles"] == 2
    assert any(not event.green for event in watch.of(Tried))
    assert len(watch.of(Attempted)) == 2


def test_three_failing_cycles_are_the_end(bench):
    bench.play(review("mean"), breaking())
    run = bench.run("verified")
    assert run.items[1].status is Status.FILED
    told = cycles(bench)
    assert (told["total_cycles"], told["final_status"], told["fixes_applied"]) == (3, "failed", 0)
    assert not run.landing.landed


def test_a_cycle_without_a_change_is_noted(bench):
    bench.play(review("mean"), fixer(fix("mean", edit=False), round=1), fixer(fix("mean")))
    run = bench.run("verified")
    assert run.items[1].status is Status.FIXED
    assert "no changes applied" in json.dumps(cycles(bench)).casefold()


def test_an_agent_that_crashes_costs_a_cycle_and_no_more(bench):
    bench.play(
        review("mean"),
        {"role": "fixer", "round": 1, "fail": {"text": "exit code 3", "trouble": "crashed"}},
        fixer(fix("mean")),
    )
    run = bench.run("verified")
    assert run.items[1].attempts[0].fact is Fact.ABSENT
    assert "exit code 3" in run.items[1].attempts[0].why
    assert run.items[1].status is Status.FIXED


def test_the_prompt_has_findings_hunks_conventions_and_checks(bench):
    shown = [
        "mean() fails for no prices",
        "def mean(prices)",
        BASE["AGENTS.md"].strip(),
        "unittest",
    ]
    bench.play(review("mean"), fixer(fix("mean"), prompt=shown))
    assert bench.run("verified").items[1].status is Status.FIXED


def test_files_beside_the_findings_are_allowed_and_noted_and_new_files_are_part_of_the_diff(bench):
    more = [
        {"path": "shop/pages.py", "append": "\n# seen\n"},
        {"path": "shop/fresh.py", "content": "WHY = 1\n"},
    ]
    both = fix("mean")
    bench.play(review("mean"), fixer({**both, "edits": [*both["edits"], *more]}))
    watch = Watch()
    run = bench.run("verified", watch=watch)
    (attempt,) = watch.of(Attempted)
    assert {path for patch in attempt.patches.values() for path in patch.paths} == {
        "shop/prices.py",
        "shop/pages.py",
        "shop/fresh.py",
    }
    assert any("shop/pages.py" in note for notes in attempt.noted.values() for note in notes)
    assert run.items[1].status is Status.FIXED


def test_cancelling_while_the_agent_works_keeps_what_was_done_and_passes_nothing(bench):
    bench.play(review("mean", "page"), fixer(fix("page"), fix("mean"), seconds=60))

    async def work(app):
        ready = await prepare_run(app, Request(allow_checks=True, workflow="verified"))
        watch = Watch()
        task = asyncio.create_task(start_run(app, ready, watch))
        while (
            not watch.events
            or type(watch.events[-1]).__name__ != "StepDone"
            or len(watch.events) < 6
        ):
            await asyncio.sleep(0.05)
            if any(type(event).__name__ == "Planned" for event in watch.events):
                break
        await asyncio.sleep(0.5)
        task.cancel()
        return await task

    run = bench.do(work)
    assert run.interrupted
    assert len(run.items) == 2
    assert not run.find_items(Status.FIXED)
    assert not run.landing.landed


def test_zero_findings_start_no_agent_to_fix(bench):
    bench.play(review())
    run = bench.run("verified")
    assert [role for _, role in bench.calls] == ["technical"]
    assert run.ended == "clean"


def test_a_prompt_too_long_is_cut_by_severity_and_the_rest_comes_next(bench):
    bench.play(review(*FAULTS), fixer(*map(fix, FAULTS)))
    run = bench.run("verified", flags={"agents.prompt-limit": "9000"})
    assert {item.status for item in run.items.values()} == {Status.FIXED}


def test_a_dry_run_shows_the_prompt_and_starts_nobody(bench):
    (bench.folder / "findings.json").write_text(json.dumps([finding("mean")]))
    bench.play(review("mean"), fixer(fix("mean")))

    async def work(app):
        ready = await prepare_run(
            app, Request(workflow="verified", findings=(str(bench.folder / "findings.json"),))
        )
        return await rehearse_run(app, ready, Watch())

    asked = {prompt.role: prompt.text for prompt in bench.do(work)}
    assert "mean() fails for no prices" in asked["fixer"]
    assert "def mean(prices)" in asked["technical"]
    assert bench.calls == []
    assert bench.do(_runs) == []


async def _runs(app):
    return app.runs()
