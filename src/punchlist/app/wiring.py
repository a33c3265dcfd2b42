"""Puts the adapters behind the ports: what a run's world is made of."""

import time
from collections.abc import Mapping
from pathlib import Path

from punchlist.adapters.analyzers import analyzers
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.artifacts import FolderArtifacts
from punchlist.adapters.checks import Runner
from punchlist.adapters.documents.document import Document
from punchlist.adapters.fixers import Edits
from punchlist.adapters.reports import REPORTS
from punchlist.adapters.repository import GitRepository
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.adapters.trackers.files import FilesTracker
from punchlist.adapters.workshop import Workshop
from punchlist.adapters.worktree import WorkTrees
from punchlist.model.change import Change
from punchlist.ports import Analyzer, World
from punchlist.settings import Settings


def run_folder(home: Path, run_id: str) -> Path:
    return home / "runs" / run_id


def reviewers(settings: Settings, checkout: Path) -> dict[str, Analyzer]:
    return analyzers(settings.analyzers, Kit(checkout=checkout))


def documents(files: Mapping[str, str]) -> dict[str, Analyzer]:
    return {name: Document.open(Path(path)) for name, path in files.items()}


def world(
    workshop: Workshop, change: Change, settings: Settings, store: SqliteStore, *, folder: Path, given: Mapping[str, Analyzer]
) -> World:
    trees = WorkTrees(workshop)
    issues = Path(settings.track.folder).expanduser() if settings.track.folder else workshop.folder / "issues"
    return World(
        change=change,
        trees=trees,
        repository=GitRepository(workshop, trees),
        analyzers=reviewers(settings, workshop.checkout.root),
        documents=given,
        fixers={"edits": Edits()},
        checks=Runner(workshop.checkout.root),
        tracker=FilesTracker(issues),
        artifacts=FolderArtifacts(folder),
        cache=store,
        reports=REPORTS,
        protected=settings.protect,
        clock=time.time,
    )
