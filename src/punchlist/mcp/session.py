"""What every tool works with: the repositories named at the start, the ledger, the runs driven
here, the tasks taken.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct

from punchlist.app import Request, Session
from punchlist.app.access import Role
from punchlist.app.drive.background import Driving, rung
from punchlist.app.drive.tasks import Tasks
from punchlist.app.repositories import Registered
from punchlist.app.workspace import Workspace
from punchlist.errors import UsageError
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import OUTSIDE
from punchlist.views.run_state import State, find_state

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


class Desk(Workspace[Driving]):
    def __init__(self, home: Path, repositories: tuple[Registered, ...], options: Options) -> None:
        super().__init__(Session(home, None, {}), Driving(), options.flags)
        self.repositories = repositories
        self.options = options
        self.tasks = Tasks(home, options.name, self.run)

    async def close(self) -> None:
        await self.driving.close()
        self.tasks.release()
        self.session.close()

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
        known = [row.id for row in self.rows_of(self.repositories)]
        if not known:
            raise UsageError("nothing has been run here yet", hint="start_run starts a run")
        if name == "last":
            return self.load(known[0])
        found = [name] if name in known else [run for run in known if run.startswith(name)]
        if len(found) != 1:
            what = (
                f'{len(found)} runs begin with "{name}"' if found else f'there is no run "{name}"'
            )
            raise UsageError(what, hint="list_runs lists them")
        return self.load(found[0])

    def home_of(self, run: Run) -> Registered:
        git_dir = run.started.repository
        return next(each for each in self.repositories if each.git_dir == git_dir)

    def state(self, run: Run) -> State:
        return find_state(run, driven=self.driven(run.id))

    async def begin(
        self, repository: Registered, request: Request, flags: Mapping[str, str]
    ) -> Run:
        """Starts a run; it goes on in the background."""
        return self.load(await self.begin_run(self.opened(repository, flags), lambda: request))

    async def resume(self, run: Run) -> Run:
        await self.resume_run(run.id)
        return self.load(run.id)

    async def stop(self, run: Run, by: str) -> Run:
        """Between two events, whoever drives it."""
        await self.stop_run(run.id, by, _STOPPING)
        return self.load(run.id)

    async def waited(
        self, run: Run, seconds: float, asker: Asker, enough: Callable[[Run], bool]
    ) -> Run:
        """How the run stands when there is enough, or it does not go on, or the time is up."""
        until = time.monotonic() + seconds
        while True:
            bell = self.driving.bell.listen(run.id)
            driven = self.driven(run.id)
            now = self.load(run.id)
            if now.seq != run.seq:
                await asker.tell(now)
            run = now
            left = until - time.monotonic()
            if enough(run) or not driven or left <= 0:
                return run
            await rung(bell, min(_LOOK, left))
