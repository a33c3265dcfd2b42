"""Let the analyzers look at files as they are saved; the run is recorded only if a user wants."""

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.registry import build_analyzers
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.git.working_tree import snapshot_working_tree
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.reports import REPORTS
from punchlist.adapters.store.memory import MemoryStore
from punchlist.app.after.dismissals import load_dismissals, rewrite_reports
from punchlist.app.gate.shared_files import load_gate
from punchlist.app.session import Session
from punchlist.app.start import wiring
from punchlist.app.start.agents import RunFiles
from punchlist.app.start.allowance import survey_code
from punchlist.app.start.prepare import check_settings, load_trusted
from punchlist.app.start.request import Prepared
from punchlist.app.start.start import make_run_id
from punchlist.engine import Engine, Limits
from punchlist.model.ledger.events import Entry, Started
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.steps import Action
from punchlist.workflow.loader import load_workflow

_NOTE = "these are files as they were saved in an editor, not those of a commit"


class EditorLook(Struct, frozen=True, kw_only=True):
    """A review of saved files; `run` and `entries` are in memory until `record_look`."""

    run: Run
    entries: tuple[Entry, ...]
    changed: frozenset[str]
    """Paths of the files that differ from the last commit."""


class _NoWatcher:
    """Watcher of a run that is not shown."""

    def handle_start(self, place: str, action: Action) -> None:
        pass

    def handle_event(self, entry: Entry, run: Run) -> None:
        pass

    def handle_output(self, label: str, piece: str) -> None:
        pass

    def handle_delay(self, text: str) -> None:
        pass


async def review_saved_files(session: Session, paths: Sequence[str]) -> EditorLook | None:
    """Review these files of the checkout as they are saved, with the analyzers only: no agent is
    asked. None if git ignores all of them, or has none of them.
    """
    workshop, base = await session.workshop(), session.required_checkout.head
    head = (await snapshot_working_tree(workshop, paths)).commit
    listing = await workshop.list_tree(head)
    known = tuple(path for path in paths if path in listing)
    if not known:
        return None
    change = Change(kind=ScopeKind.ALL, base=base, head=head, paths=known, notes=(_NOTE,))
    memory = MemoryStore()
    started = await _prepare(session, workshop, change)
    entry = memory.append(make_run_id(), "start", "started", started, time.time())
    run = fold_entries(entry.run, (entry,))
    with temporary_folder("punchlist-look-") as name:
        folder = name / "runs" / run.id
        folder.mkdir(parents=True)
        world = wiring.build_world(workshop, run, started, session.store, RunFiles.below(folder))
        # The real reports are written if the look is recorded.
        world = replace(world, reports=dict.fromkeys(REPORTS, lambda run: b"-"))
        engine = Engine(load_workflow("review"), world, memory, Limits(), _NoWatcher())
        run = await engine.drive(run)
    if not run.ended:  # the engine records that it was cancelled, and returns
        raise asyncio.CancelledError
    changed = frozenset(await workshop.git.list_changed(base, head))
    return EditorLook(run=run, entries=tuple(memory.entries), changed=changed)


async def _prepare(session: Session, workshop: Workshop, change: Change) -> Started:
    """Return the first event of a look: trusted settings and baseline, allowed analyzers."""
    _, loaded = await load_trusted(session, workshop, change.base, allow=None)
    check_settings(loaded)
    settings = loaded.settings.analyzers
    kit = Kit(checkout=workshop.checkout.root, tracked=workshop.tracked_environments)
    tools = build_analyzers(settings, kit)
    allows = session.allowance.covers
    code = await survey_code(workshop, change.base, settings, tools, allows)
    gate = await load_gate(workshop, change, session.flags)
    ready = Prepared(
        change=change,
        workflow=load_workflow("review"),
        loaded=loaded,
        reviewers=tuple(tools),
        configurations=code,
        gate=gate,
    )
    known = load_dismissals(session.store, session.key) | gate.dismissed
    started = ready.started(session.repository)
    return replace(started, keep="", dismissed=known, identity=session.key.identity or "")


def is_look(run: Run) -> bool:
    """Return whether the run is a recorded look."""
    return _NOTE in run.started.change.notes


def record_look(session: Session, look: EditorLook) -> Run:
    """Write the look to the ledger, as any run is; once is enough. Return the run."""
    with session.state.leases.acquire(look.run.id):
        for each in look.entries:
            session.store.append(each.run, each.place, each.key, each.event, each.at)
        run = session.load(look.run.id)
        rewrite_reports(session, run)
    return run
