"""Puts the adapters behind the ports: what a run's world is made of."""

import time
from collections.abc import Collection
from pathlib import Path

from punchlist.adapters.analyzers.registry import analyzers, suppressions_of
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.checks import Runner
from punchlist.adapters.compare import Comparison
from punchlist.adapters.documents.document import Document
from punchlist.adapters.fixers import Edits
from punchlist.adapters.git.repository import GitRepository
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.reports import WRITTEN
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.start.agents import Hear, Stage
from punchlist.app.start.tracker import tracker
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.ports.analyzer import Analyzer
from punchlist.ports.world import World
from punchlist.settings import Settings, unpinned


def _unheard(label: str, piece: str) -> None:
    """Nobody listens."""


def run_folder(home: Path, run_id: str) -> Path:
    return home / "runs" / run_id


def reviewers(settings: Settings, checkout: Path) -> dict[str, Analyzer]:
    """Those that a run which begins now would have."""
    return analyzers(settings.analyzers, Kit(checkout=checkout))


def _documents(started: Started, folder: Path, heard: Collection[str]) -> dict[str, Analyzer]:
    files = zip(started.documents, started.document_files, strict=True)
    return {
        name: Document.open(folder / file, name=name) for name, file in files if name not in heard
    }


def world(  # noqa: PLR0913, PLR0917  # all that a run's world is made of
    workshop: Workshop,
    run: Run,
    started: Started,
    store: SqliteStore,
    folder: Path,
    hear: Hear = _unheard,
) -> World:
    """`folder` is the run's own; documents that were heard already are not read again."""
    loaded = unpinned(started.settings)
    settings = loaded.settings
    suppressions = suppressions_of(settings.analyzers)
    trees = WorkTrees(workshop)
    artifacts = FolderArtifacts(folder)
    stage = Stage(started.crew, settings, folder, artifacts)
    return World(
        change=started.change,
        trees=trees,
        repository=GitRepository(workshop, trees, when=int(run.started_at)),
        # Those it began with, whatever is installed by now: who is gone has to say so.
        analyzers=analyzers(
            settings.analyzers, Kit(checkout=workshop.checkout.root), started.reviewers
        ),
        documents=_documents(started, folder, run.reviewing.reviews),
        fixers={"edits": Edits(suppressions)},
        checks=Runner(
            workshop.checkout.root,
            hidden=(workshop.folder.parents[1],),
            protected=settings.protected,
        ),
        tracker=tracker(loaded, workshop),
        artifacts=artifacts,
        cache=store,
        reports=WRITTEN,
        protected=settings.protected,
        suppressions=suppressions,
        clock=time.time,
        crew=stage.crew(hear),
        answered=stage.answered,
        comparer=Comparison(
            workshop.checkout.root,
            checks=started.checks,
            hidden=(workshop.folder.parents[1],),
            protected=settings.protected,
        ),
    )
