"""What every tool works with: the repositories named at the start, the ledger, the runs driven
here, the tasks taken.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from punchlist.app import Request, Session
from punchlist.app.access import Role
from punchlist.app.drive.background import Driving, rung
from punchlist.app.drive.run_cache import Folded
from punchlist.app.drive.stop import stop
from punchlist.app.drive.tasks import Tasks
from punchlist.app.repositories import Registered
from punchlist.app.run_state import State, state_of
from punchlist.app.start.prepare import prepare_run
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.ports import Artifacts
from punchlist.ports.agent import OUTSIDE

_LOOK = 0.3
_STOPPING = 10.0
"""Seconds that a request waits for another process to stop a run."""

Tell = Callable[[Run], Awaitable[None]]
"""Is told how the run stands while somebody waits."""


class Options(Struct, frozen=True, kw_only=True):
    role: Role = Role.RUN
    name: str = OUTSIDE
    """Which outside agent the client is, as the settings name it."""
    flags: dict[str, str] = {}
    """Settings by name; they count for every run that is started here."""


class Asker(Struct, frozen=True):
    """Whoever calls a tool: the name it gave, and how it hears of progress."""

    name: str
    tell: Tell


class Desk:
    def __init__(self, home: Path, repositories: tuple[Registered, ...], options: Options) -> None:
        self.home = home
        self.repositories = repositories
        self.options = options
        self.driving = Driving()
        self._session = Session(home, None, {})
        self.store = self._session.store
        self._folded = Folded(self.store)
        self.tasks = Tasks(home, options.name, self.run)

    async def close(self) -> None:
        await self.driving.close()
        self.tasks.release()
        self._session.close()

    def repository(self, name: str) -> Registered:
        """By name or id; nothing is made of it but a comparison."""
        found = [each for each in self.repositories if not name or name in (each.id, each.name)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{each.name} ({each.id})" for each in self.repositories)
        what = "which repository is meant?" if found else "no such repository is served here"
        raise UsageError(what, hint=f'give "repository": one of {known}')

    def run(self, name: str) -> Run:
        """The run of that id, or the last one, if it is about a repository that is served here;
        others are not there.
        """
        owners = {
            row.id: row.started_at
            for each in self.repositories
            for row in self.store.runs(each.git_dir)
        }
        if not owners:
            raise UsageError("nothing has been run here yet", hint="start_run starts a run")
        if name == "last":
            return self.now(max(owners, key=lambda run: (owners[run], run)))
        found = [name] if name in owners else [run for run in owners if run.startswith(name)]
        if len(found) != 1:
            what = (
                f'{len(found)} runs begin with "{name}"' if found else f'there is no run "{name}"'
            )
            raise UsageError(what, hint="list_runs lists them")
        return self.now(found[0])

    def now(self, run: str) -> Run:
        return self._folded.load(run)

    def home_of(self, run: Run) -> Registered:
        git_dir = run.started.repository if run.started else ""
        return next(each for each in self.repositories if each.git_dir == git_dir)

    def state(self, run: Run) -> State:
        return state_of(run, driven=self.driven(run.id))

    def driven(self, run: str) -> bool:
        """Whether somebody is at it, here or in another process."""
        return self.driving.drives(run) or self._session.driver_of(run) is not None

    async def opened(
        self, repository: Registered, flags: Mapping[str, str] | None = None
    ) -> Session:
        """A session that stands in the repository; whoever opens it closes it."""
        return await Session.open(Path(repository.root), {**self.options.flags, **(flags or {})})

    async def begin(
        self, repository: Registered, request: Request, flags: Mapping[str, str]
    ) -> Run:
        """Starts a run; it goes on in the background."""
        session = await self.opened(repository, flags)
        with ExitStack() as undo:
            undo.callback(session.close)
            ready = await prepare_run(session, request)
            undo.pop_all()
        return self.now(await self.driving.begin(session, ready))

    async def resume(self, run: Run) -> Run:
        await self.driving.resume(await self.opened(self.home_of(run)), run.id)
        return self.now(run.id)

    async def stop(self, run: Run, by: str) -> Run:
        """Between two events, whoever drives it."""
        if not await self.driving.cancel(run.id, by):
            session = await self.opened(self.home_of(run))
            with ExitStack() as closing:
                closing.callback(session.close)
                await stop(session, run.id, by, _STOPPING)
        return self.now(run.id)

    async def waited(
        self, run: Run, seconds: float, asker: Asker, enough: Callable[[Run], bool]
    ) -> Run:
        """How the run stands when there is enough, or it does not go on, or the time is up."""
        until = time.monotonic() + seconds
        while True:
            bell = self.driving.bell.listen(run.id)
            driven = self.driven(run.id)
            now = self.now(run.id)
            if now.seq != run.seq:
                await asker.tell(now)
            run = now
            left = until - time.monotonic()
            if enough(run) or not driven or left <= 0:
                return run
            await rung(bell, min(_LOOK, left))

    def artifacts(self, run: str) -> Artifacts:
        return self._session.artifacts(run)

    def workflow_of(self, run: str) -> str:
        first = next(iter(self.store.read(run)), None)
        return (
            first.event.workflow_name
            if first is not None and isinstance(first.event, Started)
            else ""
        )
