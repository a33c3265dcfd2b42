"""Connect the adapters to the ports of a run."""

import shutil
import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from punchlist.adapters.analyzers.registry import (
    build_analyzers,
    build_unsuppressed,
    identify_analyzer,
    list_files_seen,
    list_languages,
    suppressions_of,
    undeclared_analyzers,
)
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.fixers import EditFixer
from punchlist.adapters.git.repository import GitRepository
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.reports import WRITTEN, WRITTEN_BY_REVIEW
from punchlist.adapters.sandbox.sandbox import SandboxWishes
from punchlist.app.start.agents import Hear, RunAgents, RunFiles, open_spending
from punchlist.app.start.results import make_results
from punchlist.app.start.tracker import make_tracker
from punchlist.errors import UsageError
from punchlist.model.checks.protected import Protected, protect_files
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.ports.agent import Agent
from punchlist.ports.analyzer import Analyzer
from punchlist.ports.artifacts import Artifacts, Cache
from punchlist.ports.checks import CheckRunner
from punchlist.ports.compare import Comparer
from punchlist.ports.world import World
from punchlist.settings import (
    LoadedSettings,
    Settings,
    decode_settings,
    load_settings,
    restore_values,
)
from punchlist.views.run_state import is_review

if TYPE_CHECKING:
    from punchlist.adapters.agents.spending import Spending
    from punchlist.adapters.fleet.shared_repository import MeetingPlace

T = TypeVar("T")
_LEAST_ROOM = 16_384
"""Bytes; a disk with less is full."""


def build_world(  # noqa: PLR0913, PLR0917  # all that a run's world is made of
    workshop: Workshop,
    run: Run,
    started: Started,
    cache: Cache,
    files: RunFiles,
    hear: Hear = lambda label, piece: None,
    *,
    own_agents: Mapping[str, Agent] | None = None,
    flags: Mapping[str, str] | None = None,
    place: "MeetingPlace | None" = None,
    spending: "Spending | None" = None,
) -> World:
    """`own_agents` are those of a program that uses the library; `flags`
    are settings of this process, for what a run does not store: the values of variables; `place`:
    where the workers of a fleet leave commits for each other; `spending`: what counts the money of
    a run that several workers spend.
    """
    loaded = _load_settings(started, flags or {})
    settings, checkout = loaded.settings, workshop.checkout.root
    suppressions = suppressions_of(settings.analyzers)
    trees, artifacts = WorkTrees(workshop), files.artifacts
    spending = spending or open_spending(files.folder, settings.limits.dollars, run.usage)
    agents = RunAgents(started.crew, settings, files, spending, own=own_agents)
    hidden = (workshop.folder.parents[1],)
    wishes = settings.sandbox.wishes
    kit = _make_kit(workshop, started, wishes, hidden)
    protected = _protect_files(started, settings)
    # Those the run began with: one that is not installed any more reports that.
    tools = (*started.reviewers, *started.judges)
    analyzers = build_analyzers(settings.analyzers, kit, tools)
    return World(
        change=started.change,
        trees=trees,
        repository=_open_repository(workshop, trees, int(run.started_at), wishes, place),
        analyzers=analyzers,
        unsuppressed=build_unsuppressed(settings.analyzers, kit, tools),
        undeclared=undeclared_analyzers(settings.analyzers),
        files_seen=partial(list_files_seen, analyzers),
        identify=partial(identify_analyzer, analyzers),
        unreviewed=settings.analyzers.unreviewed,
        leave_out=settings.analyzers.left_out,
        languages=list_languages(settings.analyzers),
        documents=_open_documents(run, artifacts),
        fixers={"edits": EditFixer(suppressions)},
        checks=_make_later(
            lambda: _make_runner(checkout, hidden=hidden, protected=protected, wishes=wishes)
        ),
        tracker=make_tracker(loaded, workshop),
        artifacts=artifacts,
        results=make_results(settings.keep),
        cache=cache,
        reports=WRITTEN if started.keep or not is_review(run) else WRITTEN_BY_REVIEW,
        protected=protected,
        suppressions=suppressions,
        clock=time.time,
        crew=agents.make_crew(hear, _read_prompts(started, artifacts)),
        has_room=lambda: shutil.disk_usage(workshop.folder).free > _LEAST_ROOM,
        answered=agents.has_answer,
        forget_answer=agents.forget_answer,
        subscribe=agents.notices.subscribe,
        collect_cut_calls=spending.collect_cut,
        comparer=_make_later(
            lambda: _make_comparer(
                checkout, checks=started.checks, hidden=hidden, protected=protected, wishes=wishes
            )
        ),
    )


def _open_repository(
    workshop: Workshop,
    trees: WorkTrees,
    when: int,
    wishes: SandboxWishes,
    place: "MeetingPlace | None",
) -> GitRepository:
    if place is None:
        return GitRepository(workshop, trees, when=when, wishes=wishes)
    from punchlist.adapters.fleet.shared_repository import SharedRepository

    shared = SharedRepository(workshop, trees, when=when, wishes=wishes)
    shared.place = place
    return shared


class _Later:
    """Stands for an adapter that is imported and made when it is first used."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)

    @cached_property
    def _made(self) -> Any:
        return self._make()


def _make_later(make: Callable[[], T]) -> T:
    return cast("T", _Later(make))


def _make_runner(checkout: Path, **chosen: Any) -> CheckRunner:
    from punchlist.adapters.checks.runner import LocalCheckRunner

    return LocalCheckRunner(checkout, **chosen)


def _make_comparer(checkout: Path, **chosen: Any) -> Comparer:
    from punchlist.adapters.compare import Comparison

    return Comparison(checkout, **chosen)


def _load_settings(started: Started, flags: Mapping[str, str]) -> LoadedSettings:
    """Return the settings of a run, with the values of its agents' variables as they are today."""
    loaded = decode_settings(started.settings)
    if needed := {name for players in started.crew.values() for name in players}:
        loaded = restore_values(loaded, load_settings(None, flags), needed)
    return loaded


def _protect_files(started: Started, settings: Settings) -> Protected:
    own = (path for check in started.checks for path in check.files)
    named = (path for each in started.configurations for path in each.named)
    return protect_files(settings.protected, own, named)


def _make_kit(
    workshop: Workshop, started: Started, wishes: SandboxWishes, hidden: tuple[Path, ...]
) -> Kit:
    """Return what analyzers are built with."""
    return Kit(
        checkout=workshop.checkout.root,
        tracked=workshop.tracked_environments,
        configurations={each.analyzer: each for each in started.configurations},
        read_base=partial(workshop.read_file, started.change.base),
        wishes=wishes,
        private=hidden,
    )


def list_needed(run: Run) -> tuple[str, ...]:
    """Return the artifacts that the run goes on with: findings documents and prompts."""
    return (*_list_documents(run).values(), *run.started.prompt_files.values())


def _read_prompts(started: Started, artifacts: Artifacts) -> dict[str, str]:
    files = started.prompt_files
    return {role: _require_file(files[role], artifacts).decode() for role in files}


def _require_file(name: str, artifacts: Artifacts) -> bytes:
    content = artifacts.read(name)
    if content is None:
        raise UsageError(
            f"{artifacts.locate(name)} cannot be read: it is not there",
            hint="put it back, or start a new run",
        )
    return content


def _list_documents(run: Run) -> dict[str, str]:
    """Return the findings documents that are still to be read: name to artifact."""
    started = run.started
    files = dict(zip(started.documents, started.document_files, strict=True))
    return {name: file for name, file in files.items() if name not in run.reviewing.reviews}


def _open_documents(run: Run, artifacts: Artifacts) -> dict[str, Analyzer]:
    files = _list_documents(run)
    if not files:
        return {}
    from punchlist.adapters.documents.document import FindingsDocument

    opened: dict[str, Analyzer] = {}
    for name, file in files.items():
        where = Path(artifacts.locate(file))
        opened[name] = FindingsDocument.parse(_require_file(file, artifacts), where, name=name)
    return opened
