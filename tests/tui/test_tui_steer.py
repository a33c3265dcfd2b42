"""Steering a run: its questions are answered and its escalations decided in place, it is stopped, resumed, and followed."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from crowd import crowd
from window import FLAGS
from workbench import FAULTS, fix, fixer, review, scores

from punchlist.app.start.request import Request
from punchlist.errors import UsageError
from punchlist.model.item.item import Status
from punchlist.model.ledger.events import Answered, Asked
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.tui.backend import Backend

SOURCE = Path(__file__).parents[2] / "src"
READY = {
    "role": "clarifier",
    "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
}
PLANS = {"role": "planner", "answer": {"issues": []}}


def question(code, text, n=1):
    asked = {"id": f"{code}-q{n}", "question": text, "context": "the contract is unclear"}
    by_issue = [{"issue_code": code, "questions": [asked]}]
    return {
        "role": "clarifier",
        "times": 1,
        "answer": {"has_questions": True, "questions_by_issue": by_issue, "ready_to_plan": False},
    }


def clarifying(bench):
    return bench.play(
        review("mean"),
        question("F001", "What is the mean of no prices?"),
        READY,
        PLANS,
        fixer(fix("mean"), prompt="Return None, please", say=["I return None."]),
        scores(F001=95),
    )


def escalating(bench):
    """Three rounds in each of which one fault is fixed; then a person is asked."""
    rounds = [review("mean", "cheapest", "page", "initials", role="adversarial", round=1)]
    order = {1: "page", 2: "cheapest", 3: "initials"}
    left = list(FAULTS)
    for number, name in order.items():
        left.remove(name)
        rounds.append(review(*left, role="adversarial", round=number + 1))
    fixes = [fixer(fix(name), round=number) for number, name in order.items()]
    return bench.play(*rounds, *fixes, fixer())


def asked(workflow, **more) -> Request:
    return Request(workflow=workflow, allow_checks=True, **more)


def test_a_question_is_answered_in_place_and_the_run_goes_on_by_itself(bench, watching):
    async def journey(window):
        text = await window.until("press a to answer")
        assert "What is the mean of no prices?" in text
        assert "waiting for an answer" in text
        await window.press("a")
        await window.until("the contract is unclear")
        await window.type("Return None, please")
        await window.press("enter")
        await window.until("plan", 60)
        await window.until("press a to answer")
        await window.press("a")
        await window.until("a)")
        await window.press("a")
        await window.until("everything found was fixed")
        run = window.run()
        assert run.asking.doubts["F001-q1"].answer == "Return None, please"
        assert run.asking.doubts["F001-q1"].by == "pat"
        assert run.items[1].status is Status.FIXED

    clarifying(bench)
    watching(journey, request=asked("challenged"))


def test_where_nobody_drives_the_run_going_on_is_offered(bench, watching):
    clarifying(bench).run("challenged")

    async def journey(window):
        await window.until("press a to answer")
        await window.press("a")
        await window.until("the contract is unclear")
        await window.type("Return None, please")
        await window.press("enter")
        await window.until("Go on with the run in this window?")
        await window.press("n")
        await window.until("press r to go on")
        assert not window.run().waits
        await window.press("r")
        await window.until("press a to answer")
        assert window.run().waiting_for is not None, "it went on to the question about the plan"

    watching(journey)


def test_a_question_put_off_is_asked_again_later(bench, watching):
    clarifying(bench).run("challenged")

    async def journey(window):
        await window.until("press a to answer")
        await window.press("a")
        await window.until("the contract is unclear")
        await window.press("enter")
        assert "the contract is unclear" in window.text, "nothing typed is no answer"
        await window.press("escape")
        await window.until("press a to answer")
        assert window.run().waits

    watching(journey)


def test_an_escalation_is_decided_in_place(bench, watching):
    escalating(bench).run("converge")

    async def journey(window):
        text = await window.until("After 3 review rounds")
        assert "press a to answer" in text
        await window.press("a")
        choices = window.run().waiting_for.choices
        await window.until(lambda: all(f"{letter}) " in window.text for letter in choices))
        await window.press("down", "enter")
        await window.until("Go on with the run in this window?")
        await window.press("y")
        await window.until(lambda: window.run().ended)
        assert window.run().asking.questions[0].answer == list(choices)[1]
        await window.press("4")
        await window.until("Decided")

    watching(journey)


def test_what_agents_say_and_what_is_under_way_is_seen_live(bench, watching):
    slow = {**review("page", role="adversarial", say=["I read the pages first."]), "seconds": 30}
    bench.play(slow)

    async def journey(window):
        await window.press("2")
        text = await window.until("I read the pages first.")
        assert "robot reviews as adversarial" in text
        assert "running (this window)" in text
        await window.press("c")
        await window.until("Stop the run?")
        await window.press("n")
        assert window.station.driving.list_driven()
        await window.press("c")
        await window.until("Stop the run?")
        await window.press("y")
        await window.until("press r to go on")
        assert window.run().interrupted
        bench.play(review(role="adversarial"))
        await window.press("r")
        await window.until(lambda: window.run().ended)

    watching(journey, request=asked("converge"))


def test_leaving_asks_while_a_run_is_driven_and_stops_it_between_two_events(bench, watching):
    bench.play({**review("page", role="adversarial"), "seconds": 30})

    async def journey(window):
        await window.until("running (this window)")
        await window.press("ctrl+c")
        text = await window.until("Stop the run, and leave?")
        assert f"`punchlist resume {window.app.run_name}` goes on" in text
        await window.press("n")
        await window.until("running (this window)")
        await window.press("q")
        await window.until("Stop the run, and leave?")
        await window.press("y")
        await window.until(lambda: not window.app.is_running)

    station = watching(journey, request=asked("converge"))
    (name,) = station.drove
    assert bench.do(lambda app: _loaded(app, name)).interrupted


@pytest.fixture
def child(bench):
    """A run that another process drives, and that takes a minute over its first fixes."""
    first = {**review("page", "mean", role="adversarial"), "times": 1}
    bench.play(
        first, {**fixer(fix("page"), fix("mean")), "seconds": 60}, review(role="adversarial")
    )
    settings = [part for name, value in FLAGS.items() for part in ("--set", f"{name}={value}")]
    command = [
        sys.executable,
        "-m",
        "punchlist",
        "run",
        "--workflow",
        "converge",
        "--yes",
        "--quiet",
        *settings,
    ]
    env = {**os.environ, "PYTHONPATH": f"{SOURCE}:{os.environ.get('PYTHONPATH', '')}"}
    child = subprocess.Popen(
        command, cwd=bench.repo.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    yield child
    if child.poll() is None:
        child.kill()
        child.wait()


def test_a_run_of_another_process_is_followed_live_and_stopped_from_here(child, watching):
    async def journey(window):
        await window.until(window.station.list_runs)
        await window.until("running")
        await window.press("enter")
        text = await window.until("page() skips the first page")
        assert f"process {child.pid}" in text
        await window.press("2")
        await window.until("its output is shown there")
        await window.until("an agent works on 2 batches at once")
        await window.press("a")
        await window.until("asks nothing")
        await window.press("r")
        await window.until("drives it already")
        await window.press("c")
        await window.until(f"Process {child.pid} drives it, and is asked to.")
        await window.press("y")
        await window.until("press r to go on")
        assert window.run().interrupted

    watching(journey, run="")
    assert child.wait(30) == 130


def test_a_run_whose_process_was_killed_is_taken_over(bench, child, watching):
    async def journey(window):
        await window.until("running")
        await window.press("enter")
        await window.until("page() skips the first page")
        await window.press("2")
        await window.until("an agent works on 2 batches at once")
        child.kill()
        child.wait()
        await window.until("The run was killed")
        bench.play(fixer(fix("page"), fix("mean")), review(role="adversarial"))
        await window.press("r")
        await window.until("everything found was fixed")
        assert len(window.run().find_items(Status.FIXED)) == 2

    watching(journey, run="")


async def _loaded(app, name):
    return app.load(name)


def test_a_long_question_and_long_choices_can_be_read_to_their_ends(bench, watching):
    home = bench.folder / "state"
    bench.play()
    ledger = crowd(home, bench.repo.root, 12)
    words = " ".join(f"word{number}" for number in range(400))
    ledger.tell(
        Asked(
            question=f"{words} last_of_all", choices={"a": f"{words[:200]} last_of_a", "b": "block"}
        ),
        "1.2.2",
    )

    async def journey(window):
        await window.until("press a to answer")
        await window.press("a")
        text = await window.until("b) block")
        assert "last_of_a" in text
        for _ in range(40):
            await window.press("pagedown")
            if "last_of_all" in window.text:
                break
        else:
            raise AssertionError(window.text)
        await window.press("escape")
        assert window.run().waits

    watching(journey, size=(80, 24))


def test_a_decision_is_for_the_question_that_was_on_the_screen(bench, watching):
    """While the person still reads, somebody else answers, and the run asks again."""
    bench.play()
    choices = {"a": "block", "b": "accept: they are dismissed"}
    ledger = crowd(bench.folder / "state", bench.repo.root, 3)
    ledger.tell(Asked(question="After 3 rounds 1 is open.", choices=choices), "1.3.2")

    async def journey(window):
        await window.until("press a to answer")
        await window.press("a")
        await window.until("b) accept")
        ledger.tell(Answered(choice="a", by="ada"), "1.3.2")
        ledger.tell(Asked(question="After 4 rounds 3 are open.", choices=choices), "1.4.2")
        await window.press("b")
        await window.until("asks something else by now")
        assert window.run().waiting_for.question == "After 4 rounds 3 are open."

    watching(journey)


class Slow:
    """Stands in an app's place: a dismissal takes as long as the test wants."""

    def __init__(self) -> None:
        self.begun, self.free, self.over = threading.Event(), threading.Event(), threading.Event()
        self.told: list[str] = []

    async def who(self) -> str:
        return "ada"

    def find(self, run: str) -> str:
        """The first thing that a dismissal does."""
        self.begun.set()
        assert self.free.wait(30)
        self.told.append("dismissed")
        raise UsageError("there is no such run")

    def close(self) -> None:
        self.told.append("closed")
        self.over.set()


def test_a_dismissal_comes_to_its_end_though_the_person_goes_on_meanwhile(tmp_path):
    """A ledger that was closed in the middle of it would lose their word without one."""
    app = Slow()

    async def opened():
        return app

    async def story():
        dismissing = asyncio.create_task(
            Backend(tmp_path, RepositoryKey(), opened, "ada").dismiss_item("r1", 1, "as meant")
        )
        assert await asyncio.to_thread(app.begun.wait, 30)
        dismissing.cancel()
        await asyncio.wait({dismissing})
        app.free.set()
        assert await asyncio.to_thread(app.over.wait, 30)

    asyncio.run(story())
    assert app.told == ["dismissed", "closed"]
