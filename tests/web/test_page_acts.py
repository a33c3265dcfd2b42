"""What people do from pages: it is done in their name, or it is said why not, and then nothing is done."""

import re

import pytest

pytest.importorskip("litestar")
from browsing import Browser, text_of
from msgspec.structs import replace
from reading import started
from telling import HOSTILE, Told, fixed, item

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.item.doubt import Doubt
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold_entries
from punchlist.settings import encode_settings, load_settings

ENDED, ASKING, DECIDING = "261115-ended", "261115-asking", "261115-deciding"


@pytest.fixture(scope="module")
def told(house):
    git_dir = str(house.folder / "repo" / ".git")
    with SqliteStore.open(house.home) as store:
        Told(git_dir, store, ENDED).items(item(1), item(2), moves=fixed(2)).tell(
            ev.Ended(outcome="leftovers")
        )
        doubts = (Doubt("F001-q1", 1, "From 0 or 1?"), Doubt("F001-q2", 1, "And then?"))
        Told(git_dir, store, ASKING).items(item(1), item(2)).tell(ev.Clarified(doubts=doubts))
        Told(git_dir, store, DECIDING).items(item(1)).tell(
            ev.Asked(question="How?", choices={"a": "block"})
        )
    return house


def entries(site, run: str) -> int:
    with SqliteStore.open(site.home, readonly=True) as store:
        return sum(1 for _ in store.read(run))


@pytest.mark.parametrize(
    ("path", "fields", "status", "said"),
    [
        (f"/runs/{ASKING}/answers", {}, 400, "nothing was answered"),
        (f"/runs/{ASKING}/answers", {"answer-F001-q1": "   "}, 400, "nothing was answered"),
        (f"/runs/{ASKING}/answers", {"answer-F001-q1": "x" * 4001}, 400, "4000 characters at most"),
        (f"/runs/{ASKING}/answers", {"answer-F999-q1": "x"}, 400, 'has no question "F999-q1"'),
        (f"/runs/{ASKING}/answers", {"choice": "a"}, 400, "waits for an answer: F001-q1"),
        (f"/runs/{DECIDING}/answers", {"choice": "z"}, 400, '"z" is no answer to: How?'),
        (f"/runs/{ENDED}/answers", {"choice": "a"}, 400, "has no open question"),
        (f"/runs/{ASKING}/cancel", {}, 409, "no process drives this run"),
        (f"/runs/{ASKING}/resume", {}, 400, "waits for an answer"),
        (f"/runs/{ENDED}/resume", {}, 409, "this run has ended"),
        (f"/runs/{ASKING}/apply", {}, 400, "nothing"),
        (f"/runs/{ASKING}/items/1/dismiss", {"why": " "}, 400, "a dismissal needs a reason"),
        (f"/runs/{ASKING}/items/9/dismiss", {"why": "x"}, 400, "has no item 9"),
        (f"/runs/{ENDED}/items/2/dismiss", {"why": "x"}, 400, "item 2 is fixed"),
        (f"/runs/{ASKING}/items/1/restore", {}, 400, "there is nothing to undo"),
        (f"/runs/{ASKING}/dismiss", {"item": "1", "why": " "}, 400, "a dismissal needs a reason"),
        (f"/runs/{ASKING}/dismiss", {"item": "1", "why": "x" * 4001}, 400, "4000 characters"),
        (f"/runs/{ASKING}/dismiss", {"why": "x"}, 400, "no item is ticked"),
        (f"/runs/{ASKING}/dismiss", {"why": "x", "item": "a"}, 400, "no item is ticked"),
        (f"/runs/{ASKING}/dismiss", {"why": "x", "item": ["1", "9"]}, 400, "has no item 9"),
        (f"/runs/{ENDED}/dismiss", {"why": "x", "item": ["1", "2"]}, 400, "item 2 is fixed"),
        (f"/runs/{ASKING}/dismiss", {"why": "x", "group": "3:"}, 409, "a group has changed"),
        (f"/runs/{ASKING}/dismiss", {"why": "x", "group": "2:other"}, 409, "a group has changed"),
        (f"/runs/{ASKING}/dismiss", {"why": "x", "group": "0:other"}, 400, "no item is ticked"),
        ("/runs/nowhere/cancel", {}, 404, "there is no such run"),
    ],
)
def test_what_cannot_be_done_says_why_and_does_nothing(told, path, fields, status, said):
    run = path.split("/")[2]
    before = entries(told, run)
    with Browser(told, "admin") as browser:
        answer = browser.submit(path, **fields)
    assert (answer.status_code, said in text_of(answer.text)) == (status, True), text_of(
        answer.text
    )
    assert entries(told, run) == before


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/runs/{ENDED}/items/9", 404),
        (f"/runs/{ENDED}/items/0", 400),
        (f"/runs/{ENDED}/items/x", 404),
        (f"/runs/{ENDED}/compare?a=1&b=7", 404),
        (f"/runs/{ENDED}/compare?a=x", 400),
        (f"/runs/{ENDED}/compare?with=nowhere", 404),
        (f"/runs/{ENDED}/diff?start=7", 404),
        (f"/runs/{ENDED}/compare?with={ASKING}", 200),
        (f"/runs/{ENDED}/compare", 200),
        (f"/runs/{ENDED}/diff", 200),
        (f"/runs/{ENDED}/items/2", 200),
    ],
)
def test_pages_that_are_not_there_say_so(told, path, status):
    with Browser(told, "read") as browser:
        answer = browser.get(path)
    assert answer.status_code == status, text_of(answer.text)
    assert answer.headers["content-type"].startswith("text/html")


def test_one_answer_of_two_leaves_the_other_open_and_is_recorded_in_the_visitors_name(told):
    with Browser(told, "run") as browser:
        answer = browser.submit(
            f"/runs/{ASKING}/answers", **{"answer-F001-q1": "From 1", "answer-F001-q2": ""}
        )
        assert (answer.status_code, answer.headers["location"]) == (303, f"/runs/{ASKING}")
        page = browser.get(f"/runs/{ASKING}").text
        assert "answer-F001-q2" in page
        assert "answer-F001-q1" not in page
        assert "From 1 (runer)" in text_of(browser.get(f"/runs/{ASKING}/items/1").text)


@pytest.fixture(scope="module")
def grouped(house):
    """A run with three items of a rule with a hostile name, one of which is fixed, and two others."""
    git_dir, run = str(house.folder / "repo" / ".git"), "261115-group"
    items = [item(number, rule=HOSTILE) for number in (1, 2, 3)] + [item(4, rule="S1"), item(5)]
    begun = replace(started(git_dir), settings=encode_settings(load_settings(None, {})))
    with SqliteStore.open(house.home) as store:
        made = Told(git_dir, store, run).tell(begun).items(*items, moves=fixed(3))
        made.tell(ev.Ended(outcome="leftovers"))
    return run


def dismissed(site, run: str) -> dict[int, tuple[str, str]]:
    """Who dismissed which item, and why."""
    with SqliteStore.open(site.home, readonly=True) as store:
        items = fold_entries(run, store.read(run)).items.values()
    return {
        each.number: (each.attempts[-1].by, each.attempts[-1].why)
        for each in items
        if each.status == "dismissed"
    }


def test_all_of_a_group_and_single_items_are_dismissed_for_one_reason_each_in_the_users_name(
    house, grouped
):
    with Browser(house, "read") as reader:
        page = reader.get(f"/runs/{grouped}").text
        assert "Dismiss ticked" not in page
        assert 'type="checkbox"' not in page
    with Browser(house, "run") as browser:
        page = browser.get(f"/runs/{grouped}").text
        assert page.count('name="item"') == 4, "what is fixed has no box"
        (ticket,) = re.findall(r'name="group" value="([^"]+)"', page)
        path = re.search(r'action="([^"]+/dismiss[^"]*)"', page)[1].replace("&amp;", "&")
        answer = browser.submit(path, group=ticket, item="4", why="generated")
        assert answer.status_code == 303, text_of(answer.text)
        assert browser.get(answer.headers["location"]).status_code == 200
        again = browser.submit(path, group=ticket, why="generated")
        assert again.status_code == 409, "the page that was looked at is old"
    assert dismissed(house, grouped) == dict.fromkeys((1, 2, 4), ("runer", "generated"))


def test_a_view_that_was_chosen_is_remembered_and_a_link_that_names_one_changes_nothing(told):
    with Browser(told, "read") as browser:

        def shown(run: str, query: str = "") -> str:
            page = browser.get(f"/runs/{run}{query}", follow_redirects=True).text
            return re.search(r'data-view="(\w+)"', page)[1]

        assert [shown(ENDED), shown(ASKING)] == ["table", "board"]
        assert shown(ASKING, "?view=table") == "table"
        assert shown(ASKING) == "board"
        assert shown(ASKING, "?view=table&by=file&remember=1") == "table"
        assert [shown(ENDED), shown(ASKING)] == ["table", "table"]
        assert 'aria-current="true">by file' in browser.get(f"/runs/{ASKING}").text
        assert shown(ENDED, "?view=board&remember=1") == "board"
        assert [shown(ENDED), shown(ASKING), shown(ASKING, "?view=x")] == ["board"] * 3
