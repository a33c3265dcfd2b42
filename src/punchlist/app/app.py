"""One open punchlist: a state folder, and the repository the user stands in."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from punchlist._version import __version__
from punchlist.adapters.git.apply import Homecoming
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.repository import PREFIX
from punchlist.adapters.git.workshop import Workshop, repository_id
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.reports import REPORTS
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.store.lease import Lease
from punchlist.adapters.store.permissions import keep_private
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.audit import Audit, audited
from punchlist.app.after.branch_state import (
    DISCARDED,
    change_of,
    nothing_landed,
    published,
    standing,
    was_discarded,
)
from punchlist.app.after.clean import drop_workshop, gone_repositories, old_reports
from punchlist.app.after.dismissals import Chosen, dismissals, dismissed, meant
from punchlist.app.after.replay import Replayed, replayed
from punchlist.app.after.rewrite_reports import follow
from punchlist.app.doctor import Probe, answers, probes
from punchlist.app.drive.answers import answered, is_over
from punchlist.app.drive.stop_watcher import obeyed
from punchlist.app.start import wiring
from punchlist.app.start.agents import strike
from punchlist.app.start.allowance import Allowance, of_checks, of_settings
from punchlist.app.start.dry_run import Prompt, rehearsed
from punchlist.app.start.prepare import found_checks, prepared, repository_settings
from punchlist.app.start.request import Prepared, Request
from punchlist.app.start.settings_template import template
from punchlist.app.start.unfiled import debts
from punchlist.engine import Engine, Limits, Watcher
from punchlist.errors import RepositoryError, UsageError
from punchlist.model.checks.check import Check
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.events import Dismissal
from punchlist.model.ledger.fold import fold, folded
from punchlist.model.ledger.outcome import outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import amount
from punchlist.model.patch.change import ScopeKind
from punchlist.ports import RunRow
from punchlist.settings import REPOSITORY_FILE, Loaded, home_folder, load, pinned, unpinned
from punchlist.views.what_if import Rules
from punchlist.workflow.loader import parse


class App:
    def __init__(
        self,
        home: Path,
        checkout: Checkout | None,
        flags: Mapping[str, str],
        *,
        readonly: bool = False,
    ) -> None:
        self.home = home
        self._readonly = readonly
        self.checkout = checkout
        self._flags = dict(flags)

    @classmethod
    async def open(
        cls,
        start: Path,
        flags: Mapping[str, str] | None = None,
        *,
        repository: bool | None = True,
        readonly: bool = False,
    ) -> "App":
        """`readonly` is for those who only look: it works where nothing can be written.
        `repository` None: if there is one.
        """
        checkout = await _around(start, repository)
        load(None, flags or {})  # a mistake in the settings is told before anything is touched
        return cls(home_folder(), checkout, flags or {}, readonly=readonly)

    @cached_property
    def store(self) -> SqliteStore:
        """Opened when it is first needed: the doctor must be able to say that it cannot be."""
        return SqliteStore.open(self.home, readonly=self._readonly)

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()

    async def prepare(self, request: Request) -> Prepared:
        return await prepared(request, await self._workshop(), self._allowance, self._flags)

    async def rehearse(self, ready: Prepared, watcher: Watcher) -> list[Prompt]:
        """What agents would be asked first; none is."""
        return await rehearsed(ready, await self._workshop(), self.store, watcher)

    async def run(self, ready: Prepared, watcher: Watcher) -> Run:
        """Starts a run and drives it to its end, a question or a limit."""
        workshop = await self._workshop()
        run_id = _new_id()
        request = ready.fingerprint(self._repository)
        with Lease.take(self.home, run_id, request, force=ready.force):
            artifacts = FolderArtifacts(wiring.run_folder(self.home, run_id))
            for index, path in enumerate(ready.documents.values()):
                artifacts.write(_document(index, path), _content(path))
            started = ev.Started(
                repository=self._repository,
                change=ready.change,
                workflow_name=ready.workflow.name,
                workflow=ready.workflow.text,
                settings=pinned(ready.loaded),
                reviewers=ready.reviewers,
                documents=tuple(ready.documents),
                document_files=tuple(
                    _document(index, path) for index, path in enumerate(ready.documents.values())
                ),
                checks=ready.checks,
                checks_allowed=bool(ready.checks_allowed),
                version=__version__,
                request=request,
                owed=debts(self.store, self._repository),
                dismissed=dismissals(self.store, self._repository),
                crew=ready.crew,
                outside=ready.outside,
                specification=ready.specification,
                notes=ready.user_notes,
            )
            entry = self.store.append(run_id, "start", "started", started, time.time())
            run = folded(run_id, (entry,))
            watcher.told(entry, run)
            return await self._drive(run, workshop, watcher)

    async def resume(self, run_id: str, watcher: Watcher) -> Run:
        """Goes on with what the ledger says; scope, settings and workflow are those the run was
        started with.
        """
        run = self.load(run_id)
        if is_over(run):
            return run
        workshop = await self._workshop()
        if run.started.repository != self._repository:
            raise UsageError(
                f"run {run.id} is about another repository", hint=f"go to {run.started.repository}"
            )
        with Lease.take(self.home, run.id, run.started.request):
            run = folded(run.id, self.store.read(run.id))
            if is_over(run):  # another drove it meanwhile
                return run
            entry = self.store.append(
                run.id, "signal", f"resumed {run.seq}", ev.Resumed(version=__version__), time.time()
            )
            run = fold(run, entry)
            watcher.told(entry, run)
            return await self._drive(run, workshop, watcher)

    async def answer(
        self, run_id: str, said: str | Mapping[str, str], by: str, *, asked: int = 0
    ) -> Run:
        """A choice, for the question that a run waits with; or texts, by the ids of what agents
        want to know. See `answered`.
        """
        found = self.store.find(run_id, self._repository if self.checkout else "")
        with Lease.take(self.home, found):
            run = self.load(found)
            place, key, event = answered(run, said, by, asked)
            return fold(run, self.store.append(run.id, place, key, event, time.time()))

    def dismiss(
        self, run_id: str, chosen: Chosen, saying: Dismissal, *, undo: bool = False
    ) -> tuple[Run, list[int]]:
        """Somebody who may says that items need no work; later runs remember it, until it is
        undone. Returns which they were.
        """
        found = self.store.find(run_id, self._repository if self.checkout else "")
        with Lease.take(
            self.home, found
        ):  # loaded inside: what another just said is part of what this is about
            run = self.load(found)
            items = meant(run, chosen, undo=undo)
            event = dismissed(run, items, saying, undo=undo)
            run = fold(
                run, self.store.append(run.id, "people", f"dismissal {run.seq}", event, time.time())
            )
            workshop = self.home / "repos" / repository_id(self._standing_in)
            follow(
                run, items, event, folder=wiring.run_folder(self.home, run.id), workshop=workshop
            )
        return run, [item.number for item in items]

    async def who(self) -> str:
        """The user's name, as their git has it; empty where it has none."""
        if self.checkout is None:
            return ""
        named = await self.checkout.theirs.ran("config", "--get", "user.name")
        return named.stdout.decode(errors="replace").strip() if named.ok else ""

    def load(self, run_id: str) -> Run:
        found = self.store.find(run_id, self._repository if self.checkout else "")
        return folded(found, self.store.read(found))

    def runs(self) -> list[RunRow]:
        return self.store.runs(self._repository if self.checkout else "")

    def outcome_of(self, row: RunRow) -> str:
        """What a run comes to now: what it ended with, unless people said something since."""
        return outcome(self.load(row.id)).value if row.amended else row.outcome

    async def standing(self, run: Run) -> str:
        """What became of a run's fixes: applied, discarded, or nothing (yet)."""
        if self.checkout is None or run.started.repository != self._repository:
            return ""
        return await standing(
            self.checkout, run.landing.branch, run.landing.published, run.started.change
        )

    async def standings(self, rows: Sequence[RunRow]) -> dict[str, str]:
        """The same of many runs, of this repository."""
        if self.checkout is None:
            return {}
        tips = published(self.store, self._repository)
        landed = [row.id for row in rows if row.id in tips]
        return {
            run: await standing(
                self.checkout, f"{PREFIX}{run}", tips[run], change_of(self.store, run)
            )
            for run in landed
        }

    async def allow(self, *, revoke: bool = False) -> tuple[Check, ...]:
        """Remembers that the checks found here, and the repository's own settings, may be used."""
        workshop = await self._workshop()
        if revoke:
            self._allowance.revoke()
            return ()
        text = await repository_settings(workshop, workshop.checkout.head)
        loaded = load(text, self._flags)
        checks = await found_checks(workshop, workshop.checkout.head, loaded)
        self._allowance.grant(of_checks(checks), *([of_settings(text)] if text is not None else []))
        return checks

    async def apply(self, run_id: str, *, squash: bool = False) -> str:
        """Brings a run's branch home; the only thing that changes the user's checkout."""
        run = self.load(run_id)
        workshop = await self._workshop()
        if not run.landing.landed:
            raise nothing_landed(run)
        if await self.standing(run) == DISCARDED and await workshop.tip(run.landing.branch) is None:
            raise await was_discarded(run, workshop.checkout)
        home = Homecoming(workshop, WorkTrees(workshop))
        change = run.started.change
        if change.kind is ScopeKind.STAGED:
            applied = await home.apply_staged(run.landing.branch, change.head)
        else:
            applied = await home.apply(run.landing.branch, squash=squash)
        if applied.how == "already":
            return f"{run.landing.branch} is part of your branch already"
        files = "1 file" if len(applied.files) == 1 else f"{len(applied.files)} files"
        return f"{run.landing.branch} applied ({applied.how}): {files} at {applied.commit[:10]}"

    async def discard(self, run_id: str, *, force: bool = False) -> str:
        run = self.load(run_id)
        workshop = await self._workshop()
        with Lease.take(self.home, run.id):
            there = await Homecoming(workshop, WorkTrees(workshop)).discard(
                run.landing.branch, force=force
            )
        return (
            f"{run.landing.branch} is gone; the ledger of run {run.id} stays"
            if there
            else f"run {run.id} has no branch"
        )

    async def clean(
        self, *, reports_older_than: float | None = None, everywhere: bool = False
    ) -> list[str]:
        """Removes work trees nobody uses; the reports of runs that ended so many days ago; what is
        kept of repositories that are gone. Ledgers stay. Returns what it did, a line each.
        """
        said = []
        if self.checkout is not None and (trees := WorkTrees(await self._workshop()).prune()):
            said.append(f"removed {amount(trees, 'work tree')}")
        if reports_older_than is not None:
            gone = old_reports(self.home, self.runs(), time.time() - reports_older_than * 86400)
            said += (
                [f"removed the reports of {amount(len(gone), 'run')}: {', '.join(gone)}"]
                if gone
                else []
            )
        if everywhere:
            repositories = gone_repositories(self.home, self.store.runs())
            said += [
                f"removed what was kept of {repository}, which is gone"
                for repository in repositories
            ]
        return said

    async def leave(self) -> None:
        """The repository is about to go: so do its workshop and its work trees."""
        drop_workshop(self.home / "repos" / repository_id(self._standing_in))

    async def init(self) -> Path:
        """Writes a commented settings file into the checkout; never over one that is there."""
        checkout = self._standing_in
        path = checkout.root / REPOSITORY_FILE
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(
                    template(
                        await found_checks(
                            await self._workshop(), checkout.head, load(None, self._flags)
                        )
                    )
                )
        except FileExistsError:
            raise UsageError(
                f"{path} is there already", hint="edit it, or remove it first"
            ) from None
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        return path

    async def doctor(self, *, ask: bool = False) -> list[Probe]:
        """What is there; with `ask`, also whether the agents in use answer, which costs."""
        settings = self.settings().settings
        found = await probes(self.home, self.checkout.root if self.checkout else None, settings)
        return [*found, *await answers(self.home, settings)] if ask else found

    def settings(self) -> Loaded:
        return load(None, self._flags)

    def audit(self, run_id: str) -> Audit:
        found = self.store.find(run_id, self._repository if self.checkout else "")
        return audited(
            found, self.store.read(found), (line.rstrip(b"\n") for line in self.store.export(found))
        )

    def replay(self, run_id: str, rules: Rules) -> Replayed:
        """Folds a recorded run again, offline, and says what other rules would have made of it."""
        found = self.store.find(run_id, self._repository if self.checkout else "")
        written = [line.rstrip(b"\n") for line in self.store.export(found)]
        return replayed(
            found,
            list(self.store.read(found)),
            written,
            FolderArtifacts(wiring.run_folder(self.home, found)),
            rules,
        )

    def export(self, run_id: str) -> Iterator[bytes]:
        return self.store.export(self.store.find(run_id, self._repository if self.checkout else ""))

    def render(self, run_id: str, form: str) -> bytes:
        name = next(
            (name for name in REPORTS if name.removeprefix("report.").startswith(form)), None
        )
        if name is None:
            known = ", ".join(name.removeprefix("report.").split(".")[0] for name in REPORTS)
            raise UsageError(f'no report is called "{form}"', hint=f"there are {known}")
        return REPORTS[name](self.load(run_id))

    @property
    def _standing_in(self) -> Checkout:
        if self.checkout is None:
            raise RepositoryError("this needs a git repository", hint="go to one and try again")
        return self.checkout

    @property
    def _repository(self) -> str:
        return str(self._standing_in.git_dir)

    @property
    def _allowance(self) -> Allowance:
        return Allowance(self.home / "repos" / repository_id(self._standing_in))

    async def _workshop(self) -> Workshop:
        checkout = self._standing_in
        with suppress(OSError):  # the workshop, or the ledger, says what cannot be made
            keep_private(self.home)
        return await Workshop.open(checkout, self.home)

    async def _drive(self, run: Run, workshop: Workshop, watcher: Watcher) -> Run:
        started = run.started
        limits = unpinned(started.settings).settings.limits
        workflow = parse(
            started.workflow,
            started.workflow_name,
            f"{started.workflow_name} (as pinned by run {run.id})",
        )
        folder = wiring.run_folder(self.home, run.id)
        engine = Engine(
            workflow,
            wiring.world(workshop, run, started, self.store, folder, watcher.heard),
            self.store,
            Limits(seconds=limits.time, dollars=limits.dollars, width=limits.width),
            watcher,
        )
        return strike(await obeyed(folder, engine.drive, run), folder)


async def _around(start: Path, needed: bool | None) -> Checkout | None:  # noqa: FBT001 - three answers, not two
    if needed is False:
        return None
    try:
        return await Checkout.find(start)
    except RepositoryError:
        if needed:
            raise
        return None


def _new_id() -> str:
    return f"{time.strftime('%y%m%d')}-{secrets.token_hex(3)}"


def _content(path: str) -> bytes:
    """A file of findings that was there a moment ago."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read any more: {error.strerror}",
            hint="give the path of a findings file",
        ) from error


def _document(index: int, path: str) -> str:
    return f"findings-{index}-{Path(path).name}"
