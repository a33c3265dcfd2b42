"""What every route works with: state folder, repositories, ledger, driven runs."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.app.access import Role
from punchlist.app.after.kept_results import remove_kept
from punchlist.app.after.trends import TrendReader
from punchlist.app.drive.background import AgentOutput
from punchlist.app.drive.fleet import load_fleet
from punchlist.app.drive.run_cache import read_start
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.app.drive.unfinished import UnfinishedRun
from punchlist.app.pulls.listing import list_notices, list_pulls
from punchlist.app.pulls.pull_queue import PullQueue
from punchlist.app.repositories import Repositories, RepositoryEntry
from punchlist.app.session import Session
from punchlist.app.start.findings_files import keep_findings
from punchlist.app.start.request import Request
from punchlist.app.start.start import choose_run_id
from punchlist.app.workspace import Workspace
from punchlist.errors import AlreadyRunning, PunchlistError
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RunRow
from punchlist.settings import load_settings
from punchlist.views.request_fields import RUN_ID
from punchlist.views.run_state import State, find_state
from punchlist.views.tables.fleet import Fleet
from punchlist.views.tables.pulls import NoticeLine, PullLine
from punchlist.views.tables.trends import Trends
from punchlist.web.problem import Refused
from punchlist.web.schemas import Document
from punchlist.web.security.hiding import PathMasker
from punchlist.web.security.idempotency import IdempotencyKeys
from punchlist.web.sse.follow import Pace, Subscription, follow_run
from punchlist.web.sse.frames import FrameCache, encode_sse
from punchlist.web.sse.stories import FixFrames

_log = logging.getLogger("punchlist")
_MOST_READERS = 900
_CLOSING = 20.0
"""Seconds that a server which stops gives its runs."""
_AT_ONCE = 4
_BEGINNING = 10.0
"""Seconds that a request waits for another server which begins its run."""
_POLL = 0.1
_STOPPING = 10.0
"""Seconds that a request waits for a run to stop."""
_CLEANING = 6 * 3600.0
"""Seconds between two looks for results that were kept long enough."""
_RUN = re.compile(RUN_ID)


class Options(Struct, frozen=True):
    flags: dict[str, str] = {}
    """Settings by name, as given to the server; they count for every run it starts."""
    resume: bool = False
    """Whether it goes on with what was left in the middle."""


class RunRequest(Struct, frozen=True, kw_only=True):
    """A run that a client wants. `body`: what it sent; one `key` stands for one body."""

    body: bytes
    make: Callable[[], Request]
    flags: dict[str, str] = {}
    key: str = ""


class WebSession(Workspace[ThreadedDriver]):
    def __init__(self, home: Path, options: Options, closing: Callable[[], bool]) -> None:
        super().__init__(Session(home, None, options.flags), ThreadedDriver(), options.flags)
        self.options = options
        self.closing = closing
        state = self.session.state
        self.repositories = Repositories(state.repositories)
        self.keys = IdempotencyKeys(state.keys, self.has_begun)
        self.hide = PathMasker(home)
        self.frames = FrameCache(self.store, self.hide)
        self.stories = FixFrames(self.store, self.hide)
        state.wait_for(0)
        notices = state.watch(self._ring)
        self._pace = Pace(told=lambda: notices.live)
        self._trends = TrendReader()
        self._reading = asyncio.Lock()
        self._readers = 0
        self.pulls = PullQueue(self)
        """Pull requests that forges gave notice of."""
        self.onward: dict[str, asyncio.Task[None]] = {}
        """Sessions that do not stop at their plan, until they are past it."""
        self.left: tuple[UnfinishedRun, ...] = ()
        """Runs to go on with as soon as it is opened."""

    def _ring(self, run: str) -> None:
        if run:
            self.driving.bell.ring(run)
        else:
            self.driving.bell.ring_all()

    async def opened(
        self, repository: RepositoryEntry, flags: Mapping[str, str] | None = None
    ) -> Session:
        """Open a session that does not wait for the database: other requests would wait, too."""
        session = await super().opened(repository, flags)
        session.state.wait_for(0)
        return session

    async def close(self) -> None:
        await self.driving.close(_CLOSING)
        self.session.close()

    async def resume_left(self, runs: Sequence[UnfinishedRun]) -> None:
        """Resume unfinished runs, a few at a time; an error of one stops no other."""
        turns = asyncio.Semaphore(_AT_ONCE)

        async def resume_one(run: str) -> None:
            async with turns:
                await self.resume_run(self.find_run(run).id)
                await self.driving.wait_settled(run)

        resuming = (resume_one(each.run) for each in runs)
        results = await asyncio.gather(*resuming, return_exceptions=True)
        for each, error in zip(runs, results, strict=True):
            if error is not None:
                _log.error("run %s does not go on: %s", each.run, error)

    async def clean_results(self) -> None:
        """Remove results that were kept long enough, now and every few hours."""
        while True:
            try:
                keep = load_settings(None, self.options.flags).settings.keep
                for line in await remove_kept(keep):
                    _log.warning("%s", line)
            except PunchlistError as error:
                _log.warning("old results were not removed: %s", error)
            await asyncio.sleep(_CLEANING)

    def find_repository(self, identifier: str) -> RepositoryEntry:
        found = self.repositories.find(identifier)
        if found is None:
            raise Refused(
                404, "no such repository is registered", "GET /api/repositories lists them"
            )
        return found

    def find_run(self, identifier: str) -> Run:
        """Return the run; refuse with 404 if its repository is not registered."""
        if not _RUN.fullmatch(identifier) or next(iter(self.store.read(identifier)), None) is None:
            raise _no_run()
        run = self.load(identifier)
        self.repository_of(run)
        return run

    def repository_of(self, run: Run) -> RepositoryEntry:
        found = self.repositories.find_owner(run.started.repository, run.started.identity)
        if found is None:
            raise _no_run()
        return found

    def list_rows(self, repository: RepositoryEntry | None) -> list[RunRow]:
        return self.rows_of([repository] if repository else self.repositories.list_all())

    async def load_trends(self, repository: RepositoryEntry, limit: int) -> Trends:
        """Return the repository's runs over time; ledgers that are new are read in a thread."""
        async with self._reading:
            read = self._trends.open_trends
            return await asyncio.to_thread(read, self.session, repository.key, limit)

    async def load_fleet(self) -> Fleet:
        """Return what all processes do with runs of registered repositories, and all costs; read in
        a thread.
        """
        names = {each.git_dir: each.name for each in self.repositories.list_all()}
        return await asyncio.to_thread(load_fleet, self.session, time.time(), names.get)

    async def load_pulls(self) -> tuple[PullLine, ...]:
        """Return the pull requests of registered repositories; their runs are read in a thread."""
        known = self.repositories.list_all()
        return await asyncio.to_thread(list_pulls, self.store, known, self.is_driven)

    async def load_notices(self) -> tuple[NoticeLine, ...]:
        """Return the notices of forges that are not answered yet, read in a thread."""
        kept = await asyncio.to_thread(self.session.state.pulls.list_all)
        return list_notices(kept, self.repositories.list_all())

    def run_state(self, run: Run) -> State:
        return find_state(run, driven=self.is_driven(run.id))

    def explain_state(self, run: Run) -> str:
        """Return the run's question, its outcome, or why it broke off."""
        if run.waiting_for:
            return run.waiting_for.question
        if run.ended:
            return f"the session has ended: {run.ended}"
        return self.driving.failure_reason(run.id)

    def agent_settings(self, names: tuple[str, ...], role: Role) -> dict[str, str]:
        """Return the setting that names these agents; those not in use need the role admin."""
        known = load_settings(None, self.options.flags).settings.agents.use
        if not set(names) <= set(known) and not role.includes(Role.ADMIN):
            listed = ", ".join(known) or "none"
            hint = f"those in the settings: {listed}; others take the role admin"
            raise Refused(403, "these agents are not in use here", hint)
        return {"agents.use": ",".join(names)} if names else {}

    async def begin(self, repository: RepositoryEntry, asked: RunRequest) -> str:
        """Start a run, once for each key; return its id."""
        async with self.keys.lock_key(asked.key):
            if run := self.keys.find_run(asked.key, asked.body):
                return run
            try:
                return await self.begin_run(
                    self.opened(repository, asked.flags),
                    asked.make,
                    lambda: self.keys.claim_run(
                        asked.key, asked.body, choose_run_id(self.session.state)
                    ),
                )
            except AlreadyRunning as error:
                if self.keys.is_claimed(asked.key, error.run) and (
                    run := await self._await_begun(asked)
                ):
                    return run
                raise

    async def _await_begun(self, asked: RunRequest) -> str:
        """Return the run that another server begins for this key at this moment, or ''."""
        until = time.monotonic() + _BEGINNING
        while not (run := self.keys.find_run(asked.key, asked.body)):
            if time.monotonic() > until:
                return ""
            await asyncio.sleep(_POLL)
        return run

    def has_begun(self, run: str) -> bool:
        return read_start(self.store, run) is not None

    async def stop(self, run: Run, by: str) -> Run:
        """Stop a run between two events, whichever process drives it; that may take a while."""
        await self.stop_run(run.id, by, _STOPPING, here=_STOPPING)
        return self.find_run(run.id)

    async def answer_run(
        self, run: Run, answer: str | dict[str, str], by: str, asked: int = 0
    ) -> Run:
        """`asked`: how many questions there were when the user looked."""
        await self.answer_question(run.id, answer, by, asked)
        return self.find_run(run.id)

    def store_findings(self, documents: tuple[Document, ...]) -> tuple[str, ...]:
        """Write a request's findings to files; the same findings give the same files."""
        return tuple(
            keep_findings(
                self.home,
                document.name,
                document.content.encode(errors="replace"),
                msgspec.json.encode((index, document.name)),
            )
            for index, document in enumerate(documents)
        )

    def open_stream(self, reader: Subscription) -> AsyncIterator[bytes]:
        """Return a stream; refuse it if too many are open."""
        if self._readers >= _MOST_READERS:
            later = {"retry-after": "10"}
            raise Refused(429, "too many streams are open", "try again later", headers=later)
        return self._count_reader(follow_run(reader, self.driving, self._pace, self.closing))

    async def _count_reader(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Count the reader; end at once if too many came at the same time."""
        if self._readers >= _MOST_READERS:
            return
        self._readers += 1
        try:
            async for piece in stream:
                yield piece
        finally:
            self._readers -= 1

    @property
    def readers(self) -> int:
        """How many streams are open."""
        return self._readers

    def ledger_end(self, run: str) -> bytes | None:
        """Return the last frame of a run's stream; None while the run goes on."""
        over = self.load(run).ended and not self.driving.is_driving(run)
        return encode_sse(b"{}", event="end") if over else None

    def output_encoder(
        self, name: str, about: Callable[[str], dict[str, Any]] = lambda label: {}
    ) -> Callable[[AgentOutput], bytes]:
        """Return what makes frames of agents' output; `about` adds fields by the call's label."""

        def encode(output: AgentOutput) -> bytes:
            data = {"label": output.label, "text": output.text, **about(output.label)}
            return encode_sse(self.hide(wire.encode(data)), event=name)

        return encode


def _no_run() -> Refused:
    return Refused(404, "there is no such run", "GET /api/runs lists them")
