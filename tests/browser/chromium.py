"""A real Chromium without a window, and pages that are watched: what goes wrong in one, or leaves the machine, is written down."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    sync_playwright,
)

from machine import ENVIRONMENT

PROGRAM = (
    ENVIRONMENT.get("TEST_CHROMIUM")
    or shutil.which("chromium-headless-shell")  # the same engine in half the time
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or ""
)
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 812}
PATIENCE = 30_000
"""Milliseconds until what should come is given up: machines are busy."""


@contextmanager
def chromium(home: Path) -> Iterator[Browser]:
    """`home` is where it may leave what it leaves."""
    env = {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=PROGRAM, args=list(ARGUMENTS), env=env, timeout=2 * PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """All that pages of one server must not do: complain, fail, or ask anybody else."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.complaints: list[str] = []
        self._expected: list[str] = []

    def expect(self, *texts: str) -> None:
        """Complaints with such a text are no fault from now on: the test itself brings them about."""
        self._expected += texts

    def over(self, context: BrowserContext) -> BrowserContext:
        context.on("page", self._page)
        context.on("request", self._request)
        return context

    def _page(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", self._broken)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._complain(
                f"console {message.type}: {message.text} at {message.location.get('url', '')}"
            )

    def _broken(self, error: Error) -> None:
        self._complain(f"page error: {error}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self._address}/", "data:", "about:")):
            self._complain(f"request to {request.url}")

    def _complain(self, what: str) -> None:
        if not any(text in what for text in self._expected):
            self.complaints.append(what)
