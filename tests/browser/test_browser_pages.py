"""Every page is accessible, fits a phone, and shows what strangers wrote as text: light and dark, wide and narrow."""

import re
import time
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest
from chromium import DESKTOP, PATIENCE, PHONE, Watch
from museum import HOSTILE, Museum
from playwright.sync_api import Page, expect

from punchlist.web.pages.router import ROUTES

expect.set_options(timeout=PATIENCE)
LOOKS = {
    "light": {"color_scheme": "light", "viewport": DESKTOP},
    "dark": {"color_scheme": "dark", "viewport": DESKTOP},
    "phone": {"color_scheme": "light", "viewport": PHONE},
    "dark phone": {"color_scheme": "dark", "viewport": PHONE},
}
SEEN = (
    "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{ 7*7 }} \u2039U+202E\u203agnp.exe"
)
"""The hostile text as a person reads it: as it is, but for what would turn the line around."""


@pytest.fixture(scope="module")
def museum(tmp_path_factory) -> Iterator[Museum]:
    made = Museum(tmp_path_factory.mktemp("museum"))
    yield made
    made.site.end()


def faults(page: Page, axe: str) -> list[str]:
    """What axe has against a page, a line each."""
    page.evaluate(axe)
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(told => told.violations)"
    )
    return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}" for each in found]


@pytest.mark.parametrize(
    "look", ["light", "dark", "phone", pytest.param("dark phone", marks=pytest.mark.soak)]
)
def test_axe_finds_nothing_and_nothing_is_wider_than_its_place_on_any_page(
    museum, opened, axe, look
):
    """Pages are those that the museum names, and those that links of these lead to."""
    page = opened(museum.site, "/sign-in", role="", **LOOKS[look])
    told = {"/sign-in": [*faults(page, axe), *too_wide(page)]}
    page = opened(museum.site, **LOOKS[look])
    known, named = routes_of_pages(), museum.pages()
    to_visit = list(named.values())
    seen = {shape(path, known) for path in to_visit}
    for path in to_visit:  # which grows
        page.goto(path)
        if path == named["running run"]:
            expect(page.locator(".talk")).to_contain_text("then <img")
        told[path] = [*faults(page, axe), *too_wide(page)]
        for link in page.evaluate(LINKS):
            if (found := shape(link, known)) not in seen and found[0]:
                seen.add(found)
                to_visit.append(link)
    wrong = [f"{path}: {each}" for path, said in told.items() for each in said]
    assert not wrong, "\n".join(wrong)
    visited = {shape(path, known)[0] for path in told}
    assert set(known) - visited == set(), "pages that no link leads to, and the museum forgot"


LINKS = """[...document.querySelectorAll("a[href]")].map((a) => new URL(a.href))
    .filter((url) => url.origin === location.origin)
    .map((url) => url.pathname + url.search.replace("&remember=1", ""))"""
NO_PAGES = {
    "/static/{mark:str}/{name:str}",
    "/favicon.ico",
    "/session",
    "/runs",
    "/runs/{run_id:str}/parts",
    "/runs/{run_id:str}/live",
    "/runs/{run_id:str}/reports/{form:str}",
    "/runs/{run_id:str}/files/{name:path}",
}
"""What is fetched, and is no page of the dashboard: parts of pages, streams, reports and files."""


def routes_of_pages() -> dict[str, re.Pattern[str]]:
    """The addresses of all pages, by their routes."""
    paths = {path for route in ROUTES if "GET" in route.http_methods for path in route.paths}
    assert paths >= NO_PAGES
    return {path: re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)) for path in paths - NO_PAGES}


def shape(link: str, known: dict[str, re.Pattern[str]]) -> tuple[str, frozenset[str]]:
    """Which page a link leads to, and in which form; one of each shape is visited."""
    parts = urlsplit(link)
    route = next((path for path, each in known.items() if each.fullmatch(parts.path)), "")
    ways = frozenset(
        f"{name}={value}" if name == "view" else name
        for name, value in parse_qsl(parts.query)
        if name in ("view", "in", "with")
    )
    if "view=board" in ways:  # it has no groups
        ways = frozenset({"view=board"})
    return route, ways


TOO_WIDE = """() => {
    const root = document.documentElement, found = [];
    if (root.scrollWidth > root.clientWidth) found.push(`${root.scrollWidth} px wide in a window of ${root.clientWidth}`);
    for (const each of document.querySelectorAll("main table, main form, main pre, main svg, main ul, main ol, main section, main details")) {
        const around = each.parentElement, over = getComputedStyle(around).overflowX;
        const out = each.getBoundingClientRect().right - around.getBoundingClientRect().right;
        if (out > 4 && over === "visible" && getComputedStyle(each).position === "static") found.push(`<${each.tagName.toLowerCase()} class="${each.getAttribute("class")}"> stands out by ${Math.round(out)} px`);
    }
    return found;
}"""


def too_wide(page: Page) -> list[str]:
    return page.evaluate(TOO_WIDE)


def test_a_page_that_is_not_there_says_so_in_an_accessible_way(museum, opened, axe):
    page = opened(museum.site, "/runs/nowhere", expect=("404",))
    expect(page.get_by_role("alert")).to_contain_text("there is no such run")
    assert faults(page, axe) == []


def test_the_theme_can_be_chosen_and_is_remembered(museum, opened):
    page = opened(museum.site, color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Switch between light and dark").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    page.goto(f"/runs/{museum.ended}")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_what_strangers_wrote_is_shown_as_text_and_does_nothing(museum, opened):
    page = opened(museum.site)
    shouted = []
    page.on("dialog", lambda dialog: (shouted.append(dialog.message), dialog.dismiss()))
    for name, path in museum.pages().items():
        page.goto(path)
        assert page.locator("img").count() == 1, f"{name}: only the brand's picture"
        assert (
            page.locator("main script, main [onerror], main b:text-is('odd&.py')").count() == 0
        ), name
    assert shouted == []
    pages = museum.pages()
    page.goto(pages["ended run"])
    expect(page.get_by_role("link", name=SEEN)).to_be_visible()
    page.goto(pages["hostile item"])
    expect(page.get_by_role("heading", level=1)).to_contain_text(SEEN)
    assert "{{ 7*7 }}" in page.title(), "it was not worked out"
    expect(page.get_by_text("shop/<b>odd&.py").first).to_be_visible()
    page.goto(pages["fixed item"])
    expect(page.get_by_text(f"Pages from 1? {SEEN}")).to_be_visible()
    expect(page.get_by_text(f"As {SEEN} says")).to_be_visible()
    page.goto(f"/runs/{museum.ended}/files/plan/fix_todo_F001.json")
    expect(page.locator("body")).to_contain_text("<script>alert(2)</script>")
    assert shouted == []


def test_a_report_is_shut_in_and_complains_of_nothing(museum, opened):
    page = opened(museum.site, f"/runs/{museum.ended}/reports/html")
    expect(page.get_by_text("page() skips the first page").first).to_be_visible()
    assert page.evaluate("self.origin") == "null", (
        "to the browser it is nobody's page, and has nobody's cookies"
    )


def test_what_an_agent_says_while_it_works_is_text(museum, opened):
    page = opened(museum.site, f"/runs/{museum.running}")
    talk = page.locator(".talk")
    expect(talk).to_contain_text("<script>alert(2)</script>")
    expect(talk).to_contain_text("then <img")
    assert talk.locator("*").count() == 0, "no element came of it"


def test_an_agent_that_talks_very_much_does_not_hold_the_page_up(museum, opened):
    page = opened(museum.site, f"/runs/{museum.running}")
    talk = page.locator(".talk")
    expect(talk).to_contain_text("then <img")
    loud = """label => {
        const talk = document.querySelector(".talk"), written = [];
        new MutationObserver(() => written.push(talk.textContent)).observe(talk, { childList: true });
        for (let n = 0; n < 20_000; n++) heard({ label, number: 1e9 + n, text: `${"x".repeat(5_000)}\\nline ${n}` });
        return new Promise((done) => setTimeout(() => done(written), 1_000));
    }"""
    written = page.evaluate(loud, talk.get_attribute("data-label"))
    assert written[0].endswith("\nline 19999")
    assert len(written[0]) <= 4000
    assert len(written) <= 6, (
        "at most four times a second, and as often as the part is brought up to date"
    )


def test_who_may_only_read_is_offered_nothing_and_refused(museum, opened):
    page = opened(museum.site, role="read")
    expect(page.get_by_role("link", name="Start a run")).to_have_count(0)
    expect(page.get_by_role("button", name="Register")).to_have_count(0)
    for path in museum.pages().values():
        if not path.endswith("/start"):
            page.goto(path)
            names = page.get_by_role("main").get_by_role("button").all_inner_texts()
            assert set(names) <= {"Compare rounds", "Compare runs", "Reports"}, path
    request, origin = page.context.request, {"origin": museum.site.address}
    acts = (
        "cancel",
        "resume",
        "apply",
        "discard",
        "answers",
        "dismiss",
        "items/1/dismiss",
        "items/1/restore",
    )
    before = page.context.request.get(f"/runs/{museum.asking}").text()
    for act in acts:
        answer = request.post(
            f"/runs/{museum.asking}/{act}", headers=origin, form={"choice": "a", "why": "because"}
        )
        assert answer.status == 403, act
        assert "may not do this" in answer.text()
    assert request.get(f"/repositories/{museum.repository}/start").status == 403
    assert request.post("/repositories", headers=origin, form={"path": "/tmp"}).status == 403
    assert "This run waits for" in before
    assert "This run waits for" in request.get(f"/runs/{museum.asking}").text(), "nothing was done"


def test_who_may_run_may_not_apply(museum, opened):
    page = opened(museum.site, f"/runs/{museum.ended}", role="run")
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)
    answer = page.context.request.post(
        f"/runs/{museum.ended}/apply",
        headers={"origin": museum.site.address},
        form={"squash": "yes"},
    )
    assert answer.status == 403


@pytest.mark.parametrize("origin", [None, "http://127.0.0.1:1", "http://elsewhere.example", "null"])
def test_what_another_page_sends_is_refused_though_the_cookie_comes_along(museum, opened, origin):
    request = opened(museum.site).context.request
    headers = {"origin": origin} if origin else {}
    for act in ("cancel", "resume", "answers", "items/1/dismiss"):
        assert (
            request.post(
                f"/runs/{museum.asking}/{act}", headers=headers, form={"answer-F001-q1": "x"}
            ).status
            == 403
        )
    assert (
        request.post(
            "/sign-in", headers=headers, form={"token": museum.site.tokens["admin"]}
        ).status
        == 403
    )


def test_a_cookie_opens_no_door_of_the_api(museum, opened):
    request = opened(museum.site).context.request
    assert request.get("/api/runs").status == 401
    assert (
        request.post(
            f"/api/runs/{museum.asking}/cancel", headers={"origin": museum.site.address}
        ).status
        == 401
    )


def test_an_item_is_dismissed_with_a_reason_and_taken_up_again(museum, opened):
    page = opened(museum.site, f"/runs/{museum.asking}/items/2")
    page.get_by_label("Why it needs no work").fill(HOSTILE)
    page.get_by_role("button", name="Dismiss item 2").click()
    history = page.get_by_role("region", name="History")
    expect(history.get_by_text("dismissed")).to_be_visible()
    expect(history.get_by_text(SEEN)).to_be_visible()
    expect(history.get_by_text("by adminer")).to_be_visible()
    page.get_by_role("button", name="Take it up again").click()
    expect(page.get_by_role("button", name="Dismiss item 2")).to_be_visible()


def test_ticked_items_are_counted_and_dismissed_for_one_reason(museum, opened):
    page = opened(museum.site, f"/runs/{museum.crowded}?view=table&by=rule&in=S608")
    boxes = page.get_by_role("checkbox", name=re.compile("^Tick item"))
    count, group = boxes.count(), page.get_by_label("Tick all")
    boxes.nth(0).check()
    expect(page.get_by_text("1 item is ticked.")).to_be_visible()
    group.check()
    expect(page.get_by_text(f"{count} items are ticked.")).to_be_visible()
    boxes.nth(1).uncheck()
    expect(group).not_to_be_checked()
    expect(
        page.get_by_text(f"{count - 1} items are ticked." if count > 2 else "1 item is")
    ).to_be_visible()
    group.check()
    page.get_by_label("Why the ticked items").fill(HOSTILE)
    page.get_by_role("button", name="Dismiss ticked items").click()
    expect(boxes).to_have_count(0)
    expect(page.get_by_role("row", name="Dismissed").get_by_text(SEEN)).not_to_have_count(0)


def test_on_a_phone_one_column_is_shown_at_a_time(museum, opened):
    page = opened(museum.site, f"/runs/{museum.crowded}", viewport=PHONE)
    expect(page.get_by_role("region", name="Open")).to_be_visible()
    expect(page.get_by_role("region", name="Fixed")).to_be_hidden()
    page.get_by_role("navigation", name="Columns").get_by_role("link", name="Fixed").click()
    expect(page.get_by_role("region", name="Fixed")).to_be_visible()
    expect(page.get_by_role("region", name="Open")).to_be_hidden()


def test_what_a_page_must_not_do_is_noticed_and_stopped(museum, browser):
    watch = Watch(museum.site.address)
    context = watch.over(browser.new_context(base_url=museum.site.address))
    page = context.new_page()
    page.goto("/sign-in")
    assert watch.complaints == []
    page.evaluate("console.error('a complaint')")
    page.evaluate("setTimeout(() => { throw new Error('a fault') })")
    page.evaluate("fetch('http://127.0.0.1:1/elsewhere').catch(() => {})")
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = true'}))"
    )
    limit = time.monotonic() + PATIENCE / 1000
    for wanted in ("a complaint", "a fault", "elsewhere", "inline script"):
        while not any(wanted in said for said in watch.complaints):
            assert time.monotonic() < limit, f"{wanted}: not in {watch.complaints}"
            page.wait_for_timeout(50)
    assert page.evaluate("window.ran") is None, "no script runs that stands in a page"
    context.close()
