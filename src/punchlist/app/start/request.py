"""A request for a run, and the prepared run."""

from hashlib import sha256
from typing import assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist._version import __version__
from punchlist.app.agents.logins import FoundLogin
from punchlist.app.gate.shared_files import ReviewGate
from punchlist.app.start.results import name_results
from punchlist.model.checks.check import Check
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.story import Story
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.settings import LoadedSettings, encode_settings
from punchlist.workflow.language import Workflow


class Request(Struct, frozen=True, kw_only=True):
    """`allow_checks` None: as the user allowed before."""

    kind: ScopeKind | None = None
    base: str = ""
    commit: str = ""
    committed: bool = False
    """Whether work that is not committed is left out."""
    paths: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    workflow: str = ""
    allow_checks: bool | None = None
    force: bool = False
    specification: tuple[str, ...] = ()
    """Files that say what the change is meant to do."""
    checks: tuple[Check, ...] = ()
    """Checks of the caller, which may run, instead of the project's."""
    notes: str = ""
    """What agents are told about this run."""
    issue_ids: tuple[str, ...] = ()
    """The ids of the findings, if these alone shall be worked on: then nothing is reviewed."""
    clarify: bool = True
    """Whether an agent may ask what is unclear, where the workflow has it."""
    planner: bool = True
    """Whether an agent plans the items, where the workflow has it."""
    ask_agents: bool = True
    """Whether agents are asked at all; if not, the analyzers alone review."""
    rounds: int | None = None
    """How many rounds the loop has at most; 0 fixes nothing, None leaves it to the workflow."""
    threshold: int | None = None
    """The least score that approves a fix; None leaves it to the workflow."""
    story: str = ""
    """The id of the story that the review is about, in the user's own tracker."""
    title: str = ""
    """The story's title."""
    pull: str = ""
    """The address of the pull request that it is about."""
    orders: tuple[str, ...] = ()
    """Comments there whose orders it obeys."""


def copy_scope(request: Request, earlier: Run) -> Request:
    """Return the request with the earlier run's scope: what was staged or on disk then is looked at
    as it is now.
    """
    change = earlier.started.change
    scope = replace(request, kind=change.kind, paths=change.paths, committed=not change.on_disk)
    match change.kind:
        case ScopeKind.BRANCH:
            base = "" if change.on_disk and change.base_name == "HEAD" else change.base_name
            return replace(scope, base=base)
        case ScopeKind.COMMIT:
            return replace(scope, commit=change.head)
        case ScopeKind.ALL | ScopeKind.STAGED:
            return scope
        case _:
            assert_never(change.kind)


class Prepared(Struct, frozen=True, kw_only=True):
    """All decided, nothing written. `checks_allowed` is None until the user is asked."""

    change: Change
    workflow: Workflow
    loaded: LoadedSettings
    reviewers: tuple[str, ...]
    documents: dict[str, str] = {}
    """Name -> path of each file with findings."""
    checks: tuple[Check, ...] = ()
    seeks_checks: bool = True
    checks_allowed: bool | None = None
    notes: tuple[str, ...] = ()
    force: bool = False
    crew: dict[str, tuple[str, ...]] = {}
    """By role, the agents that play it."""
    outside: tuple[str, ...] = ()
    """The agents among them that punchlist does not start."""
    same_agents: dict[str, tuple[str, ...]] = {}
    """By role and agent: the fixers that are the same program and model."""
    missing_agents: dict[str, str] = {}
    """Fallback agents that are not installed, with the line that installs each."""
    logins: tuple[FoundLogin, ...] = ()
    """Of agents without a key: what the user was not asked about yet, so they do not get it."""
    specification: tuple[str, ...] = ()
    user_notes: str = ""
    issue_ids: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    rounds: int | None = None
    """How many the user asked for; the workflow has as many."""
    threshold: int | None = None
    story: Story = Story()
    documents_folder: str = ""
    coverage: float = 0
    configurations: tuple[ToolConfiguration, ...] = ()
    """Of analyzers whose configuration names other files or loads code."""
    gate: ReviewGate = ReviewGate()
    run_id: str = ""
    """The id that the run must get; '' for any."""
    pull: str = ""
    orders: tuple[str, ...] = ()

    @property
    def locked_code(self) -> tuple[ToolConfiguration, ...]:
        """Return those that would load code which is not allowed."""
        usable = (each for each in self.configurations if not each.refused)
        return tuple(each for each in usable if each.obstacle)

    def started(self, repository: str) -> Started:
        """Return the first event of the run, without what is known only when it begins."""
        return Started(
            repository=repository,
            change=self.change,
            workflow_name=self.workflow.name,
            workflow=self.workflow.text,
            settings=encode_settings(self.loaded),
            reviewers=self.reviewers,
            documents=tuple(self.documents),
            checks=self.checks,
            seeks_checks=self.seeks_checks,
            checks_allowed=bool(self.checks_allowed),
            version=__version__,
            crew=self.crew,
            same_agents=self.same_agents,
            missing_agents=self.missing_agents,
            specification=self.specification,
            notes=self.user_notes,
            commits=self.loaded.settings.commits,
            issue_ids=self.issue_ids,
            judges=self.judges,
            keep=name_results(self.loaded.settings.keep),
            rounds=self.rounds,
            threshold=self.threshold,
            commit_subject=self.loaded.settings.commit_subject,
            story=self.story,
            documents_folder=self.documents_folder,
            coverage=self.coverage,
            configurations=self.configurations,
            selections=self.gate.selections,
            new_against=self.gate.new_against,
            baseline=self.gate.baseline,
            gone=self.gate.gone,
            pull=self.pull,
            orders=self.orders,
        )

    def fingerprint(self, repository: str) -> str:
        """Return a hash of the request that does not depend on the order of its parts."""
        parts = (
            repository,
            self.change.kind,
            self.change.base,
            self.change.head,
            sorted(self.change.paths),
            sorted(self.documents.values()),
            self.workflow.text,
            sorted(self.crew.items()),
            *([sorted(self.issue_ids)] if self.issue_ids else []),
            *((self.story.id,) if self.story.id else ()),
            sorted(self.gate.selections.items()),
        )
        return sha256(msgspec.json.encode(parts)).hexdigest()
