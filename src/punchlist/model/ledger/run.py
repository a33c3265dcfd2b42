"""A run: the state that the ledger folds into."""

from collections.abc import Mapping

from msgspec import Struct

from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import ItemClaim
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import ENDED, Item, Status
from punchlist.model.item.score import Score
from punchlist.model.item.todo import Todo
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.append_only_map import AppendOnlyMap
from punchlist.model.ledger.round_history import PastEvent
from punchlist.model.ledger.timeline import Moment
from punchlist.model.patch.hunk import Diff
from punchlist.model.patch.patch import Patch

_TURNS = frozenset({"answer", "resume"})


class LatestReview(Struct, frozen=True):
    """The latest review by one reviewer."""

    reviewer: str
    commit: str
    findings: int = 0
    looked_at: int = 0
    failed: str = ""
    skipped: str = ""
    unread: tuple[str, ...] = ()
    """Files it could not look at; an empty name stands for "nobody knows which"."""

    def has_seen(self, path: str) -> bool:
        """Whether it looked at the file, so that no finding means something."""
        return not (self.failed or self.skipped or path in self.unread or "" in self.unread)


class Round(Struct, frozen=True):
    """How one round of the loop ended."""

    round: int
    open: int
    fixed: int
    landed: int
    stop: str = ""
    must_fix: int = 0


class Question(Struct, frozen=True):
    place: str
    question: str
    choices: dict[str, str]
    answer: str = ""
    by: str = ""


class RoundWork(Struct, frozen=True):
    """Work of the present round, from plan to commit."""

    batches: dict[int, Batch] = {}
    patches: dict[int, Patch] = {}
    rechecked: ev.Rechecked | None = None
    verified: ev.Verified | None = None
    waiting: int = 0
    landed: int = 0
    after: dict[int, tuple[int, ...]] = {}
    """By batch: those whose work must be done before it begins."""
    examined: dict[int, ev.Examined] = {}
    challenged: ev.Challenged | None = None
    noted: dict[int, tuple[str, ...]] = {}
    reports: dict[int, ItemClaim] = {}
    """By item: what the agent that worked on it says."""
    contested: dict[int, str] = {}
    """Items of which the fixer says that there is nothing to fix, and why; somebody else must
    agree.
    """


class WorkflowPosition(Struct, frozen=True, kw_only=True):
    """Where in the workflow the run is. `here` has the events of the place that is under way, by
    key.
    """

    place: str = ""
    here: AppendOnlyMap[str, ev.AnyEvent] = AppendOnlyMap()
    done: frozenset[str] = frozenset()
    """Places whose step has nothing more to do."""
    decisions: dict[str, str] = {}
    """By place of a stop-when: why the loop ended there, or an empty string."""
    round: int = 1
    rounds: tuple[Round, ...] = ()


class Reviewing(Struct, frozen=True, kw_only=True):
    """What reviewers said."""

    reported: int = 0
    fresh: tuple[Finding, ...] = ()
    """Reported, and not yet consolidated."""
    fresh_from: dict[str, str] = {}
    """Reviewers who spoke since the last consolidation, and the commit they looked at."""
    refused: tuple[RefusedEntry, ...] = ()
    reviews: dict[str, LatestReview] = {}
    hints: tuple[tuple[str, ...], ...] = ()
    """Ids of findings that their reviewer says can be fixed together, apart from the others."""
    looked_over: dict[str, tuple[str, ...]] = {}
    """By agent reviewer: files of the change that it was neither shown nor seen to open, the last
    time it looked.
    """


class Landing(Struct, frozen=True, kw_only=True):
    """The run's branch and the commits on it."""

    branch: str = ""
    tip: str = ""
    landed: tuple[ev.Landed, ...] = ()
    titles: dict[int, str] = {}
    """What each landed batch was called."""
    unheard: str = ""
    """Why a git hook that is there was not asked."""
    published: str = ""
    """The tip as the user's repository has it."""
    unpublished: str = ""
    """Why it has not what landed last."""


class Checking(Struct, frozen=True, kw_only=True):
    """What the project's checks are known to say."""

    baselines: dict[str, ev.Baselined] = {}
    unverified: str = ""
    flaky: frozenset[str] = frozenset()


class FilingRecord(Struct, frozen=True, kw_only=True):
    """What was filed and reported at the end, and what could not be."""

    unfiled: dict[int, str] = {}
    owed: dict[str, str] = {}
    """Debts of earlier runs that could not be filed this time either."""
    artifacts: tuple[str, ...] = ()
    listed: tuple[int, ...] = ()


class Conversation(Struct, frozen=True, kw_only=True):
    """What is asked of the user, and the conversations with agents."""

    questions: tuple[Question, ...] = ()
    doubts: dict[str, Doubt] = {}
    """What agents wanted to know, by the question's id, and what was answered."""
    clear: bool = False
    """An agent said that it has no more questions."""
    sessions: dict[str, str] = {}
    """Conversations to go on with: of the planning ("plan"), and of each item ("item 7")."""


class ByItem(Struct, frozen=True, kw_only=True):
    """What agents left about each item, by its number."""

    todos: dict[int, Todo] = {}
    diffs: dict[int, Diff] = {}
    """The last change that was tried for it, landed or not."""
    reproductions: dict[int, ev.Reproduced] = {}
    """Private tests. No fixer is ever shown one."""
    scores: dict[int, Score] = {}
    """What the challenger said last."""


class Run(Struct, frozen=True, kw_only=True):
    """State for steps and surfaces. `here`: events of the present place, by key."""

    id: str
    started: ev.Started
    seq: int = 0
    started_at: float = 0
    last_at: float = 0
    active: float = 0
    """Seconds during which a process was driving it."""
    items: dict[int, Item] = {}
    work: RoundWork = RoundWork()
    last_batch: int = 0
    position: WorkflowPosition = WorkflowPosition()
    reviewing: Reviewing = Reviewing()
    landing: Landing = Landing()
    checks: Checking = Checking()
    filing: FilingRecord = FilingRecord()
    asking: Conversation = Conversation()
    by_item: ByItem = ByItem()
    timeline: tuple[Moment, ...] = ()
    history: tuple[PastEvent, ...] = ()
    """Reviews, and what came of agents' attempts, round by round."""
    trouble: tuple[str, ...] = ()
    """Actions that failed, in words."""
    halted: str = ""
    interrupted: bool = False
    ended: str = ""
    usage: Usage = Usage()

    @property
    def waiting_for(self) -> Question | None:
        return next((question for question in self.asking.questions if not question.answer), None)

    @property
    def waits(self) -> bool:
        """Whether the user must answer before it goes on."""
        return self.waiting_for is not None or bool(self.unanswered)

    @property
    def paused(self) -> bool:
        """Whether it was stopped, or answered, and not resumed since."""
        words = (moment.verb for moment in reversed(self.timeline))
        return self.interrupted or next((w for w in words if w in _TURNS), "") == "answer"

    @property
    def unanswered(self) -> list[Doubt]:
        return [doubt for doubt in self.asking.doubts.values() if not doubt.answer]

    def find_items(self, *statuses: Status) -> list[Item]:
        return [item for item in self.items.values() if item.status in statuses]

    def has_outside_agent(self, role: str) -> bool:
        """Whether an agent that punchlist does not start plays the role."""
        return not set(self.started.outside).isdisjoint(self.started.crew.get(role, ()))

    def claimed_items(self, batch: Batch) -> tuple[int, ...]:
        """Return the batch's items that are claimed as fixed, not deferred or contested ones."""
        return tuple(
            number for number in batch.items if self.items[number].status is Status.CLAIMED
        )

    @property
    def in_scope(self) -> list[Item]:
        return [item for item in self.items.values() if item.in_scope]

    @property
    def left(self) -> list[Item]:
        """Unresolved items in scope."""
        return [item for item in self.items.values() if item.in_scope and item.status not in ENDED]

    @property
    def overlooked(self) -> list[str]:
        """Files of the change that no agent was shown or seen to open."""
        return sorted(
            set[str]()
            .union(*self.reviewing.looked_over.values())
            .intersection(*self.reviewing.looked_over.values())
        )

    @property
    def blind(self) -> list[str]:
        """Reviewers that failed, and why."""
        return [
            f"{review.reviewer}: {review.failed}"
            for review in self.reviewing.reviews.values()
            if review.failed
        ]


def count_statuses(items: Mapping[int, Item]) -> dict[Status, int]:
    """Count items in scope by status; every status is a key."""
    tally = dict.fromkeys(Status, 0)
    for item in items.values():
        if item.in_scope:
            tally[item.status] += 1
    return tally
