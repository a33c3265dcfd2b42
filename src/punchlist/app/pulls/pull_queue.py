"""Answer the pull requests that forges give notice of, in the background of a server."""

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from punchlist.adapters.backoff import retry_delay
from punchlist.app.pulls.notice_answer import BY, NoticeAnswer, NoticeResult
from punchlist.app.pulls.registered import RegisteredNames, has_clone
from punchlist.app.pulls.webhooks import FORGES, find_secret
from punchlist.app.repositories import RepositoryEntry
from punchlist.app.workspace import Workspace
from punchlist.errors import AlreadyRunning, PunchlistError
from punchlist.ports.serving.pull_notices import KeptNotice, PullNotice, Taken
from punchlist.ports.state import Lease
from punchlist.settings import load_settings

_log = logging.getLogger("punchlist")
_AT_ONCE, _IN_FLEET = 4, 16
"""How many are answered at once by this server: with its own runs, or those of workers."""
_WAITING = 1000
_POLL = 1.0
_IDLE = 5.0
"""Seconds between two looks for notices that other servers took, or left."""
_FIRST = 5.0
_LONGEST = 900.0
"""Seconds before the second try, and the most between two."""
_OLDEST = 7 * 86400
"""Seconds after which a pull request that could not be answered is given up."""

Key = tuple[str, int]


class _Active(Struct):
    """A pull request that is being answered here. `run` is '' until there is one."""

    stamp: str
    run: str = ""


class PullQueue:
    """Pull requests that wait to be answered, each once, kept in the state: a newer notice takes
    the place of one that waits, and stops the run that answers an older commit. All servers of one
    state take them; what a server has not answered when it dies, the next one answers.
    """

    def __init__(self, space: Workspace[Any]) -> None:
        self._space = space
        self._names = RegisteredNames(space)
        self._active: dict[Key, _Active] = {}
        self._filled = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def find_repository(self, notice: PullNotice) -> RepositoryEntry | None:
        """Return the registered repository that a notice is about, or None."""
        return await self._names.find(notice)

    async def put(self, place: str, notice: PullNotice, keys: Sequence[str]) -> Taken:
        """Keep a notice durably, once for its keys; FULL if too many wait."""
        notices = self._space.session.state.pulls
        taken = await asyncio.to_thread(notices.put, place, notice, keys, _WAITING)
        self._filled.set()
        return taken

    async def work(self) -> None:
        """Answer what is put, a few at once, until it is cancelled."""
        try:
            while True:
                self._filled.clear()
                pause = await self._look()
                try:
                    async with asyncio.timeout(pause):
                        await self._filled.wait()
                except TimeoutError:
                    continue
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _look(self) -> float:
        """Begin what may be answered now; return the seconds until the next look."""
        try:
            kept = await asyncio.to_thread(self._space.session.state.pulls.list_all)
            waiting = [each for each in kept if not each.over]
            known, forges = self._list_ours() if waiting else ({}, frozenset())
            for each in waiting:
                if active := self._active.get(each.key):
                    await self._supersede(active, each)
                elif self._has_place and not each.rest and each.notice.forge in forges:
                    await self._begin(each, known.get(each.place))
        except PunchlistError as error:
            _log.warning("notices of forges cannot be read: %s", error)
            return _IDLE
        return _POLL if waiting else _IDLE

    @property
    def _has_place(self) -> bool:
        in_fleet = self._space.session.state.queue is not None
        return len(self._active) < (_IN_FLEET if in_fleet else _AT_ONCE)

    def _list_ours(self) -> tuple[dict[str, RepositoryEntry], frozenset[str]]:
        """Return the registered repositories, and the forges whose notices this server takes."""
        settings = load_settings(None, self._space.session.flags).settings.webhooks
        forges = frozenset(name for name in FORGES if find_secret(name, settings))
        known = self._space.session.state.repositories.list_all()
        return {each.id: each for each in known}, forges

    async def _begin(self, kept: KeptNotice, repository: RepositoryEntry | None) -> None:
        notices = self._space.session.state.pulls
        if repository is not None and not has_clone(repository):
            return  # it is on another machine, whose server answers it
        try:
            lease = await asyncio.to_thread(notices.hold, *kept.key)
        except AlreadyRunning:
            return  # another server answers it
        found = notices.find(*kept.key)
        if found is None or found.over or found.rest:
            lease.release()
            return
        self._active[found.key] = _Active(found.stamp)
        task = asyncio.create_task(self._answer(found, repository, lease))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._finish(found.key, done))

    def _finish(self, key: Key, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log.error("what became of a pull request is not recorded", exc_info=error)
        self._active.pop(key, None)
        self._filled.set()

    async def _answer(
        self, kept: KeptNotice, repository: RepositoryEntry | None, lease: Lease
    ) -> None:
        try:
            result = NoticeResult(why="its repository is not registered any more", over=True)
            if repository is not None:
                result = await self._try(kept, repository, lease)
            if not lease.lost:
                self._record(kept, result)
        finally:
            lease.release()

    async def _try(
        self, kept: KeptNotice, repository: RepositoryEntry, lease: Lease
    ) -> NoticeResult:
        active = self._active[kept.key]

        def note_run(run: str) -> None:
            active.run = run
            self._filled.set()

        try:
            return await NoticeAnswer(self._space, repository, kept, lease, note_run).answer()
        except Exception as error:  # noqa: BLE001 - of one pull request; it is shown and tried again
            _log.exception("a pull request is not answered")
            return NoticeResult(why=f"{type(error).__name__}: {error}")

    def _record(self, kept: KeptNotice, result: NoticeResult) -> None:
        """Forget the notice, put it off, or give it up; a newer one is left as it is."""
        notices, notice = self._space.session.state.pulls, kept.notice
        about = f"pull request {notice.repository} {notice.number}"
        if not result.why:
            notices.finish(kept)
        elif result.over or kept.age > _OLDEST:
            if notices.give_up(kept, result.why):
                _log.error("%s is not answered: %s", about, result.why)
        else:
            luck = random.random()  # noqa: S311 - no secret
            pause = retry_delay(kept.tries + 1, luck, first=_FIRST, longest=_LONGEST)
            seconds = result.seconds or pause
            if notices.put_off(kept, result.why, seconds):
                _log.warning(
                    "%s is not answered yet, again in %.0f s: %s", about, seconds, result.why
                )

    async def _supersede(self, active: _Active, newer: KeptNotice) -> None:
        """Stop the run of an older commit; what asks only for a look at comments stops nothing."""
        head, run = newer.notice.head, active.run
        if newer.stamp == active.stamp or not run:
            return
        active.stamp = newer.stamp
        if not head:
            return
        try:
            found = self._space.load(run)
            if not found.ended and found.started.change.head != head:
                await self._space.stop_run(run, BY, 0, here=0)
        except PunchlistError as error:
            _log.warning("run %s is not stopped for %s: %s", run, BY, error)
