"""How soon a run is seen in a real Chromium, and how soon the board answers: 100 to 10,000 items.

    python bench/dashboard.py [--items 100 10000] [--turns 9]

A child process serves the dashboard; each visit is a new window that has cached nothing. "first" and "largest" are the browser's
own first and largest contentful paint, "answer" is when the server's first byte came. The lower bound is a page of the same server
that shows nothing, visited in turn with the others. "cold" is the first paint of the run by a server that was just started and has
shown one empty page: it has to read the whole ledger. Then what a person does: "filter" from the last key typed (the page waits
200 ms for the next one), "more" from the click on the next page of a column, "live" from an answer of the API that changed an item;
each until it is to be seen. "longest" is how long the page could not react meanwhile. The lines "by rule", "by file" and "by severity"
are the same run as a table in groups; `--within 1000` fails if one of these paints later than that. Medians, in milliseconds.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

from chromium import DESKTOP, PROGRAM, chromium
from crowd import crowd
from sites import Site

EMPTY = "/runs/nowhere"
PAINT = """() => new Promise(done => {
  const found = { answer: performance.getEntriesByType("navigation")[0].responseStart, nodes: document.querySelectorAll("*").length };
  found.bytes = performance.getEntriesByType("navigation")[0].encodedBodySize;
  new PerformanceObserver(list => {
    found.largest = list.getEntries().at(-1).startTime;
    found.first = performance.getEntriesByName("first-contentful-paint")[0].startTime;
    done(found);
  }).observe({ type: "largest-contentful-paint", buffered: true });
})"""
WATCH = """() => {
  window.longest = 0;
  new PerformanceObserver(list => { for (const each of list.getEntries()) window.longest = Math.max(window.longest, each.duration); })
    .observe({ type: "longtask" });
}"""
UNTIL = """([act, before]) => new Promise((done, fail) => {
  const board = document.querySelector("#part-board");
  const began = performance.now();
  const look = () => { if (board.innerText !== before) { seen.disconnect(); requestAnimationFrame(() => done(performance.now() - began)); } };
  const seen = new MutationObserver(look);
  seen.observe(board, { childList: true, subtree: true, characterData: true, attributes: true });
  setTimeout(() => fail(new Error(`${act} changed nothing`)), 20000);
  if (act === "filter") {
    const box = document.querySelector("#q");
    box.value = box.value ? "" : "rows_of_42";
    box.dispatchEvent(new Event("input", { bubbles: true }));
  } else document.querySelector("[aria-label^='More open']").click();
})"""


def visited(browser, site, path):
    """One visit of somebody who comes for the first time."""
    context = browser.new_context(base_url=site.address, viewport=DESKTOP)
    context.request.post(
        "/sign-in",
        form={"token": site.tokens["admin"]},
        headers={"origin": site.address},
        max_redirects=0,
    )
    page = context.new_page()
    page.goto(path)
    page.wait_for_selector("main h1")
    found = page.evaluate(PAINT)
    context.close()
    return found


def acted(browser, site, run, turns):
    """Medians of what a person does on the page of a run."""
    context = browser.new_context(base_url=site.address, viewport=DESKTOP)
    context.request.post(
        "/sign-in",
        form={"token": site.tokens["admin"]},
        headers={"origin": site.address},
        max_redirects=0,
    )
    page = context.new_page()
    page.goto(f"/runs/{run}")
    page.evaluate(WATCH)
    took = {"filter": [], "more": [], "live": []}
    for turn in range(turns):
        took["filter"] += [
            page.evaluate(UNTIL, ["filter", board(page)]),
            page.evaluate(UNTIL, ["filter", board(page)]),
        ]
        if page.locator("[aria-label^='More open']").count():
            took["more"].append(page.evaluate(UNTIL, ["more", board(page)]))
        took["live"].append(live(page, site, run, turn))
    found = {name: statistics.median(each) if each else None for name, each in took.items()}
    found["longest task"] = page.evaluate("window.longest")
    context.close()
    return found


def board(page):
    return page.evaluate("document.querySelector('#part-board').innerText")


def live(page, site, run, turn):
    """From the API's answer to the board that shows it; the count of the column is what changes."""
    count = page.locator("#column-dismissed .count")
    before = count.inner_text()
    with site.client() as client:
        items = client.get(f"/api/runs/{run}/items", params={"status": "open", "limit": 1}).json()[
            "items"
        ]
        told = client.post(
            f"/api/runs/{run}/dismissals",
            json={"numbers": [items[0]["number"]], "why": f"turn {turn}"},
        )
        assert told.status_code == 200, told.text
        began = time.perf_counter()
        page.wait_for_function(
            "before => document.querySelector('#column-dismissed .count').innerText !== before",
            arg=before,
        )
        return (time.perf_counter() - began) * 1000


def repository(folder):
    folder.mkdir()
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (
        ("init", "--quiet"),
        ("commit", "--quiet", "--allow-empty", "--message", "first"),
    ):
        subprocess.run(["git", *who, *command], cwd=folder, check=True)
    return folder


def cold(browser, site, run):
    site.end()
    site.start()
    visited(browser, site, EMPTY)
    return visited(browser, site, f"/runs/{run}")


def shown(name, visits, acts, first):
    middle = {key: statistics.median(visit[key] for visit in visits) for key in visits[0]}
    cells = [middle["answer"], middle["first"], middle["largest"], first and first["first"]]
    cells += [acts.get(key) for key in ("filter", "more", "live", "longest task")]
    times = "".join(f"{cell:>9.0f}" if cell is not None else f"{'':>9}" for cell in cells)
    print(f"{name:<20}{times}{middle['nodes']:>8.0f}{middle['bytes'] / 1024:>7.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", nargs="+", type=int, default=[100, 1000, 10_000])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--within", type=float, default=0, help="milliseconds to a table's paint")
    asked = parser.parse_args()
    if not PROGRAM:
        sys.exit("there is no chromium: install it, or name it with TEST_CHROMIUM")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "site").mkdir()
        site, root = Site(folder / "site"), repository(folder / "repo")
        runs = {
            f"{count:,} items": crowd(site.home, root, count, f"crowd-{count}").run.id
            for count in asked.items
        }
        site.start().register(root)
        with chromium(folder) as browser:
            slowest = measured(browser, site, runs, asked.turns)
        site.end()
    if asked.within and slowest > asked.within:
        sys.exit(f"a table was painted after {slowest:.0f} ms, and {asked.within:.0f} are allowed")


def measured(browser, site, runs, turns):
    tables = {
        f"{name.split()[0]} by {by}": f"/runs/{run}?view=table&by={by}"
        for name, run in runs.items()
        for by in ("rule", "file", "severity")
    }
    boards = {name: f"/runs/{run}?view=board" for name, run in runs.items()}
    paths = {"empty page": EMPTY, **boards, **tables}
    first = {name: cold(browser, site, run) for name, run in runs.items()}
    visits = {name: [] for name in paths}
    for turn in range(turns + 1):
        for name, path in paths.items():
            found = visited(browser, site, path)
            visits[name] += [found] if turn else []  # the first turn warms up
    heads = ("answer", "first", "largest", "cold", "filter", "more", "live", "longest")
    print(f"{'':<20}{''.join(f'{head:>9}' for head in heads)}{'nodes':>8}{'kB':>7}")
    for name in paths:
        acts = acted(browser, site, runs[name], turns) if name in runs else {}
        shown(name, visits[name], acts, first.get(name))
    return max(statistics.median(visit["largest"] for visit in visits[name]) for name in tables)


if __name__ == "__main__":
    main()
