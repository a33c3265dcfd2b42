"""Ports of the roles that agents play: typed questions in, typed answers out."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import ItemClaim
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Item
from punchlist.model.item.score import Score
from punchlist.model.item.todo import Todo
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble
from punchlist.ports.tree import Tree


class Background(Struct, frozen=True, kw_only=True):
    """What every role knows of the project; only diff and specification are of the change."""

    conventions: Mapping[str, str] = {}
    """AGENTS.md, CONTRIBUTING and the like by path, as they are on the base."""
    checks: tuple[tuple[str, ...], ...] = ()
    """The commands that will judge."""
    coverage: float = 0
    """The test coverage that is demanded, in per cent."""
    diff: str = ""
    """The unified diff from base to tip."""
    base: str = ""
    branch: str = ""
    specification: Mapping[str, str] = {}
    """Specs and stories that the user named, by path."""
    notes: str = ""
    """The user's own words on this run."""
    story: str = ""
    """The story under review, "Story 2.3: Cart totals", or ''."""
    round: int = 1


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fields common to all answers. `failed` says why there is none."""

    agent: str = ""
    session: str = ""
    usage: Usage = Usage()
    failed: str = ""
    trouble: AgentTrouble | None = None
    """Why the agent gave no answer at all; None if it gave one, good or bad."""
    transcript: str = ""
    cut: tuple[str, ...] = ()
    """What did not fit into the prompt, in words."""
    denied: tuple[str, ...] = ()
    """Tool calls that the agent's own program refused to run."""


class Opinion(Answer, frozen=True, kw_only=True):
    """Findings of a reviewer; `groups`: indexes of those that can be fixed together."""

    findings: tuple[Finding, ...] = ()
    refused: tuple[RefusedEntry, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    opened: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    """Files to review whose diff is not, or not all, in the prompt."""
    incomplete: str = ""
    """The answer breaks off: what was complete is kept."""


class RoleTask(Struct, frozen=True, kw_only=True):
    """Items to clarify, plan, fix, reproduce or judge. `label` names the call within the run."""

    label: str
    items: tuple[Item, ...]
    told: Background
    batches: tuple[Batch, ...] = ()
    """Groups of items that can be fixed in parallel."""
    doubts: tuple[Doubt, ...] = ()
    todos: Mapping[int, Todo] = {}
    session: str = ""
    fork: bool = False
    todo_folder: str = ""
    """Where the plan files are, for a fixer that reads them itself."""
    rejected: Mapping[int, str] = {}
    """By item: the diff of its last fix, if that was rejected."""


class Doubts(Answer, frozen=True, kw_only=True):
    doubts: tuple[Doubt, ...] = ()
    ready: bool = False


class Plans(Answer, frozen=True, kw_only=True):
    todos: tuple[Todo, ...] = ()
    after: dict[int, tuple[int, ...]] = {}
    """By item: those that must be done before it."""


class Claims(Answer, frozen=True, kw_only=True):
    """A fixer's report on each item, unless it said nothing or contradicted itself."""

    reports: tuple[ItemClaim, ...] = ()
    contradicted: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    """Names it gave that are no item's."""
    left_out: tuple[int, ...] = ()
    """Items that did not fit into the prompt, and were not asked about."""
    unread: bool = False
    """Whether it ended normally, and only its answer could not be read."""


class Exhibit(Struct, frozen=True):
    """A patch to judge: the diff, and the items it is for."""

    batch: int
    diff: str
    items: tuple[int, ...]


class Judgement(Answer, frozen=True, kw_only=True):
    scores: tuple[Score, ...] = ()
    """One for every item that was asked about."""


class Reproduction(Struct, frozen=True):
    """A test file that must fail while the item is not fixed."""

    item: int
    path: str
    content: str


class Reproductions(Answer, frozen=True, kw_only=True):
    tests: tuple[Reproduction, ...] = ()


class Reviewer(Protocol):
    @property
    def name(self) -> str: ...

    async def review(
        self, tree: Tree, paths: Sequence[str] | None, told: Background, label: str
    ) -> Opinion: ...


class Clarifier(Protocol):
    async def clarify(self, task: RoleTask, tree: Tree) -> Doubts: ...


class Planner(Protocol):
    async def plan(self, task: RoleTask, tree: Tree) -> Plans: ...


class Fixer(Protocol):
    """Edits the files of the tree; what it did is read from the tree, not from its answer."""

    async def fix(self, task: RoleTask, tree: Tree) -> Claims: ...


class Challenger(Protocol):
    async def judge(self, task: RoleTask, exhibits: Sequence[Exhibit], tree: Tree) -> Judgement: ...


class Reproducer(Protocol):
    async def reproduce(self, task: RoleTask, tree: Tree) -> Reproductions: ...


REVIEWERS = ("unified", "spec", "technical", "adversarial")
ROLES = (*REVIEWERS, "clarifier", "planner", "fixer", "challenger", "reproducer")
"""What agents can play, by the names that settings and workflows use."""


class Crew(Struct, frozen=True, kw_only=True):
    """The agent of each role; a missing role is None, and its work is not done."""

    reviewers: Mapping[str, Reviewer] = {}
    clarifier: Clarifier | None = None
    planner: Planner | None = None
    fixer: Fixer | None = None
    challenger: Challenger | None = None
    reproducer: Reproducer | None = None
