"""Connect the adapters to the ports of a run."""

import time
from collections.abc import Collection
from pathlib import Path

from punchlist.adapters.analyzers.registry import build_analyzers, suppressions_of
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.checks import LocalCheckRunner
from punchlist.adapters.compare import Comparison
from punchlist.adapters.documents.document import FindingsDocument
from punchlist.adapters.fixers import EditFixer
from punchlist.adapters.git.repository import GitRepository
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.reports import WRITTEN
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.start.agents import Hear, RunAgents
from punchlist.app.start.tracker import make_tracker
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.ports.analyzer import Analyzer
from punchlist.ports.world import World
from punchlist.settings import Settings, decode_settings


def _ignore_output(label: str, piece: str) -> None: ...


def run_folder(home: Path, run_id: str) -> Path:
    return home / "runs" / run_id


def make_reviewers(settings: Settings, checkout: Path) -> dict[str, Analyzer]:
    """Return the analyzers that a run starting now would have."""
    return build_analyzers(settings.analyzers, Kit(checkout=checkout))


def _open_documents(started: Started, folder: Path, heard: Collection[str]) -> dict[str, Analyzer]:
    files = zip(started.documents, started.document_files, strict=True)
    return {
        name: FindingsDocument.open(folder / file, name=name)
        for name, file in files
        if name not in heard
    }


def build_world(  # noqa: PLR0913, PLR0917  # all that a run's world is made of
    workshop: Workshop,
    run: Run,
    started: Started,
    store: SqliteStore,
    folder: Path,
    hear: Hear = _ignore_output,
) -> World:
    """`folder` is the run's own; documents already reviewed are not read again."""
    loaded = decode_settings(started.settings)
    settings = loaded.settings
    suppressions = suppressions_of(settings.analyzers)
    trees = WorkTrees(workshop)
    artifacts = FolderArtifacts(folder)
    stage = RunAgents(started.crew, settings, folder, artifacts)
    return World(
        change=started.change,
        trees=trees,
        repository=GitRepository(workshop, trees, when=int(run.started_at)),
        # Those it began with, whatever is installed by now: who is gone has to say so.
        analyzers=build_analyzers(
            settings.analyzers, Kit(checkout=workshop.checkout.root), started.reviewers
        ),
        documents=_open_documents(started, folder, run.reviewing.reviews),
        fixers={"edits": EditFixer(suppressions)},
        checks=LocalCheckRunner(
            workshop.checkout.root,
            hidden=(workshop.folder.parents[1],),
            protected=settings.protected,
        ),
        tracker=make_tracker(loaded, workshop),
        artifacts=artifacts,
        cache=store,
        reports=WRITTEN,
        protected=settings.protected,
        suppressions=suppressions,
        clock=time.time,
        crew=stage.make_crew(hear),
        answered=stage.has_answer,
        comparer=Comparison(
            workshop.checkout.root,
            checks=started.checks,
            hidden=(workshop.folder.parents[1],),
            protected=settings.protected,
        ),
    )
