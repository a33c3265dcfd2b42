"""Takes the pictures of the dashboard that the docs show: a real server, scripted agents, a real
Chromium.

    python tools/screenshots.py [--to docs/images]

Needs chromium, and what the tests need. The pictures are looked at by people: nothing compares
them.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "journeys"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

from chromium import DESKTOP, PHONE, PROGRAM, chromium
from museum import READY, Checkout, Museum, asks
from playwright.sync_api import Browser, Page
from sites import Site
from workbench import FAULTS, Workbench, fix, fixer, review, scores

from punchlist.adapters.store.serving.access import FileAccess
from punchlist.app.access import Role
from punchlist.web.security.tokens import Tokens

LARGEST = 200 * 1024
HOME = "/home/ada"
"""What stands in the pictures for the folder that they were taken in."""
TALK = {
    "page": [
        "Reading shop/pages.py.\n",
        "page(rows, 1, size) begins at rows[size]: the first page is never shown.\n",
        (
            "Callers count from one. Both ends of the slice move back by one page; a page past the"
            " end stays empty.\n"
        ),
    ],
    "initials": [
        "Reading shop/names.py.\n",
        (
            'name.split(" ") gives an empty part where two spaces stand together, and part[0] fails'
            " on it.\n"
        ),
        "split() without an argument takes any white space as one.\n",
    ],
}
PLAN = {
    "approach": "patch",
    "steps": ["let both ends of the slice count from one", "keep a page past the end empty"],
    "risks": [],
}
PLANS = {
    "role": "planner",
    "answer": {"issues": [{"issue_code": "F001", "plan": PLAN, "files": ["shop/pages.py"]}]},
}
COST = {"input_tokens": 18_400, "output_tokens": 1_250, "dollars": 0.09}
TIDY = """([from, to]) => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replaceAll(from, to);
}"""


class Studio:
    """A server with something to see on every page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = Site(folder)
        self.token = self.site.tokens["admin"] = Tokens(FileAccess(self.site.home)).create_token(
            Role.ADMIN, "ada"
        )
        self.bench = Workbench(Checkout(folder / "shop"), folder)
        self.repository = self.site.start().register(self.bench.repo.root)
        self._client = self.site.client()
        self.ended = self._ended()
        self.asking = self._asking()
        self.deciding = self._deciding()
        self.running = self._running()

    def close(self) -> None:
        self._client.post(f"/api/runs/{self.running}/cancel")
        self._client.close()
        self.site.end()

    def _begin(self, workflow: str, *lines: dict[str, Any]) -> str:
        (self.folder / "calls.jsonl").unlink(missing_ok=True)
        self.bench.play(*lines)
        settings = self.folder / "settings.toml"
        settings.write_text(settings.read_text().replace(sys.executable, "python3"))
        wish = {
            "repository_id": self.repository,
            "workflow": workflow,
            "allow_checks": True,
            "force": True,
        }
        return str(self._client.post("/api/runs", json=wish).raise_for_status().json()["id"])

    def _until(self, run: str, state: str) -> None:
        Museum.until(self._client, run, state)

    def _answer(self, run: str, **said: Any) -> None:
        self._client.post(f"/api/runs/{run}/answers", json=said).raise_for_status()

    def _ended(self) -> str:
        """Four faults: two land at once, one after it scored low, one is put off."""
        left = fix(
            "initials",
            "deferred",
            "names with two spaces come from the import, whose owner has to decide",
        )
        wrong = {
            **fix("page"),
            "edits": [
                {"path": "shop/pages.py", "replace": "rows[number", "with": "rows[(number - 1)"}
            ],
        }
        first = fixer(
            fix("mean", explanation="no prices have no mean"),
            fix("cheapest", explanation="takes the first of the sorted prices"),
            {**wrong, "outcome": {"outcome": "fixed", "explanation": "begins one page earlier"}},
            left,
            round=1,
            usage=COST,
        )
        low = scores(times=1, F001=55, F002=96, F003=93, F004=91)
        low["answer"]["issues"]["F001"]["feedback"] = (
            "The end of the slice still counts from zero: the last page is too long."
        )
        run = self._begin(
            "challenged",
            review(*FAULTS),
            asks("F001", "Is the first page number 0 or 1?"),
            READY,
            PLANS,
            first,
            fixer(fix("page", explanation="both ends count from one"), left, usage=COST),
            low,
            scores(F001=97, F002=96, F003=93),
        )
        self._until(run, "waiting")
        self._answer(run, answers={"F001-q1": "1, as in the address of a page"})
        self._until(run, "waiting")
        self._answer(run, choice="a")
        self._until(run, "ended")
        return run

    def _asking(self) -> str:
        run = self._begin(
            "challenged", review("mean", "page"), asks("F001", "Is the first page number 0 or 1?")
        )
        self._until(run, "waiting")
        return run

    def _deciding(self) -> str:
        left = fix("mean", "deferred", "the owner of the prices has to decide")
        order = {1: "page", 2: "cheapest", 3: "initials"}
        run = self._begin(
            "converge",
            *(
                review("mean", *list(order.values())[turn:], role="adversarial", times=1)
                for turn in range(3)
            ),
            *(
                fixer(fix(name), left, {"outcome": None}, round=number)
                for number, name in order.items()
            ),
        )
        self._until(run, "waiting")
        return run

    def _running(self) -> str:
        slow = [
            fixer(fix(name), say=said, seconds=3600, prompt=FAULTS[name][0])
            for name, said in TALK.items()
        ]
        quick = fixer(fix("cheapest"), fix("mean"), usage=COST)
        run = self._begin("challenged", review(*FAULTS), READY, PLANS, *slow, quick)
        self._until(run, "waiting")
        self._answer(run, choice="a")
        return run

    def number(self, run: str, text: str) -> int:
        found = self._client.get(f"/api/runs/{run}/items", params={"text": text}).json()["items"]
        return int(found[0]["number"])


@contextmanager
def studio() -> Iterator[Studio]:
    with tempfile.TemporaryDirectory(prefix="punchlist-pictures-") as folder:
        made = Studio(Path(folder))
        try:
            yield made
        finally:
            made.close()


def page_of(browser: Browser, made: Studio, **look: Any) -> Page:
    context = browser.new_context(
        base_url=made.site.address, **{"viewport": DESKTOP, "color_scheme": "light", **look}
    )
    context.request.post(
        "/sign-in",
        form={"token": made.token},
        headers={"origin": made.site.address},
        max_redirects=0,
    )
    return context.new_page()


def taken(page: Page, made: Studio, path: str, file: Path) -> None:
    page.goto(path)
    page.wait_for_timeout(600)  # what comes live has come
    for opened in page.locator("details.plan, details.trial").all():
        opened.evaluate("each => each.open = true")
    page.evaluate(TIDY, [str(made.folder), HOME])
    page.screenshot(path=file, animations="disabled")
    size = file.stat().st_size
    print(f"{file}  {size // 1024} kB")
    if size > LARGEST:
        sys.exit(f"{file}: {size} bytes are too many for a repository")


def pictures(made: Studio) -> dict[str, str]:
    """By name: the page that is shown."""
    item = made.number(made.ended, "page()")
    return {
        "runs": "/",
        "start": f"/repositories/{made.repository}/start",
        "trends": f"/repositories/{made.repository}/trends",
        "run": f"/runs/{made.running}",
        "question": f"/runs/{made.asking}",
        "decision": f"/runs/{made.deciding}",
        "ended": f"/runs/{made.ended}?view=table&by=file",
        "item": f"/runs/{made.ended}/items/{item}",
        "diff": f"/runs/{made.ended}/diff",
        "compare": f"/runs/{made.ended}/compare?a=1&b=2",
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    folder = parser.parse_args().to
    if not PROGRAM:
        sys.exit("there is no chromium: install it, or name it with TEST_CHROMIUM")
    with studio() as made, tempfile.TemporaryDirectory() as home, chromium(Path(home)) as browser:
        page = page_of(browser, made)
        for name, path in pictures(made).items():
            taken(page, made, path, folder / f"dashboard-{name}.png")
        page.context.clear_cookies()
        taken(page, made, "/sign-in", folder / "dashboard-sign-in.png")
        dark = page_of(browser, made, color_scheme="dark")
        taken(dark, made, f"/runs/{made.running}", folder / "dashboard-dark.png")
        phone = page_of(browser, made, viewport=PHONE)
        taken(phone, made, f"/runs/{made.running}", folder / "dashboard-phone.png")


if __name__ == "__main__":
    main()
