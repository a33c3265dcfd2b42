"""The page of pull requests: each with the items of its newest run, of registered repositories only."""

import time

import pytest

pytest.importorskip("litestar")
from browsing import Browser, text_of
from msgspec.structs import replace
from reading import started

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev

PULL = "https://github.example/acme/shop/pull/7"


def record(store, run, place, pull, at, *titles):
    store.append(run, "start", "started", replace(started(place), pull=pull), at)
    items = tuple(
        Item(number=n, fingerprint=f"f{n}", findings=(Finding(id=f"x:{n}", source="tool", title=title, spot=Spot("a.py", n), severity=Severity.MAJOR),))
        for n, title in enumerate(titles, 1)
    )  # fmt: skip
    store.append(run, "1", "items", ev.Consolidated(items=items), at)
    store.append(run, "2", "k", ev.Halted(limit="x", usage=Usage(dollars=0.25)), at)


def test_each_pull_request_has_the_items_of_its_newest_run(house):
    now, ours = time.time(), str(house.folder / "repo" / ".git")
    with SqliteStore.open(house.home) as store:
        record(store, "261117-00000a", ours, PULL, now - 9, "an old one")
        record(store, "261117-00000b", ours, PULL, now, "<b>no</b> bold", "another")
        record(store, "261117-00000c", ours, "javascript:alert(1)", now - 5, "evil")
        record(store, "261117-00000d", "/x", f"{PULL}7", now, "of another repository")
    with Browser(house, "read") as browser:
        page = browser.get("/pulls").text
    shown = text_of(page)
    assert "2 runs, $0.50" in shown
    assert "&lt;b&gt;no&lt;/b&gt; bold" in page
    assert "a.py:2" in shown
    assert f'href="{PULL}"' in page
    assert 'href="javascript:' not in page
    assert "an old one" not in shown
    assert "of another repository" not in shown
    assert shown.index("pull/7") < shown.index("javascript:alert(1)"), "the newest first"
