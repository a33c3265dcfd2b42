"""Two do something to one run at the same moment: whoever comes second sees what the first one did."""

import threading

import pytest
from shop import Watch

from punchlist.adapters.store.lease import FileLeases
from punchlist.app.drive.answers import answer_run
from punchlist.errors import UsageError
from punchlist.model.item.item import Status


def just_before(monkeypatch, other):
    """Another process has the run first, does this, and lets go just before we get it."""
    acquire = FileLeases.acquire

    def contended(leases, run, request="", *, force=False):
        monkeypatch.setattr(FileLeases, "acquire", acquire)
        thread = threading.Thread(target=other)  # an event loop of its own
        thread.start()
        thread.join()
        return acquire(leases, run, request, force=force)

    monkeypatch.setattr(FileLeases, "acquire", contended)


def unfinished(place):
    """A run of which nothing is recorded but its beginning."""
    place.run(allow_checks=False, workflow="review")

    async def killed(app):
        started = next(iter(app.store.read(app.store.find_run("last"))))
        app.store.append("261231-killed", "start", "started", started.event, started.at + 1)

    place.do(killed)


def kinds(place):
    async def told(app):
        return [type(entry.event).__name__ for entry in app.store.read(app.store.find_run("last"))]

    return place.do(told)


def test_a_run_that_another_sees_to_its_end_meanwhile_is_not_resumed(place, monkeypatch):
    unfinished(place)
    just_before(monkeypatch, lambda: place.resume(Watch()))
    run = place.resume()
    assert run.ended
    assert kinds(place).count("Resumed") == 1
    assert kinds(place)[-1] == "Ended"


def asking(bench):
    """A run that asks after each round what shall become of it, because nobody can review."""
    bench.play({"role": "adversarial", "fail": {"text": "quota exceeded", "trouble": "other"}})
    run = bench.run("converge")
    assert run.waiting_for
    assert "c" in run.waiting_for.choices
    return run


def test_a_run_that_waits_again_meanwhile_is_not_resumed(bench, monkeypatch):
    asking(bench)
    bench.answer("c", resume=False)
    just_before(monkeypatch, lambda: bench.resume(Watch()))
    with pytest.raises(UsageError, match="waits for an answer"):
        bench.resume()
    assert kinds(bench)[-1] == "Asked"


def test_a_choice_is_for_the_question_that_the_person_saw(bench):
    """Somebody wants the open items accepted; somebody else granted one more round, after which there may be other items."""
    seen = asking(bench)
    now = bench.answer("c")
    assert len(now.asking.questions) == len(seen.asking.questions) + 1
    with pytest.raises(UsageError, match="asks something else by now"):
        bench.do(lambda app: answer_run(app, "last", "b", "pat", asked=len(seen.asking.questions)))
    after = bench.do(
        lambda app: answer_run(app, "last", "a", "pat", asked=len(now.asking.questions))
    )
    assert not after.waits
    assert not after.find_items(Status.DISMISSED)
