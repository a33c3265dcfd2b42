"""The whole way in a real browser: sign in, register, start, watch, answer, stop, go on, decide, look at what landed and why."""

import os
import pty
import re
import subprocess
import sys

from chromium import PATIENCE
from playwright.sync_api import Page, expect
from workbench import fix, fixer, review, scores

ASKED = {
    "role": "clarifier",
    "times": 1,
    "answer": {
        "has_questions": True,
        "questions_by_issue": [
            {
                "issue_code": "F001",
                "questions": [
                    {"id": "F001-q1", "question": "Which page is first?", "context": "0 or 1"}
                ],
            }
        ],
        "ready_to_plan": False,
    },
}
READY = {
    "role": "clarifier",
    "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
}
PLANS = {
    "role": "planner",
    "answer": {
        "issues": [
            {
                "issue_code": "F001",
                "plan": {"approach": "patch", "steps": ["count from one"]},
                "files": [],
            }
        ]
    },
}
TALK = "I look at how pages are counted"
expect.set_options(timeout=PATIENCE)


ORDER = {1: "page", 2: "cheapest", 3: "initials"}
"""What is fixed in which round, where one fault is left for ever."""


def questioned(bench, *, thinks: float) -> None:
    """A question, a plan, two fixes; `thinks` is how long the fixer takes."""
    fixes = fixer(fix("mean"), fix("page"), say=[TALK], seconds=thinks)
    bench.play(review("mean", "page"), ASKED, READY, PLANS, fixes, scores(F001=95, F002=97))


def stuck(bench) -> None:
    """Fewer faults each round, and one that nobody fixes."""
    left = "the owner of the data has to decide"
    rest = list(ORDER.values())
    bench.play(
        *(review("mean", *rest[turn:], role="adversarial", times=1) for turn in range(4)),
        *(
            fixer(fix(name), fix("mean", "deferred", left), {"outcome": None}, round=n)
            for n, name in ORDER.items()
        ),
    )


def column(page: Page, status: str):
    return page.get_by_role("region", name=status)


def asked(page: Page, text: str):
    """The panel in which the run waits with that."""
    return page.get_by_role("region", name="This run waits").get_by_text(text)


def begun(site, bench, opened) -> Page:
    """Somebody signs in, registers the repository and starts a run of `challenged`."""
    page = opened(site, role="")
    page.on("dialog", lambda dialog: dialog.accept())
    expect(page).to_have_title("Sign in · Punchlist")
    page.get_by_label("Token").fill(site.tokens["admin"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    page.get_by_label("Register a repository").fill(str(bench.repo.root))
    page.get_by_role("button", name="Register").click()
    page.get_by_role("link", name="Start a run").click()
    page.get_by_role("radio", name=re.compile("^challenged")).check()
    page.get_by_label("Let the project's checks run").check()
    page.get_by_role("button", name="Start the run").click()
    return page


def looked_at(page: Page) -> None:
    """What landed for one item, why it counts as fixed, and all that landed."""
    page.get_by_role("link", name="page() skips the first page").first.click()
    expect(page.get_by_role("heading", name="The fix that landed")).to_be_visible()
    expect(page.locator("#diff .l-a")).to_have_text(
        "    return rows[(number - 1) * size : number * size]\n"
    )
    proof = page.get_by_role("region", name="Proof")
    expect(proof.get_by_text("self-review")).to_be_visible()
    expect(proof.get_by_text("tests pass", exact=True)).to_be_visible()
    expect(page.get_by_text("95 of 100")).to_be_visible()
    expect(page.get_by_text("Pages count from one")).to_be_visible()
    page.get_by_role("link", name="All that landed in this run").click()
    expect(page.get_by_role("heading", name="What landed")).to_be_visible()
    expect(page.locator(".l-a")).to_have_count(2)


def test_a_run_from_the_sign_in_to_what_landed(bench, site, opened):
    questioned(bench, thinks=600)
    page = begun(site.start(), bench, opened)
    box = page.get_by_label("Which page is first?")
    expect(page.get_by_role("heading", name="This run waits for 1 answer")).to_be_visible()
    address = page.url
    watcher = page.context.new_page()
    watcher.goto(address)
    watcher.evaluate("window.stays = true")
    box.fill("Pages count from one")
    page.get_by_role("button", name="Answer, and go on").click()

    expect(page.get_by_role("heading", name="This run waits for your decision")).to_be_visible()
    page.get_by_text("The plan: 2 items").click()
    expect(page.get_by_text("count from one", exact=True)).to_be_visible()
    page.get_by_role("button", name="go on with the plan as it is in the files").dblclick()

    expect(watcher.get_by_text(TALK).first).to_be_visible()
    expect(column(watcher, "Open").get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("heading", name="Running")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    resume = page.get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    expect(watcher.get_by_role("button", name="Resume")).to_be_visible()

    questioned(bench, thinks=0.5)
    resume.click()
    expect(column(watcher, "Fixed").get_by_role("listitem")).to_have_count(2)
    assert watcher.evaluate("window.stays") is True, (
        "all of this was seen without loading the page anew"
    )
    expect(
        watcher.get_by_role("heading", name="Both items are fixed, each with a proof.")
    ).to_be_visible()

    page.goto(address)
    looked_at(page)

    page.goto(address)
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("status").get_by_text("applied")).to_be_visible()
    assert "(number - 1)" in (bench.repo.root / "shop/pages.py").read_text()


def test_an_escalation_is_decided_where_it_is_seen(bench, site, opened):
    stuck(bench)
    repository = site.start().register(bench.repo.root)
    page = opened(site, f"/repositories/{repository}/start", role="run")
    page.get_by_role("radio", name=re.compile("^converge")).check()
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", name="This run waits for your decision")).to_be_visible()
    expect(asked(page, "After 3 review rounds")).to_be_visible()
    page.get_by_role("button", name="1 more review round").click()
    expect(asked(page, "After 4 review rounds")).to_be_visible()
    page.get_by_role("button", name="accept the findings").click()
    expect(column(page, "Dismissed").get_by_text("mean() fails for no prices")).to_be_visible()
    expect(page.get_by_text("runer answers b").first).to_be_visible()

    page.get_by_role("link", name="Compare rounds").click()
    page.get_by_label("Round", exact=True).select_option("1")
    page.get_by_label("with round").select_option("4")
    page.get_by_role("button", name="Compare rounds").click()
    assert page.url.endswith("/compare?a=1&b=4")
    expect(page.get_by_role("heading", name="Round 1, then round 4")).to_be_visible()
    ended = page.get_by_role("region", name="Filed or dismissed")
    expect(ended.get_by_text("mean() fails for no prices")).to_be_visible()
    expect(ended.get_by_text("Deferred → Dismissed")).to_be_visible()


def on_a_terminal(site) -> str:
    """Starts the server as somebody at a terminal does; the link that it prints."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "punchlist", "serve", "--port", "0"]
    env = {**site.env, "COLUMNS": "200"}
    with os.fdopen(theirs, "wb") as end:
        site.adopt(
            subprocess.Popen(command, env=env, cwd=site.folder, stdin=end, stdout=end, stderr=end)
        )
    said = b""
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        while b"stops it" not in said:
            said += terminal.read(4096)
        link = re.search(rb"http://127\.0\.0\.1:(\d+)/sign-in\?code=[\w-]+", said)
        assert link is not None, said
        site.port = int(link[1])
        return link[0].decode()


def test_the_link_of_the_terminal_signs_in_once(site, opened):
    link = on_a_terminal(site)
    page = opened(site, link.removeprefix(site.address), role="")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    expect(page.get_by_text("admin", exact=True)).to_be_visible()
    other = opened(site, link.removeprefix(site.address), role="", expect=("403",))
    expect(other.get_by_role("alert")).to_contain_text("This link was used")
