"""The seams: protocols of one to three methods behind which everything outside lives, and World,
which holds them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct

from punchlist.model.checks.check import Check, CheckResult
from punchlist.model.checks.protected import Protected
from punchlist.model.finding.finding import Finding, Refused
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Item
from punchlist.model.ledger.events import AnyEvent, Entry
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change
from punchlist.model.patch.patch import Patch
from punchlist.ports.compare import Comparer
from punchlist.ports.roles import Crew
from punchlist.ports.tree import Pristine, Tree, Trees
from punchlist.views.issue_text import Dossier


class Repository(Protocol):
    """What a run needs of git, on branches of its own."""

    async def made(self, branch: str, parent: str, action: str) -> tuple[str, ...]:
        """The commits above `parent` that this action made before, oldest first; what is there
        needs nobody's leave again.
        """
        ...

    async def commit_chain(
        self, branch: str, parent: str, commits: Sequence["Draft"], action: str
    ) -> tuple[str, ...]:
        """One commit per draft on `branch` above `parent`, all or none; the same `action` again
        returns the same commits.
        """
        ...

    async def publish(self, branch: str) -> None:
        """Makes the branch visible in the user's repository; nothing else there changes."""
        ...

    async def text(self, commit: str, path: str) -> str | None:
        """A file of a commit as text; None where there is no regular file."""
        ...

    async def diff(self, old: str, new: str, paths: Sequence[str] | None = None) -> str:
        """What changed between two commits as a unified diff, of these files or of all."""
        ...

    async def hook(
        self, name: str, commit: str, patches: Sequence[Patch], *, pristine: Pristine | None
    ) -> "Heard":
        """Asks a hook of the user's repository about the patched tree, steered by pristine files;
        None: it must not be run.
        """
        ...


class Heard(Struct, frozen=True):
    """What came of asking a hook: what it said if it `refused`, or that there is one and it was not
    asked (`unheard`).
    """

    refused: str = ""
    unheard: bool = False


class Draft(Struct, frozen=True):
    """A commit to be made: the patch is against the parent of the whole chain."""

    message: str
    patch: Patch


class Analysis(Struct, frozen=True, kw_only=True):
    """What an analyzer reported of a tree."""

    findings: tuple[Finding, ...] = ()
    refused: tuple[Refused, ...] = ()
    looked_at: int = 0
    failed: str = ""
    skipped: str = ""
    unread: tuple[str, ...] = ()
    """Files it was to look at and could not, an empty name for "nobody knows which": its silence
    about them says nothing.
    """


class Analyzer(Protocol):
    """A tool that reads code and reports findings; it never writes into the tree."""

    @property
    def name(self) -> str: ...

    async def analyze(self, tree: Tree, paths: Sequence[str] | None) -> Analysis:
        """Findings of the given files, or of the whole tree for None. A tool that fails says so in
        `failed`; it never raises.
        """
        ...


class Fixed(Struct, frozen=True, kw_only=True):
    """What a fixer did about one batch: a patch, or the reason why there is none."""

    batch: int
    patch: Patch | None = None
    refused: str = ""


class ToolFixer(Protocol):
    """Turns batches into patches against the tree it is given."""

    async def fix(
        self, batches: Sequence[Batch], items: Mapping[int, Item], tree: Tree
    ) -> Sequence[Fixed]: ...


class CheckRunner(Protocol):
    """Runs a check so that it judges the tree's code, and nothing else."""

    async def run(self, check: Check, tree: Tree, *, only: Sequence[str] = ()) -> CheckResult:
        """One run; `only` limits it to these test ids where the runner can."""
        ...

    async def sentinel(self, check: Check, tree: Tree, kinds: Sequence[str]) -> str:
        """Plants a failure in the tree's own sources with these suffixes and runs the check: empty
        if it was seen, else why the check cannot judge them. The tree is spent.
        """
        ...

    async def ground(self, check: Check) -> str:
        """What a result depends on besides the tree (runner, programs, environment, leftovers), as
        a short hash.
        """
        ...


class Filing(Struct, frozen=True, kw_only=True):
    item: int
    ref: str = ""
    failed: str = ""


class Tracker(Protocol):
    """Where leftovers are filed; get-or-create by the item's fingerprint."""

    @property
    def name(self) -> str: ...

    async def file(self, dossiers: Sequence[Dossier]) -> Sequence[Filing]: ...


class Artifacts(Protocol):
    """Evidence and reports of a run, by name."""

    def write(self, name: str, content: bytes) -> str:
        """Stores it whole or not at all, and returns where a person finds it."""
        ...

    def read(self, name: str) -> bytes | None: ...


class Cache(Protocol):
    """What was measured once and holds for ever: keyed by everything it depends on."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, value: bytes) -> None: ...


class RunRow(Struct, frozen=True):
    """A run as a list shows it. `last_at` and `last_kind` are of its own last event: not of what
    people added beside it.
    """

    id: str
    repository: str
    started_at: float
    last_at: float
    last_kind: str
    entries: int
    active: float = 0
    """Seconds during which a process was driving it, as the fold counts them."""
    ended_at: float = 0
    outcome: str = ""
    """How it ended; empty if it did not."""
    amended: bool = False
    """People added something after its end: what it comes to now is in the fold."""


class Store(Protocol):
    """The ledger: what is appended is there for good, and each (run, place, key) is there once."""

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        """Durable when it returns; if the action is recorded already, that entry is returned and
        nothing is written.
        """
        ...

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        """The entries of a run, in order."""
        ...

    def runs(self, repository: str = "") -> Sequence[RunRow]:
        """Newest first; of one repository, or of all."""
        ...


def _never(label: str) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything outside that a performer may use."""

    change: Change
    trees: Trees
    repository: Repository
    analyzers: Mapping[str, Analyzer]
    documents: Mapping[str, Analyzer]
    """Findings given as files: they speak once, and are never re-run."""
    fixers: Mapping[str, ToolFixer]
    checks: CheckRunner
    tracker: Tracker
    artifacts: Artifacts
    cache: Cache
    reports: Mapping[str, Callable[[Run], bytes]]
    """File name -> how it is made of a run."""
    protected: Protected
    clock: Callable[[], float]
    crew: Crew = field(default_factory=Crew)
    comparer: Comparer | None = None
    answered: Callable[[str], bool] = _never
    """Whether an agent's answer under this label is kept: what was paid for and heard before a
    kill.
    """


__all__ = [
    "Analysis",
    "Analyzer",
    "Artifacts",
    "Cache",
    "CheckRunner",
    "Crew",
    "Draft",
    "Filing",
    "Fixed",
    "Heard",
    "Pristine",
    "Repository",
    "RunRow",
    "Store",
    "ToolFixer",
    "Tracker",
    "Tree",
    "Trees",
    "World",
]
