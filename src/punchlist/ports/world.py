"""World: every port that a performer may use, in one value."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from punchlist.model.checks.own_files import LeaveOut
from punchlist.model.checks.protected import Protected
from punchlist.model.integrity.suppressions import Suppressions
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change
from punchlist.ports.analyzer import Analyzer
from punchlist.ports.artifacts import Artifacts, Cache
from punchlist.ports.checks import CheckRunner
from punchlist.ports.compare import Comparer
from punchlist.ports.fixer import Fixer
from punchlist.ports.notices import Record
from punchlist.ports.repository import Repository
from punchlist.ports.results import ResultStore
from punchlist.ports.roles import Crew
from punchlist.ports.tracker import Tracker
from punchlist.ports.tree import Tree, Trees


def _has_room() -> bool:
    return True


def _never(label: str) -> bool:
    return False


def _all_files(name: str, tree: Tree, paths: Sequence[str]) -> Sequence[str]:
    return paths


def _ignore(label: str) -> None:
    return None


def _unknown(name: str) -> str:
    return ""


def _no_notices(record: Record) -> None:
    return None


class World(Struct, frozen=True, kw_only=True):
    """Everything outside that a performer may use."""

    change: Change
    trees: Trees
    repository: Repository
    analyzers: Mapping[str, Analyzer]
    documents: Mapping[str, Analyzer]
    """Findings given as files: they speak once, and are never re-run."""
    fixers: Mapping[str, Fixer]
    checks: CheckRunner
    tracker: Tracker
    artifacts: Artifacts
    cache: Cache
    reports: Mapping[str, Callable[[Run], bytes]]
    """File name -> how it is made of a run."""
    protected: Protected
    suppressions: Suppressions
    clock: Callable[[], float]
    crew: Crew = Crew()
    comparer: Comparer | None = None
    files_seen: Callable[[str, Tree, Sequence[str]], Sequence[str] | None] = _all_files
    """Which of the files the named analyzer looks at."""
    identify: Callable[[str], str] = _unknown
    """What decides, with a commit and its files, what the named analyzer reports; '' if that is
    not known: then nothing it reported is kept.
    """
    unreviewed: tuple[str, ...] = ()
    """Patterns of files that need no reviewer, as the user's settings say."""
    leave_out: LeaveOut = LeaveOut()
    """What a look at the whole repository leaves out."""
    languages: frozenset[str] | None = None
    """The languages that count, None for those of the project's own program files."""
    unsuppressed: Mapping[str, Analyzer] = {}
    """The analyzers that can switch their suppressions off, with these switched off."""
    undeclared: frozenset[str] = frozenset()
    """Analyzers of which nothing says how they are silenced."""
    answered: Callable[[str], bool] = _never
    """Whether an agent's answer under this label is kept from before a kill."""
    forget_answer: Callable[[str], None] = _ignore
    """Forget the stored answer under a label, so that the agent is asked again."""
    has_room: Callable[[], bool] = _has_room
    """Whether the disk that actions write to is not full."""
    results: ResultStore | None = None
    """Where the results of the run are kept, besides its own folder."""
    subscribe: Callable[[Record], None] = _no_notices
    """Name who records the events that come from the midst of an action."""
    collect_cut_calls: Callable[[], Usage] = Usage
    """Return, once, what agents' calls used that were cancelled or killed."""
