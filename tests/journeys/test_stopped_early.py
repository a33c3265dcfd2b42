"""A run that is stopped before its engine is at work is a stopped one, not one that was killed."""

import asyncio
import json

import pytest
import shop

from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.model.ledger import events as ev
from punchlist.model.patch.change import ScopeKind
from punchlist.views.run_state import State, find_state


class StopAtTheStart:
    """Cancels who drives the run as soon as it is recorded that it started."""

    def handle_start(self, place, action) -> None:
        raise AssertionError("the engine is at work")

    def handle_output(self, label, piece) -> None:
        pass

    def handle_event(self, entry, run) -> None:
        if isinstance(entry.event, ev.Started):
            asyncio.current_task().cancel("stopped by ada")


def test_a_stop_while_what_a_run_needs_is_fetched_is_recorded(repo, tmp_path, monkeypatch):
    repo.commit({"a.py": "import os\n"})
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(shop.settings(tmp_path / "settings.toml")))
    said = tmp_path / "said.json"
    said.write_text(json.dumps([{"title": "unused", "path": "a.py", "line": 1}]))
    place = shop.Place(repo)

    async def start(session):
        ready = await prepare_run(session, Request(kind=ScopeKind.ALL, findings=(str(said),)))
        return await start_run(session, ready, StopAtTheStart())

    with pytest.raises(asyncio.CancelledError):
        place.do(start)
    run = place.read_last()
    assert find_state(run, driven=False) is State.STOPPED
    assert run.interrupted
    assert place.order("resume").ended
