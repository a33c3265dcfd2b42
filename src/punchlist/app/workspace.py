"""What surfaces that stay open share: the ledger at hand, and runs driven in the background."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from msgspec.structs import replace

from punchlist.app.after.dismissals import ItemSelection, dismiss_items
from punchlist.app.drive.answers import answer_run
from punchlist.app.drive.background import RunDriver
from punchlist.app.drive.run_cache import RunCache, read_start
from punchlist.app.drive.stop import stop_run
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.app.repositories import RepositoryEntry
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.stores import PATIENCE
from punchlist.errors import TooManyRuns
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.store import Ledgers
from punchlist.settings import load_settings
from punchlist.views.run_line import RunLine, build_run_line

D = TypeVar("D", bound=RunDriver | ThreadedDriver)


class Workspace(Generic[D]):
    """The runs of some repositories; `flags` are the settings of every session it opens."""

    def __init__(
        self, session: Session, driving: D, flags: Mapping[str, str] | None = None
    ) -> None:
        self.home = session.home
        self.session = session
        self.driving = driving
        self._flags = flags or {}
        self._workflows: dict[str, str] = {}
        self._beginning = 0

    def repository_of(self, run: Run) -> RepositoryEntry:
        raise NotImplementedError

    async def opened(
        self, repository: RepositoryEntry, flags: Mapping[str, str] | None = None
    ) -> Session:
        """Open a session in a repository; the caller closes it."""
        return await Session.open(Path(repository.root), {**self._flags, **(flags or {})})

    async def open_for(self, run: str) -> Session:
        """Open a session in the repository of a run; the caller closes it."""
        return await self.opened(self.repository_of(self.load(run)))

    @property
    def store(self) -> Ledgers:
        return self.session.store

    @cached_property
    def _folded(self) -> RunCache:
        return RunCache(self.store)

    def load(self, run: str) -> Run:
        """Return a run as it is now; only new entries of its ledger are read."""
        return self._folded.load_run(run)

    def rows_of(self, repositories: Iterable[RepositoryEntry]) -> list[RunRow]:
        """Return the runs of these repositories, newest first."""
        found = (self.store.runs(each.git_dir, each.identity) for each in repositories)
        rows = {row.id: row for several in found for row in several}  # clones have the same runs
        return sorted(rows.values(), key=lambda row: (row.started_at, row.id), reverse=True)

    def workflow_of(self, run: str) -> str:
        if run not in self._workflows:
            started = read_start(self.store, run)
            self._workflows[run] = started.workflow_name if started else ""
        return self._workflows[run]

    def is_driven(self, run: str) -> bool:
        return self.driving.is_driving(run) or self.session.driver_of(run) is not None

    def line(self, row: RunRow) -> RunLine:
        return build_run_line(
            row,
            driven=not row.outcome and self.is_driven(row.id),
            outcome=self._folded.find_outcome(row),
            workflow=self.workflow_of(row.id),
        )

    @asynccontextmanager
    async def session_of(self, run: str) -> AsyncIterator[Session]:
        with closing(await self.open_for(run)) as session:
            yield session

    async def begin_run(
        self,
        opening: Awaitable[Session],
        request: Callable[[], Request],
        claim: Callable[[], str] = lambda: "",
    ) -> str:
        """Prepare a run and start it in the background, with the id that `claim` returns for it or
        any other; return its id. The session is closed when the run stops, or if it does not begin.
        """
        session = await opening
        with ExitStack() as undo, self._take_turn():
            undo.callback(session.close)
            ready = await prepare_run(session, request())
            ready = replace(ready, run_id=claim())
            session.state.wait_for(PATIENCE)
            undo.pop_all()
            return await self.driving.begin_run(session, ready)

    async def resume_run(self, run: str) -> None:
        with nullcontext() if self.driving.is_driving(run) else self._take_turn():
            session = await self.open_for(run)
            session.state.wait_for(PATIENCE)
            await self.driving.resume_run(session, run)

    @contextmanager
    def _take_turn(self) -> Iterator[None]:
        """Count a run that begins; raise TooManyRuns if as many as may be are under way."""
        most = load_settings(None, self._flags).settings.serve.runs
        if len(self.driving.list_driven()) + self._beginning >= most:
            what = f"{most} runs are under way, and no more may be at once (serve.runs)"
            raise TooManyRuns(what, hint="try again when one has ended, or stop one")
        self._beginning += 1
        try:
            yield
        finally:
            self._beginning -= 1

    async def stop_run(self, run: str, by: str, seconds: float, here: float | None = None) -> bool:
        """Stop a run between two events, whichever process drives it; return whether it has
        stopped. Wait `seconds` for another process, and `here` seconds for this one.
        """
        if await self.driving.cancel_run(run, by, here):
            over = True
        else:
            async with self.session_of(run) as session:
                over = (await stop_run(session, run, by, seconds)).over
        self.driving.bell.ring(run)
        return over

    async def answer_question(
        self, run: str, said: str | Mapping[str, str], by: str, asked: int
    ) -> Run:
        """Record an answer; `asked` is how many questions the user saw."""
        async with self.session_of(run) as session:
            answered = await answer_run(session, run, said, by, asked=asked)
        self.driving.bell.ring(run)
        return answered

    async def dismiss(
        self, run: str, chosen: ItemSelection, saying: Dismissal, *, undo: bool = False
    ) -> list[int]:
        """Return the numbers of the dismissed items."""
        async with self.session_of(run) as session:
            _, numbers = dismiss_items(session, run, chosen, saying, undo=undo)
        self.driving.bell.ring(run)
        return numbers
