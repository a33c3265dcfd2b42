"""The terminal view under test: keys are pressed, and what is on the screen is read, until it says what is waited for."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.app import App as Textual
from textual.pilot import Pilot

from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.tui.app import WatchApp
from punchlist.tui.backend import Backend

FLAGS = {"analyzers.enabled": "ruff", "analyzers.select": "E,F,B,UP"}
LONG = 120.0


def screen_text(app: "Textual[None]") -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


class Window:
    def __init__(self, pilot: "Pilot[None]", station: Backend) -> None:
        self.pilot = pilot
        self.station = station
        self.app = pilot.app

    @property
    def text(self) -> str:
        return screen_text(self.app)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*(("space" if letter == " " else letter) for letter in text))

    async def until(self, wanted: str | Callable[[], object], seconds: float = LONG) -> str:
        """Waits for words on the screen, or for something to be so."""
        deadline = time.monotonic() + seconds
        while not (wanted in self.text if isinstance(wanted, str) else wanted()):
            assert time.monotonic() < deadline, f"{wanted!r} never came:\n{self.text}"
            await self.pilot.pause(0.02)
        return self.text

    def run(self):
        return self.station.load(self.app.run_name)


Journey = Callable[[Window], Awaitable[None]]


def opened(
    root: Path,
    home: Path,
    journey: Journey,
    *,
    run="last",
    request: Request | None = None,
    size=(120, 40),
) -> Backend:
    """`request`: a run that the window itself drives. `run`: which one is looked at else; an empty name for the list."""

    async def main() -> Backend:
        station = seat(root, home)
        try:
            name = (
                await _begun(station, root, request) if request else run and station.find_run(run)
            )
            watch = WatchApp(station, name)
            async with watch.run_test(size=size, notifications=True) as pilot:
                await journey(Window(pilot, station))
        finally:
            await station.aclose()
        return station

    return asyncio.run(main())


def seat(root: Path, home: Path) -> Backend:
    return Backend(
        home, RepositoryKey(str(root / ".git")), lambda: Session.open(root, FLAGS), "pat"
    )


async def _begun(station: Backend, root: Path, request: Request) -> str:
    app = await Session.open(root, FLAGS)
    ready = await prepare_run(app, request)
    return await station.drive_run(lambda driving: driving.begin_run(app, ready))
