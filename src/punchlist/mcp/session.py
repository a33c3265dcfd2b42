"""What every tool works with: the repositories named at the start, the ledger, the runs driven
here, the tasks taken.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.agents.outside.agent import KIND
from punchlist.adapters.agents.outside.mailbox import Handed, Mailbox, Task
from punchlist.adapters.agents.registry import AGENTS
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import repository_id
from punchlist.adapters.store.lease import Lease, holder
from punchlist.app import App, Request
from punchlist.app.access import Role
from punchlist.app.drive.background import Driving, rung
from punchlist.app.drive.run_cache import Folded
from punchlist.app.drive.stop import stop
from punchlist.app.repositories import Registered
from punchlist.app.start.agents import mail_folder
from punchlist.app.start.wiring import run_folder
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.ports import RunRow
from punchlist.settings import load
from punchlist.views.run_line import RunLine, build_run_line
from punchlist.views.run_state import State, find_state

_LOOK = 0.3
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_STOPPING = 10.0
"""Seconds that a request waits for another process to stop a run."""

Tell = Callable[[Run], Awaitable[None]]
"""Is told how the run stands while somebody waits."""


class Options(Struct, frozen=True, kw_only=True):
    role: Role = Role.RUN
    name: str = KIND
    """Which outside agent the client is, as the settings name it."""
    flags: dict[str, str] = {}
    """Settings by name; they count for every run that is started here."""


class Asker(Struct, frozen=True):
    """Whoever calls a tool: the name it gave, and how it hears of progress."""

    name: str
    tell: Tell


def fit_name(name: str, flags: Mapping[str, str]) -> None:
    """Refuses to call the client by the name of an agent that punchlist starts itself."""
    own = load(None, flags).settings.agent.get(name)
    kind = own.kind if own and own.kind else name
    if not _NAME.fullmatch(name) or (kind in AGENTS and kind != KIND):
        raise UsageError(
            f"--as {name}:"
            f" {'is no name' if not _NAME.fullmatch(name) else f'punchlist starts {kind} itself'}",
            hint=f'a name of letters and digits, or that of an agent with kind = "{KIND}"',
        )


async def standing_in(folders: list[Path]) -> tuple[Registered, ...]:
    """The repositories around these folders, each once."""
    found: dict[str, Registered] = {}
    for folder in folders:
        checkout = await Checkout.find(folder)
        known = repository_id(checkout)
        root = checkout.root
        found[known] = Registered(
            id=known, name=root.name, root=str(root), git_dir=str(checkout.git_dir)
        )
    return tuple(found.values())


class Desk:
    def __init__(self, home: Path, repositories: tuple[Registered, ...], options: Options) -> None:
        self.home = home
        self.repositories = repositories
        self.options = options
        self.driving = Driving()
        self._app = App(home, None, {})
        self.store = self._app.store
        self._folded = Folded(self.store)
        self._taken: dict[str, Lease] = {}

    async def close(self) -> None:
        await self.driving.close()
        for lease in self._taken.values():
            lease.release()
        self._app.close()

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
        return find_state(run, driven=self.driven(run.id))

    def line(self, row: RunRow) -> RunLine:
        return build_run_line(
            row,
            driven=self.driven(row.id),
            outcome=self._folded.find_outcome(row),
            workflow=self.workflow_of(row.id),
        )

    def driven(self, run: str) -> bool:
        """Whether somebody is at it, here or in another process."""
        return self.driving.drives(run) or holder(self.home, run) is not None

    async def opened(self, repository: Registered, flags: Mapping[str, str] | None = None) -> App:
        """An app that stands in the repository; whoever opens it closes it."""
        return await App.open(Path(repository.root), {**self.options.flags, **(flags or {})})

    async def begin(
        self, repository: Registered, request: Request, flags: Mapping[str, str]
    ) -> Run:
        """Starts a run; it goes on in the background."""
        app = await self.opened(repository, flags)
        with ExitStack() as undo:
            undo.callback(app.close)
            ready = await app.prepare(request)
            undo.pop_all()
        return self.now(await self.driving.begin(app, ready))

    async def resume(self, run: Run) -> Run:
        await self.driving.resume(await self.opened(self.home_of(run)), run.id)
        return self.now(run.id)

    async def stop(self, run: Run, by: str) -> Run:
        """Between two events, whoever drives it."""
        if not await self.driving.cancel(run.id, by):
            app = await self.opened(self.home_of(run))
            with ExitStack() as closing:
                closing.callback(app.close)
                await stop(app, run.id, by, _STOPPING)
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

    def mailbox(self, run: str) -> Mailbox:
        return Mailbox(mail_folder(run_folder(self.home, run)))

    def open_tasks(self, run: Run) -> tuple[Task, ...]:
        return self.mailbox(run.id).open(self.options.name)

    def take(self, run: Run, who: str, *, another: bool) -> Task | None:
        """A task that is this client's already, else one that nobody has; with `another` only the
        latter.
        """
        box, tasks = self.mailbox(run.id), self.open_tasks(run)
        mine = [task for task in tasks if _name(run, task) in self._taken]
        if mine and not another:
            return mine[0]
        for task in tasks:
            if (
                _name(run, task) not in self._taken
                and (lease := box.take(task.id, who)) is not None
            ):
                self._taken[_name(run, task)] = lease
                return task
        return None

    def task(self, name: str, who: str) -> tuple[Run, Task]:
        """A task that this client has; one that nobody has is its own from now on, so that it can
        answer after a restart.
        """
        run, task = self._found(name)
        if name not in self._taken:
            lease = self.mailbox(run.id).take(task.id, who)
            if lease is None:
                raise UsageError(
                    f"task {name} was taken by another client",
                    hint="next_task gives you one of your own",
                )
            self._taken[name] = lease
        return run, task

    def hand_in(self, name: str, text: str, who: str) -> Run:
        run, task = self.task(name, who)
        wrong = self.mailbox(run.id).hand_in(task.id, Handed(text=text, by=who))
        self.give_back(name)
        if wrong:
            raise UsageError(
                f"task {name}: {wrong}", hint=f"next_task of run {run.id} says what comes now"
            )
        return run

    def give_back(self, name: str) -> bool:
        """Whether it was this client's."""
        lease = self._taken.pop(name, None)
        if lease is not None:
            lease.release()
        return lease is not None

    def _found(self, name: str) -> tuple[Run, Task]:
        run_id, _, task_id = name.partition("/")
        run = self.run(run_id)
        if run.id != run_id:
            raise UsageError(f"there is no task {name}", hint="name it as next_task does")
        box = self.mailbox(run.id)
        task = box.find(task_id)
        if task is None or task.agent != self.options.name:
            gone = box.withdrawn(task_id)
            self.give_back(name)
            raise UsageError(
                f"task {name} is over: {gone}" if gone else f"there is no task {name}",
                hint="next_task gives you the next one; what was not answered in time comes again",
            )
        if run.ended:
            raise UsageError(
                f"run {run.id} has ended without task {name}", hint="start_run starts another"
            )
        return run, task

    def workflow_of(self, run: str) -> str:
        first = next(iter(self.store.read(run)), None)
        return (
            first.event.workflow_name
            if first is not None and isinstance(first.event, Started)
            else ""
        )


def _name(run: Run, task: Task) -> str:
    return f"{run.id}/{task.id}"
