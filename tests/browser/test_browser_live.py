"""Pages keep up with what happens, keep what a person is doing, and come back when the server does."""

import re

import pytest
from chromium import PATIENCE
from crowd import RUN, crowd
from museum import Museum, asks
from playwright.sync_api import Page, expect
from workbench import fix, fixer, review

from punchlist.model.item.item import Fact, Move
from punchlist.model.ledger.events import Dismissed

expect.set_options(timeout=PATIENCE)
GONE = (
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_EMPTY_RESPONSE",
    "htmx:",
)
"""What a browser says of a server that is not there."""
CARDS = 50


def column(page: Page, status: str):
    return page.get_by_role("region", name=status)


def begin(client, repository: str, workflow: str) -> str:
    answer = client.post("/api/runs", json={"repository_id": repository, "workflow": workflow})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.fixture
def repository(bench, site) -> str:
    return site.start().register(bench.repo.root)


@pytest.fixture
def asking(bench, site, repository) -> str:
    """A run that waits with a question."""
    bench.play(review("mean", "page"), asks("F001", "Is the first page 0 or 1?"))
    with site.client() as client:
        run = begin(client, repository, "challenged")
        Museum.until(client, run, "waiting")
    return run


def test_a_new_run_appears_in_the_list_and_its_end_is_seen_there(bench, site, repository, opened):
    bench.play(review(role="adversarial"))
    page = opened(site)
    page.evaluate("window.stays = true")
    expect(page.get_by_text("No runs yet.")).to_be_visible()
    with site.client() as client:
        run = begin(client, repository, "converge")
        expect(page.get_by_role("row", name=run)).to_contain_text("clean")
    assert page.evaluate("window.stays") is True


def test_what_is_typed_focused_and_scrolled_to_stays_while_the_page_changes(site, asking, opened):
    page = opened(site, f"/runs/{asking}", viewport={"width": 900, "height": 500})
    box = page.get_by_label("Is the first page 0 or 1?")
    box.press_sequentially("From 1, beca")
    scrolled = page.evaluate("scrollY")
    with site.client() as client:
        answer = client.post(
            f"/api/runs/{asking}/dismissals", json={"numbers": [2], "why": "generated"}
        )
        assert answer.status_code == 200, answer.text
    expect(column(page, "Dismissed").get_by_role("listitem")).to_have_count(1)
    expect(box).to_be_focused()
    assert page.evaluate("scrollY") == scrolled
    page.keyboard.type("use people count so")
    expect(box).to_have_value("From 1, because people count so")
    assert page.evaluate("document.activeElement.selectionStart") == len(
        "From 1, because people count so"
    )


def test_the_page_of_an_item_keeps_up_with_what_becomes_of_it(site, asking, opened):
    page = opened(site, f"/runs/{asking}/items/2")
    page.evaluate("window.stays = true")
    box = page.get_by_label("Why it needs no work")
    box.press_sequentially("I think")
    with site.client() as client:
        client.post(
            f"/api/runs/{asking}/dismissals", json={"numbers": [1], "why": "something else"}
        ).raise_for_status()
        expect(box).to_have_value("I think")
        client.post(
            f"/api/runs/{asking}/dismissals", json={"numbers": [2], "why": "generated"}
        ).raise_for_status()
    expect(page.get_by_role("region", name="History").get_by_text("generated")).to_be_visible()
    expect(page.get_by_role("button", name="Take it up again")).to_be_visible()
    assert page.evaluate("window.stays") is True


def test_a_server_that_was_killed_is_missed_comes_back_and_nothing_is_lost(
    bench, site, asking, opened
):
    page = opened(site, f"/runs/{asking}", expect=GONE)
    banner = page.locator("#offline")
    expect(banner).to_be_hidden()
    box = page.get_by_label("Is the first page 0 or 1?")
    box.fill("From 1")
    site.kill()
    expect(banner).to_be_visible()
    expect(box).to_have_value("From 1")
    bench.play(
        review("mean", "page"),
        {
            "role": "clarifier",
            "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
        },
        {"role": "planner", "answer": {"issues": []}},
    )
    site.start()
    expect(banner).to_be_hidden()
    expect(box).to_have_value("From 1")
    page.get_by_role("button", name="Answer, and go on").click()
    expect(page.get_by_role("heading", name="This run waits for your decision")).to_be_visible()
    expect(column(page, "Open").get_by_role("listitem")).to_have_count(2)


def test_a_page_that_cannot_be_brought_up_to_date_says_so(site, asking, opened):
    page = opened(site, f"/runs/{asking}", expect=("404",))
    banner = page.locator("#offline")
    expect(banner).to_be_hidden()
    with site.client() as client:
        (repository,) = client.get("/api/repositories").json()
        client.delete(f"/api/repositories/{repository['id']}").raise_for_status()
        expect(banner).to_contain_text("does not show this any more (404)")
        client.post("/api/repositories", json={"path": repository["root"]}).raise_for_status()
        expect(banner).to_be_hidden()


def test_a_run_that_was_killed_with_its_server_is_resumed_and_watched_to_its_end(
    bench, site, repository, opened
):
    bench.play(
        review("page", role="adversarial", times=1),
        fixer(fix("page"), seconds=600),
        review(role="adversarial"),
    )
    with site.client() as client:
        run = begin(client, repository, "converge")
    page = opened(site, f"/runs/{run}", expect=GONE)
    expect(page.get_by_role("heading", name="Running")).to_be_visible()
    expect(column(page, "Open").get_by_role("listitem")).to_have_count(1)
    site.kill()
    expect(page.locator("#offline")).to_be_visible()
    bench.play(
        review("page", role="adversarial", times=1), fixer(fix("page")), review(role="adversarial")
    )
    site.start()
    page.evaluate("window.stays = true")
    resume = page.get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    assert page.evaluate("window.stays") is True
    resume.click()
    expect(column(page, "Fixed").get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_contain_text("The only item is fixed")


def test_ten_thousand_items_are_shown_a_page_at_a_time(bench, site, opened):
    ledger = crowd(site.home, bench.repo.root, 10_000)
    site.start().register(bench.repo.root)
    page = opened(site, f"/runs/{RUN}")
    page.evaluate("window.stays = true")
    cards = column(page, "Open").get_by_role("listitem")
    expect(cards).to_have_count(CARDS)
    assert page.locator("*").count() < 6000, "however many items there are"
    expect(column(page, "Open").get_by_role("heading")).to_contain_text("2,499")
    first = cards.first.inner_text()
    page.get_by_role("link", name="More open items").click()
    expect(cards.first).not_to_have_text(first)
    expect(cards).to_have_count(CARDS)
    assert page.locator("*").count() < 6000
    page.get_by_role("searchbox").fill("rows_of_4321")
    expect(page.get_by_text("1 item of 10,000")).to_be_visible()
    assert "q=rows_of_4321" in page.url
    page.get_by_role("searchbox").fill("")
    expect(column(page, "Dismissed").get_by_role("heading")).to_contain_text("833")
    number = next(item.number for item in ledger.run.items.values() if item.status == "open")
    ledger.tell(
        Dismissed(by="ada", why="live", moves=(Move(number, Fact.DISMISSED, by="ada", why="live"),))
    )
    expect(column(page, "Dismissed").get_by_role("heading")).to_contain_text("834")
    assert page.evaluate("window.stays") is True, "all of it in place"


def test_filters_are_in_the_address_and_survive_a_reload_and_the_back_button(bench, site, opened):
    crowd(site.home, bench.repo.root, 200)
    site.start().register(bench.repo.root)
    page = opened(site, f"/runs/{RUN}")
    page.get_by_label("Severity").select_option("critical")
    page.wait_for_url(re.compile("severity=critical"))
    shown = page.get_by_text("items of 200")
    expect(shown).to_contain_text("67 items")
    page.reload()
    expect(shown).to_contain_text("67 items")
    expect(page.get_by_label("Severity")).to_have_value("critical")
    column(page, "Fixed").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Proof", exact=True)).to_be_visible()
    page.go_back()
    expect(shown).to_contain_text("67 items")


def test_all_can_be_done_with_the_keyboard_alone(bench, site, asking, opened):
    page = opened(site, role="")
    keys = page.keyboard
    keys.type(site.tokens["run"])  # the field for it has the focus
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    keys.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    keys.type(asking)
    keys.press("Escape")
    keys.press("j")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="This run waits for 1 answer")).to_be_visible()
    keys.press("j")
    first = page.get_by_role("link", name="page() skips the first page", exact=True)
    expect(first).to_be_focused()
    keys.press("j")
    expect(page.get_by_role("link", name="mean() fails for no prices")).to_be_focused()
    keys.press("k")
    expect(first).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("page() skips the first page")
    keys.press("j")
    expect(page.get_by_role("heading", level=1)).to_contain_text("mean() fails for no prices")
    keys.press("k")
    expect(page.get_by_role("heading", level=1)).to_contain_text("page() skips the first page")
    keys.press("u")
    box = page.get_by_label("Is the first page 0 or 1?")
    expect(box).to_be_visible()
    for _ in range(60):
        keys.press("Tab")
        if box.evaluate("each => each === document.activeElement"):
            break
    expect(box).to_be_focused()
    bench.play(
        review("mean", "page"),
        {
            "role": "clarifier",
            "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
        },
        {"role": "planner", "answer": {"issues": []}},
    )
    keys.type("From 1")
    keys.press("Tab")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="This run waits for your decision")).to_be_visible()
    keys.press("g")
    keys.press("r")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
