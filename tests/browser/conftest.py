"""What tests of the dashboard share: a real server in a child process, a real Chromium, and axe to judge pages with."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import DESKTOP, PATIENCE, PROGRAM, Watch, chromium
from playwright.sync_api import Browser, Page
from sites import Site
from workbench import Workbench

import needs
import npm

HERE = Path(__file__).parent
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for a module: while playwright is at work nobody else in this process can run an event loop."""
    if not PROGRAM:
        needs.miss(
            "THE DASHBOARD IS NOT TESTED: there is no chromium; install it, or name it with TEST_CHROMIUM"
        )
    with chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    modules, trouble = npm.installed(HERE / "package.json")
    if trouble:
        needs.miss(f"WHETHER PAGES ARE ACCESSIBLE IS NOT TESTED: {trouble}")
    return (modules / "axe-core" / "axe.min.js").read_text()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A server for a test alone; it is not started yet."""
    site = Site(tmp_path)
    yield site
    site.end()


@pytest.fixture
def bench(repo: Any, tmp_path: Path, site: Site) -> Workbench:
    """A branch with four faults that no tool sees, to be played on by a script."""
    return Workbench(repo, tmp_path)


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens pages of a server as somebody with a role, in a window of their own. None may complain or ask another server."""
    watches: list[Watch] = []
    contexts = []

    def open_(
        site: Site,
        path: str = "/",
        role: str = "admin",
        *,
        expect: tuple[str, ...] = (),
        **look: Any,
    ) -> Page:
        look = {"viewport": DESKTOP, "color_scheme": "light", "reduced_motion": "reduce", **look}
        watch = Watch(site.address)
        watch.expect(*expect)
        context = watch.over(browser.new_context(base_url=site.address, **look))
        context.set_default_timeout(PATIENCE)
        watches.append(watch)
        contexts.append(context)
        if role:
            signed = context.request.post(
                "/sign-in",
                form={"token": site.tokens[role]},
                headers={"origin": site.address},
                max_redirects=0,
            )
            assert signed.status == 303, signed.text()
        page = context.new_page()
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [complaint for watch in watches for complaint in watch.complaints] == []
