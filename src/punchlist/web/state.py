"""What every route works with: the state folder, the registered repositories, the ledger, and the
runs driven here.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.app import Request, Session
from punchlist.app.access import Role
from punchlist.app.drive.background import Said
from punchlist.app.drive.run_cache import read_start
from punchlist.app.drive.threaded import Beside
from punchlist.app.drive.unfinished import Unfinished
from punchlist.app.repositories import Registered, Repositories
from punchlist.app.start.findings_files import keep_findings
from punchlist.app.workspace import Workspace
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RunRow
from punchlist.settings import load
from punchlist.views.run_state import State, find_state
from punchlist.web.problem import Refused
from punchlist.web.schemas import Document
from punchlist.web.security.hiding import Hiding
from punchlist.web.security.idempotency import Keys
from punchlist.web.sse.follow import Following, Pace, followed
from punchlist.web.sse.frames import Frames, sse
from punchlist.web.sse.stories import Stories

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


class Desk(Workspace[Beside]):
    def __init__(self, home: Path, options: Options, closing: Callable[[], bool]) -> None:
        super().__init__(Session(home, None, {}), Beside(), options.flags)
        self.options = options
        self.closing = closing
        self.repositories = Repositories(home)
        self.keys = Keys(home)
        self.hide = Hiding(home)
        self.frames = Frames(self.store, self.hide)
        self.stories = Stories(self.store, self.hide)
        self._readers = 0
        self.onward: dict[str, asyncio.Task[None]] = {}
        """Sessions that do not stop at their plan, until they are past it."""
        self.left: tuple[Unfinished, ...] = ()
        """Runs to go on with as soon as it is opened."""

    async def close(self) -> None:
        await self.driving.close(_CLOSING)
        self.session.close()

    async def go_on(self, runs: Sequence[Unfinished]) -> None:
        """Goes on with runs that were left in the middle, a few at a time; what keeps one from it
        keeps no other.
        """
        turns = asyncio.Semaphore(_AT_ONCE)

        async def one(run: str) -> None:
            async with turns:
                await self.resume_run(self.run(run).id)
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
        run = self.load(identifier)
        self.home_of(run)
        return run

    def home_of(self, run: Run) -> Registered:
        found = self.repositories.of(run.started.repository)
        if found is None:
            raise _no_run()
        return found

    def rows(self, repository: Registered | None) -> list[RunRow]:
        return self.rows_of([repository] if repository else self.repositories.all())

    def state(self, run: Run) -> State:
        return find_state(run, driven=self.driven(run.id))

    def why(self, run: Run) -> str:
        """What a run that does not go on waits for, or came to."""
        if run.waiting_for:
            return run.waiting_for.question
        return f"the session has ended: {run.ended}" if run.ended else self.driving.broke(run.id)

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
                run = await self.begin_run(
                    self.opened(repository, asked.flags),
                    asked.wish,
                    lambda ready: self.keys.intend(
                        asked.key, asked.whole, ready.fingerprint(repository.git_dir)
                    ),
                )
                self.keys.remember(asked.key, asked.whole, run)
        return run

    def begun(self, repository: Registered, fingerprint: str, since: float) -> str:
        """The first run of such a fingerprint since then, or nothing."""
        rows = [row for row in self.store.runs(repository.git_dir) if row.started_at >= since]
        for row in reversed(rows):
            started = read_start(self.store, row.id)
            if started is not None and started.request == fingerprint:
                return row.id
        return ""

    async def stop(self, run: Run, by: str) -> Run:
        """Stops a run between two events, whoever drives it. One that goes on a
        while was asked to.
        """
        await self.stop_run(run.id, by, _STOPPING, here=_STOPPING)
        return self.run(run.id)

    async def answer(self, run: Run, said: str | dict[str, str], by: str, asked: int = 0) -> Run:
        """`asked`: how many questions there were where the person looked."""
        await self.answer_question(run.id, said, by, asked)
        return self.run(run.id)

    def received(self, documents: tuple[Document, ...]) -> tuple[str, ...]:
        """Findings that came with a request, as files: the same ones are the same files, so that
        the same request is known.
        """
        return tuple(
            keep_findings(
                self.home,
                document.name,
                document.content.encode(errors="replace"),
                msgspec.json.encode((index, document.name)),
            )
            for index, document in enumerate(documents)
        )

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


def _no_run() -> Refused:
    return Refused(404, "there is no such run", next_="GET /api/runs lists them")
