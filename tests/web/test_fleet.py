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
from punchlist.views.tables.fleet import Fleet, FleetQueue, FleetWorker
from punchlist.web.api.fleet import make_metrics
from punchlist.web.client import Client
from punchlist.web.pages.rendering import render_template

METRIC = re.compile(r'punchlist_\w+(\{(state|priority)="[\w-]+"\})? [0-9.e+-]+')


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
    assert "no workers and no queue: the ledger is in SQLite" in shown
    assert (told.workers, told.queues) == (None, None)
    with fleet.client("read") as client:
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = [text for text in answer.text.splitlines() if not text.startswith("#")]
    assert all(METRIC.fullmatch(text) for text in values), values
    assert {'punchlist_runs{state="stuck"} 1', "punchlist_dollars_today 1.5"} <= set(values)


def test_metrics_take_a_token_and_no_cookie(fleet):
    with Browser(fleet, "admin") as browser:
        assert browser.get("/metrics").status_code == 401
    with fleet.client("") as client:
        refused = client.get("/metrics", headers={"accept": "text/html"})
    assert (refused.status_code, refused.headers["content-type"]) == (401, "application/json")


FLEET = Fleet(
    workers=(
        FleetWorker(id='a"', machine="<b>rome", pid=1, width=4, runs=1, labels=("eu", "big")),
        FleetWorker(id="b", machine="m", pid=2, width=2, draining=True),
        FleetWorker(id="c", machine="m", pid=3, width=8, alive=False, seen=90),
    ),
    queues=(
        FleetQueue(priority="pull-request", label='x"}', waiting=2, oldest=7.5, served=False),
        FleetQueue(priority="pull-request", waiting=3, oldest=9),
    ),
)


def test_the_page_lists_workers_and_what_waits_for_them():
    page = render_template("fleet.html", fleet=FLEET, runs=())
    assert "<b>rome" not in page
    shown = text_of(page)
    for part in (
        'a" <b>rome working 1 of 4 eu, big',
        "b m draining 0 of 2",
        "c m dead 0 of 8",
        "1 min 30 s ago",
        'pull-request x"} 2 7.5 s none takes these',
    ):
        assert part in shown, (part, shown)
    assert "SQLite" not in shown
    empty = text_of(render_template("fleet.html", fleet=Fleet(workers=(), queues=()), runs=()))
    assert "No worker is at work" in empty
    assert "No run waits for a worker" in empty


def test_workers_and_queues_are_metrics_of_fixed_names():
    text = "".join(make_metrics(FLEET, readers=0, driven=0))
    values = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(METRIC.fullmatch(line) for line in values), values
    assert {
        'punchlist_workers{state="dead"} 1',
        "punchlist_worker_places 6",
        'punchlist_queue_waiting{priority="pull-request"} 5',
        'punchlist_queue_oldest_seconds{priority="pull-request"} 9',
        'punchlist_queue_waiting{priority="nightly"} 0',
    } <= set(values)
