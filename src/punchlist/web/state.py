"""What every route works with: the state folder, the registered repositories, the ledger, and the
runs driven here.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.store.atomic_write import write_whole
from punchlist.adapters.store.lease import holder
from punchlist.app import App, Request
from punchlist.app.after.dismissals import Chosen
from punchlist.app.drive.background import Said
from punchlist.app.drive.run_cache import Folded
from punchlist.app.drive.stop import stop
from punchlist.app.drive.threaded import Beside
from punchlist.app.drive.unfinished import Unfinished
from punchlist.app.repositories import Registered, Repositories
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Dismissal, Started
from punchlist.model.ledger.run import Run
from punchlist.ports import RunRow
from punchlist.settings import load
from punchlist.views.run_line import RunLine, build_run_line
from punchlist.views.run_state import State, find_state
from punchlist.web.api.fix_sessions.events import Stories
from punchlist.web.api.problem import Refused
from punchlist.web.api.schemas import Document
from punchlist.web.security.idempotency import Keys
from punchlist.web.security.middleware import Hiding
from punchlist.web.security.tokens import Role
from punchlist.web.sse.follow import Following, Pace, followed
from punchlist.web.sse.frames import Frames, sse

_log = logging.getLogger("punchlist")
_MOST_READERS = 900
_CLOSING = 20.0
"""Seconds that a server which stops gives its runs."""
_AT_ONCE = 4
_STOPPING = 10.0
"""Seconds that a request waits for a run to stop."""
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Options(Struct, frozen=True):
    flags: dict[str, str] = {}
    """Settings by name, as given to the server; they count for every run it starts."""
    pace: Pace = Pace()
    resume: bool = False
    """Whether it goes on with what was left in the middle."""


class Asked(Struct, frozen=True, kw_only=True):
    """A run that somebody wants. `whole` is the request as it came: under one `key` there is only
    one.
    """

    whole: bytes
    wish: Callable[[], Request]
    flags: dict[str, str] = {}
    key: str = ""


class Desk:
    def __init__(self, home: Path, options: Options, closing: Callable[[], bool]) -> None:
        self.home = home
        self.options = options
        self.closing = closing
        self.repositories = Repositories(home)
        self.driving = Beside()
        self.keys = Keys(home)
        self.hide = Hiding(home)
        self._app = App(home, None, {})
        self.store = self._app.store
        self.frames = Frames(self.store, self.hide)
        self.stories = Stories(self.store, self.hide)
        self._folded = Folded(self.store)
        self._names: dict[str, str] = {}
        self._readers = 0
        self.onward: dict[str, asyncio.Task[None]] = {}
        """Sessions that do not stop at their plan, until they are past it."""
        self.left: tuple[Unfinished, ...] = ()
        """Runs to go on with as soon as it is opened."""

    async def close(self) -> None:
        await self.driving.close(_CLOSING)
        self._app.close()

    async def go_on(self, runs: Sequence[Unfinished]) -> None:
        """Goes on with runs that were left in the middle, a few at a time; what keeps one from it
        keeps no other.
        """
        turns = asyncio.Semaphore(_AT_ONCE)

        async def one(run: str) -> None:
            async with turns:
                await self.resume(self.run(run))
                await self.driving.settled(run)

        came = await asyncio.gather(*(one(each.run) for each in runs), return_exceptions=True)
        for each, error in zip(runs, came, strict=True):
            if error is not None:
                _log.error("run %s does not go on: %s", each.run, error)

    def repository(self, identifier: str) -> Registered:
        found = self.repositories.find(identifier)
        if found is None:
            raise Refused(
                404, "no such repository is registered", next_="GET /api/repositories lists them"
            )
        return found

    def run(self, identifier: str) -> Run:
        """The run of that id, if it is about a registered repository; others are not there."""
        if not _RUN.fullmatch(identifier) or next(iter(self.store.read(identifier)), None) is None:
            raise _no_run()
        run = self._folded.load(identifier)
        self.home_of(run)
        return run

    def now(self, identifier: str) -> Run:
        """How a run that was found before stands now."""
        return self._folded.load(identifier)

    def home_of(self, run: Run) -> Registered:
        found = self.repositories.of(run.started.repository) if run.started else None
        if found is None:
            raise _no_run()
        return found

    def rows(self, repository: Registered | None) -> list[RunRow]:
        known = [repository] if repository else self.repositories.all()
        rows = [row for each in known for row in self.store.runs(each.git_dir)]
        return sorted(rows, key=lambda row: (row.started_at, row.id), reverse=True)

    def workflow_of(self, run: str) -> str:
        if run not in self._names:
            first = next(iter(self.store.read(run)), None)
            self._names[run] = (
                first.event.workflow_name if first and isinstance(first.event, Started) else ""
            )
        return self._names[run]

    def driven(self, run: str) -> bool:
        """Whether somebody is at it, here or in another process."""
        return self.driving.drives(run) or holder(self.home, run) is not None

    def state(self, run: Run) -> State:
        return find_state(run, driven=self.driven(run.id))

    def line(self, row: RunRow) -> RunLine:
        return build_run_line(
            row,
            driven=self.driven(row.id),
            outcome=self._folded.find_outcome(row),
            workflow=self.workflow_of(row.id),
        )

    def why(self, run: Run) -> str:
        """What a run that does not go on waits for, or came to."""
        if run.waiting_for:
            return run.waiting_for.question
        return f"the session has ended: {run.ended}" if run.ended else self.driving.broke(run.id)

    async def opened(self, repository: Registered, flags: Mapping[str, str] | None = None) -> App:
        """An app that stands in the repository; whoever opens it closes it."""
        return await App.open(Path(repository.root), {**self.options.flags, **(flags or {})})

    def agents(self, names: tuple[str, ...], role: Role) -> dict[str, str]:
        """The setting that asks these agents. Which ones may cost something is for the user to say,
        or for an admin.
        """
        known = load(None, self.options.flags).settings.agents.use
        if not set(names) <= set(known) and not role.may(Role.ADMIN):
            hint = (
                f"those in the settings: {', '.join(known) or 'none'}; others take the role admin"
            )
            raise Refused(403, "these agents are not in use here", next_=hint)
        return {"agents.use": ",".join(names)} if names else {}

    async def begin(self, repository: Registered, asked: Asked) -> str:
        """Starts a run, once for each key."""
        async with self.keys.turn(asked.key):
            run = self.keys.known(
                asked.key, asked.whole, lambda mark, since: self.begun(repository, mark, since)
            )
            if not run:
                app = await self.opened(repository, asked.flags)
                with ExitStack() as undo:
                    undo.callback(app.close)
                    ready = await app.prepare(asked.wish())
                    self.keys.intend(asked.key, asked.whole, ready.fingerprint(repository.git_dir))
                    undo.pop_all()  # from here on whoever drives it closes it
                run = await self.driving.begin(app, ready)
                self.keys.remember(asked.key, asked.whole, run)
        return run

    def begun(self, repository: Registered, fingerprint: str, since: float) -> str:
        """The first run of such a fingerprint since then, or nothing."""
        rows = [row for row in self.store.runs(repository.git_dir) if row.started_at >= since]
        for row in reversed(rows):
            first = next(iter(self.store.read(row.id)), None)
            if (
                first is not None
                and isinstance(first.event, Started)
                and first.event.request == fingerprint
            ):
                return row.id
        return ""

    async def resume(self, run: Run) -> None:
        await self.driving.resume(await self.opened(self.home_of(run)), run.id)

    async def stop(self, run: Run, by: str) -> Run:
        """Stops a run between two events, whoever drives it. One that goes on a
        while was asked to.
        """
        if not await self.driving.cancel(run.id, by, _STOPPING):
            app = await self.opened(self.home_of(run))
            try:
                await stop(app, run.id, by, _STOPPING)
            finally:
                app.close()
        self.driving.bell.ring(run.id)
        return self.run(run.id)

    async def answer(self, run: Run, said: str | dict[str, str], by: str, asked: int = 0) -> Run:
        """`asked`: how many questions there were where the person looked."""
        app = await self.opened(self.home_of(run))
        try:
            await app.answer(run.id, said, by, asked=asked)
        finally:
            app.close()
        self.driving.bell.ring(run.id)
        return self.run(run.id)

    async def dismiss(
        self, run: Run, chosen: Chosen, saying: Dismissal, *, undo: bool = False
    ) -> list[int]:
        """The numbers of the items that it was said of."""
        app = await self.opened(self.home_of(run))
        try:
            _, numbers = app.dismiss(run.id, chosen, saying, undo=undo)
        finally:
            app.close()
        self.driving.bell.ring(run.id)
        return numbers

    def received(self, documents: tuple[Document, ...]) -> tuple[str, ...]:
        """Findings that came with a request, as files: the same ones are the same files, so that
        the same request is known.
        """
        paths = []
        for index, document in enumerate(documents):
            content = document.content.encode(errors="replace")
            digest = msgspec.json.encode((index, document.name)) + content
            paths.append(self.home / "requests" / "findings" / _digest(digest) / document.name)
            write_whole(paths[-1], content)
        return tuple(map(str, paths))

    def follow(self, reader: Following) -> AsyncIterator[bytes]:
        """A stream, if there are not too many: each keeps a connection open."""
        if self._readers >= _MOST_READERS:
            raise Refused(
                429,
                "too many streams are open",
                next_="try again later",
                headers={"retry-after": "10"},
            )
        return self._counted(followed(reader, self.driving, self.options.pace, self.closing))

    async def _counted(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Many may come at once, before any of them is counted: what is too many then ends before
        it begins.
        """
        if self._readers >= _MOST_READERS:
            return
        self._readers += 1
        try:
            async for piece in stream:
                yield piece
        finally:
            self._readers -= 1

    def voice(self, name: str) -> Callable[[Said], bytes]:
        return lambda said: sse(
            self.hide(wire.encode({"label": said.label, "text": said.text})), event=name
        )


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:24]


def _no_run() -> Refused:
    return Refused(404, "there is no such run", next_="GET /api/runs lists them")
