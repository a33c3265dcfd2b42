"""One open punchlist: a state folder, and the repository the user stands in."""

import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from punchlist import __version__
from punchlist.adapters.artifacts import FolderArtifacts
from punchlist.adapters.checkout import Checkout
from punchlist.adapters.reports import REPORTS
from punchlist.adapters.store.lease import Lease
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.adapters.workshop import Workshop, repository_id
from punchlist.app import wiring
from punchlist.app.allowance import Allowance, of_checks, of_settings
from punchlist.app.audit import Audit, audited
from punchlist.app.doctor import Probe, probes
from punchlist.app.prepare import found_checks, prepared, repository_settings
from punchlist.app.request import Prepared, Request
from punchlist.engine import Engine, Limits, Watcher
from punchlist.errors import RepositoryError, UsageError
from punchlist.model import events as ev
from punchlist.model.check import Check
from punchlist.model.run import Run, fold, folded
from punchlist.ports import Analyzer, RunRow, World
from punchlist.settings import Loaded, home_folder, load, pinned, unpinned
from punchlist.workflow import Workflow
from punchlist.workflow.loader import parse


class App:
    def __init__(self, home: Path, store: SqliteStore, checkout: Checkout | None, flags: Mapping[str, str]) -> None:
        self.home = home
        self.store = store
        self.checkout = checkout
        self._flags = dict(flags)

    @classmethod
    async def open(cls, start: Path, flags: Mapping[str, str] | None = None, *, repository: bool = True) -> "App":
        checkout = await Checkout.find(start) if repository else None
        load(None, flags or {})  # a mistake in the settings is told before anything is touched
        home = home_folder()
        return cls(home, SqliteStore.open(home), checkout, flags or {})

    def close(self) -> None:
        self.store.close()

    async def prepare(self, request: Request) -> Prepared:
        return await prepared(request, await self._workshop(), self._allowance, self._flags)

    async def run(self, ready: Prepared, watcher: Watcher) -> Run:
        """Starts a run and drives it to its end, a question or a limit."""
        workshop = await self._workshop()
        run_id = _new_id()
        request = ready.fingerprint(self._repository)
        with Lease.take(self.home, run_id, "" if ready.force else request):
            artifacts = FolderArtifacts(wiring.run_folder(self.home, run_id))
            for index, path in enumerate(ready.documents.values()):
                artifacts.write(_document(index, path), Path(path).read_bytes())
            started = ev.Started(
                repository=self._repository,
                change=ready.change,
                workflow_name=ready.workflow.name,
                workflow=ready.workflow.text,
                settings=pinned(ready.loaded),
                reviewers=ready.reviewers,
                documents=tuple(ready.documents),
                document_files=tuple(_document(index, path) for index, path in enumerate(ready.documents.values())),
                checks=ready.checks,
                checks_allowed=bool(ready.checks_allowed),
                version=__version__,
                request=request,
            )
            entry = self.store.append(run_id, "start", "started", started, time.time())
            run = fold(Run(id=run_id), entry)
            watcher.told(entry, run)
            return await self._drive(run, workshop, watcher)

    async def resume(self, run_id: str, watcher: Watcher) -> Run:
        """Goes on with what the ledger says; scope, settings and workflow are those the run was started with."""
        run = self.load(run_id)
        if run.ended:
            return run
        if run.started is None:
            raise UsageError(f"run {run.id} has no beginning", hint="start a new one with `punchlist run`")
        if (waiting := run.waiting_for) is not None:
            raise UsageError(f"run {run.id} waits for an answer: {waiting.question}", hint=f"punchlist answer {run.id} {'|'.join(waiting.choices)}")
        workshop = await self._workshop()
        if run.started.repository != self._repository:
            raise UsageError(f"run {run.id} is about another repository", hint=f"go to {run.started.repository}")
        with Lease.take(self.home, run.id, run.started.request):
            run = folded(run.id, self.store.read(run.id))
            resumed = ev.Resumed(version=__version__)
            entry = self.store.append(run.id, "signal", f"resumed {run.seq}", resumed, time.time())
            run = fold(run, entry)
            watcher.told(entry, run)
            return await self._drive(run, workshop, watcher)

    async def answer(self, run_id: str, choice: str, by: str) -> Run:
        run = self.load(run_id)
        question = run.waiting_for
        if question is None:
            raise UsageError(f"run {run.id} has no open question", hint=f"punchlist status {run.id}")
        if choice not in question.choices:
            known = ", ".join(f"{key} ({text})" for key, text in question.choices.items())
            raise UsageError(f'"{choice}" is no answer to: {question.question}', hint=f"the answers are {known}")
        with Lease.take(self.home, run.id):
            entry = self.store.append(run.id, question.place, "answer", ev.Answered(choice=choice, by=by), time.time())
            return fold(run, entry)

    def load(self, run_id: str) -> Run:
        found = self.store.find(run_id, self._repository if self.checkout else "")
        return folded(found, self.store.read(found))

    def runs(self) -> list[RunRow]:
        return self.store.runs(self._repository if self.checkout else "")

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

    async def doctor(self) -> list[Probe]:
        return await probes(self.home, self.checkout.root if self.checkout else None)

    def settings(self) -> Loaded:
        return load(None, self._flags)

    def audit(self, run_id: str) -> Audit:
        found = self.store.find(run_id, self._repository if self.checkout else "")
        return audited(found, self.store.read(found))

    def export(self, run_id: str) -> Iterator[bytes]:
        return self.store.export(self.store.find(run_id, self._repository if self.checkout else ""))

    def render(self, run_id: str, form: str) -> bytes:
        name = next((name for name in REPORTS if name.removeprefix("report.").startswith(form)), None)
        if name is None:
            known = ", ".join(name.removeprefix("report.").split(".")[0] for name in REPORTS)
            raise UsageError(f'no report is called "{form}"', hint=f"there are {known}")
        return REPORTS[name](self.load(run_id))

    @property
    def _repository(self) -> str:
        if self.checkout is None:
            raise RepositoryError("this needs a git repository", hint="go to one and try again")
        return str(self.checkout.git_dir)

    @property
    def _allowance(self) -> Allowance:
        if self.checkout is None:
            raise RepositoryError("this needs a git repository", hint="go to one and try again")
        return Allowance(self.home / "repos" / repository_id(self.checkout))

    async def _workshop(self) -> Workshop:
        if self.checkout is None:
            raise RepositoryError("this needs a git repository", hint="go to one and try again")
        return await Workshop.open(self.checkout, self.home)

    async def _drive(self, run: Run, workshop: Workshop, watcher: Watcher) -> Run:
        started = run.started
        if started is None:
            raise UsageError(f"run {run.id} has no beginning")
        loaded = unpinned(started.settings)
        workflow = parse(started.workflow, started.workflow_name, f"{started.workflow_name} (as pinned by run {run.id})")
        limits = loaded.settings.limits
        engine = Engine(
            workflow,
            self._world(run, workshop, loaded),
            self.store,
            Limits(seconds=limits.time, dollars=limits.dollars, width=limits.width),
            watcher,
        )
        return await engine.drive(run)

    def _world(self, run: Run, workshop: Workshop, loaded: Loaded) -> World:
        started = run.started
        folder = wiring.run_folder(self.home, run.id)
        files = dict(zip(started.documents, started.document_files, strict=True)) if started else {}
        due: dict[str, Analyzer] = wiring.documents({name: str(folder / file) for name, file in files.items() if name not in run.reviews})
        change = started.change if started else run.started.change  # type: ignore[union-attr]  # a run that is driven has begun
        return wiring.world(workshop, change, loaded.settings, self.store, folder=folder, given=due)


def _new_id() -> str:
    return f"{time.strftime('%y%m%d')}-{secrets.token_hex(3)}"


def _document(index: int, path: str) -> str:
    return f"findings-{index}-{Path(path).name}"


__all__ = ["App", "Workflow"]
