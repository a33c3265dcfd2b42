"""The documentation as a site: it is built without a warning, and works from files, without a server or the network."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from chromium import DESKTOP, PATIENCE, PROGRAM, Watch, chromium
from playwright.sync_api import Page, expect

from needs import miss

ROOT = Path(__file__).parents[2]


def build(folder: Path, to: Path) -> str:
    """Build the site of a folder as `make site` does; return why that failed, or an empty string."""
    if find_spec("mkdocs") is None:
        miss("NOT TESTED: mkdocs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", to]
    assert "mkdocs build --strict\n" in (ROOT / "Makefile").read_text("utf-8")
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=folder, env=env, check=False, capture_output=True, text=True, timeout=300
    )
    return done.stdout + done.stderr if done.returncode else ""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert build(ROOT, folder) == ""
    return folder


@pytest.fixture(scope="module")
def page(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if not PROGRAM:
        miss("NOT TESTED: there is no chromium")
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        watch = Watch(f"file://{site}")
        context = watch.over(browser.new_context(viewport=DESKTOP))
        context.set_default_timeout(PATIENCE)
        yield context.new_page()
        assert watch.complaints == []


def test_every_page_of_the_docs_is_in_the_navigation(site: Path):
    start = (site / "index.html").read_text("utf-8")
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    places = [str(page.with_suffix(".html")).replace("README", "index") for page in pages]
    assert [place for place in places if f'href="{place}"' not in start] == []


def test_nothing_is_loaded_from_elsewhere(site: Path):
    loaded = ('src="http', "src=//", "@import", "fonts.googleapis", 'rel="stylesheet" href="http')
    assert [
        f"{page.relative_to(site)}: {text}"
        for page in site.rglob("*.html")
        for text in loaded
        if text in page.read_text("utf-8")
    ] == []


def test_search_finds_a_page_from_files(page: Page, site: Path):
    page.goto(f"file://{site}/guides/ci.html")
    page.locator(".md-search__input").press_sequentially("monorepos")
    found = page.locator(".md-search-result__link").first
    expect(found).to_contain_text("Monorepos", timeout=PATIENCE)
    found.click()
    expect(page.locator("h1")).to_contain_text("Monorepos")
    assert page.url.startswith(f"file://{site}/guides/monorepos.html")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[there](gone.md)", "gone.md"),
        ("[there](other.md#gone)", "#gone"),
        ("", "not included in the"),
    ],
)
def test_a_link_that_leads_nowhere_or_a_page_that_is_not_listed_fails_the_build(
    tmp_path: Path, text: str, complaint: str
):
    settings = (ROOT / "mkdocs.yml").read_text("utf-8").replace("hooks:", "#")
    listed = "[index.md, other.md]" if text else "[index.md]"
    (tmp_path / "mkdocs.yml").write_text(f"{settings}nav: {listed}\n", "utf-8")
    (tmp_path / "docs/assets").mkdir(parents=True)
    (tmp_path / "docs/assets/iframe-worker.js").touch()
    (tmp_path / "docs/index.md").write_text(f"# Start\n\n{text}\n")
    (tmp_path / "docs/other.md").write_text("# Other\n")
    assert complaint in build(tmp_path, tmp_path / "site")
