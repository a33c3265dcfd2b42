"""What all processes do: the same on the page, from the API and for Prometheus; of registered repositories only."""

import re
import time

import pytest

pytest.importorskip("litestar")
from browsing import Browser, text_of
from reading import started

from punchlist.adapters.store.lease import FileLeases
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.web.client import Client


@pytest.fixture
def fleet(house):
    """A run that is driven, one that is stuck, and one of a repository that is not registered."""
    now, ours = time.time(), str(house.folder / "repo" / ".git")
    with SqliteStore.open(house.home) as store:
        for run, place in (
            ("261115-00000a", ours),
            ("261115-00000b", ours),
            ("261115-00000c", "/x"),
        ):
            store.append(run, "start", "started", started(place), now)
            cost = ev.Halted(limit="x", usage=Usage(dollars=0.5))
            store.append(run, "1", "k", cost, now)
    with FileLeases(house.home).acquire("261115-00000a"):
        yield house


def test_the_api_the_page_and_the_metrics_agree(fleet):
    with Client(fleet.address, fleet.tokens["read"]) as client:
        told = client.fleet()
    assert [run.run for run in told.running] == ["261115-00000a"]
    assert [run.run for run in told.stuck] == ["261115-00000b"]
    assert told.running[0].repository == "repo"
    assert (told.dollars_today, told.begun_today) == (1.5, 2)
    with Browser(fleet, "read") as browser:
        shown = text_of(browser.get("/fleet").text)
    assert "1 running, 0 waiting, 1 stuck; 1 driver at work" in shown
    assert "$1.50" in shown
    assert "261115-00000b stuck" in shown
    assert "261115-00000c" not in shown
    with fleet.client("read") as client:
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    line = re.compile(r'punchlist_\w+(\{state="\w+"\})? [0-9.e+-]+')
    values = [text for text in answer.text.splitlines() if not text.startswith("#")]
    assert all(line.fullmatch(text) for text in values), values
    assert {'punchlist_runs{state="stuck"} 1', "punchlist_dollars_today 1.5"} <= set(values)


def test_metrics_take_a_token_and_no_cookie(fleet):
    with Browser(fleet, "admin") as browser:
        assert browser.get("/metrics").status_code == 401
    with fleet.client("") as client:
        refused = client.get("/metrics", headers={"accept": "text/html"})
    assert (refused.status_code, refused.headers["content-type"]) == (401, "application/json")
