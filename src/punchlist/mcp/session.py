"""What all tools share: repositories, the ledger, runs driven here, tasks taken."""

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct

from punchlist.app.access import Role
from punchlist.app.drive.background import RunDriver, wait_ring
from punchlist.app.drive.tasks import Tasks
from punchlist.app.repositories import RepositoryEntry, find_owner
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.app.workspace import Workspace
from punchlist.errors import UsageError
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import match_run
from punchlist.ports.agent import OUTSIDE
from punchlist.views.run_state import State, find_state

_LOOK = 0.3
_CANDIDATES = 8
_STOPPING = 10.0
"""Seconds that a request waits for another process to stop a run."""


class Options(Struct, frozen=True, kw_only=True):
    role: Role = Role.RUN
    name: str = OUTSIDE
    """Which outside agent the client is, as the settings name it."""
    flags: dict[str, str] = {}
    """Settings by name; they count for every run that is started here."""


class Caller(Struct, frozen=True):
    """The client that calls a tool; `tell` sends it the run's progress while it waits."""

    name: str
    tell: Callable[[Run], Awaitable[None]]


class McpSession(Workspace[RunDriver]):
    def __init__(
        self, home: Path, repositories: tuple[RepositoryEntry, ...], options: Options
    ) -> None:
        super().__init__(Session(home, None, {}), RunDriver(), options.flags)
        self.repositories = repositories
        self.options = options
        self.tasks = Tasks(home, options.name, self.find_run)

    async def close(self) -> None:
        await self.driving.close()
        self.tasks.release_all()
        self.session.close()

    def find_repository(self, name: str) -> RepositoryEntry:
        """Return the repository of that name or id; raise UsageError unless exactly one fits."""
        found = [each for each in self.repositories if not name or name in (each.id, each.name)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{each.name} ({each.id})" for each in self.repositories)
        what = "which repository is meant?" if found else "no such repository is served here"
        raise UsageError(what, hint=f'give "repository": one of {known}')

    def find_run(self, name: str) -> Run:
        """Return the run whose id has that part, or the "last"; raise UsageError if none has."""
        known = [row.id for row in self.rows_of(self.repositories)]
        if not known:
            raise UsageError("nothing has been run here yet", hint="start_run starts a run")
        if name == "last":
            return self.load(known[0])
        found = match_run(name, known)
        if len(found) != 1:
            several = f"{len(found)} runs have it in their id: {', '.join(found[:_CANDIDATES])}"
            what = f'"{name}": {several}' if found else f'there is no run "{name}"'
            raise UsageError(what, hint="list_runs lists them")
        return self.load(found[0])

    def repository_of(self, run: Run) -> RepositoryEntry:
        found = find_owner(self.repositories, run.started.repository, run.started.identity)
        if found is None:
            raise UsageError(f"run {run.id} is about no repository here", hint="list_runs")
        return found

    def run_state(self, run: Run) -> State:
        return find_state(run, driven=self.is_driven(run.id))

    async def start_run(
        self, repository: RepositoryEntry, request: Request, flags: Mapping[str, str]
    ) -> Run:
        return self.load(await self.begin_run(self.opened(repository, flags), lambda: request))

    async def resume(self, run: Run) -> Run:
        await self.resume_run(run.id)
        return self.load(run.id)

    async def stop(self, run: Run, by: str) -> Run:
        """Stop the run between two events, whichever process drives it."""
        await self.stop_run(run.id, by, _STOPPING)
        return self.load(run.id)

    async def wait_until(
        self, run: Run, seconds: float, caller: Caller, enough: Callable[[Run], bool]
    ) -> Run:
        """Wait until `enough`, the run is not driven, or the time is up; return the run then."""
        until = time.monotonic() + seconds
        while True:
            bell = self.driving.bell.listen(run.id)
            driven = self.is_driven(run.id)
            now = self.load(run.id)
            if now.seq != run.seq:
                await caller.tell(now)
            run = now
            left = until - time.monotonic()
            if enough(run) or not driven or left <= 0:
                return run
            await wait_ring(bell, min(_LOOK, left))
