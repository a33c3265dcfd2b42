"""Runs driven in a thread of their own, for whoever must go on meanwhile: a server that answers, a
screen that is drawn.

Reports of ten thousand items take seconds to write, and the loop that writes them does nothing
else.
"""

from functools import cached_property

from punchlist.app.app import App
from punchlist.app.drive.aside import Aside
from punchlist.app.drive.background import Begun, Driving
from punchlist.app.start.request import Prepared


class Beside:
    """The same as Driving, to be asked from any one loop."""

    def __init__(self) -> None:
        self._driving = Driving()
        self.bell = self._driving.bell
        self.talk = self._driving.talk

    @cached_property
    def _aside(self) -> Aside:
        return Aside()

    async def begin(self, app: App, ready: Prepared) -> str:
        return await self._aside.do(lambda: self._driving.begin(app, ready))

    async def resume(self, app: App, run: str) -> str:
        return await self._aside.do(lambda: self._driving.resume(app, run))

    def drives(self, run: str) -> bool:
        return self._driving.drives(run)

    def driven(self) -> tuple[str, ...]:
        return self._driving.driven()

    def under_way(self, run: str) -> tuple[Begun, ...]:
        return self._driving.under_way(run)

    def broke(self, run: str) -> str:
        return self._driving.broke(run)

    async def cancel(self, run: str, by: str = "", seconds: float | None = None) -> bool:
        return self.drives(run) and await self._aside.do(
            lambda: self._driving.cancel(run, by, seconds)
        )

    async def settled(self, run: str) -> None:
        if self.drives(run):
            await self._aside.do(lambda: self._driving.settled(run))

    def stop(self) -> None:
        """Asks all of them to stop, and waits for none."""
        if self._begun:
            self._aside.soon(self._driving.stop)
        self.bell.ring_all()

    async def close(self, seconds: float | None = None) -> None:
        """Stops all of them; one that takes longer is left to the end of the process, and can be
        resumed.
        """
        if not self._begun:
            return
        await self._aside.do(lambda: self._driving.close(seconds))
        if not self.driven():
            await self._aside.aclose()
            del self._aside

    @property
    def _begun(self) -> bool:
        return "_aside" in self.__dict__
