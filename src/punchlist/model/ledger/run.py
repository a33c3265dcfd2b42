"""A run: the state that the ledger folds into."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.finding.known_finding import KnownFinding
from punchlist.model.finding.languages import MissedFiles, UnseenFiles
from punchlist.model.finding.selection import find_selection
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import ItemClaim
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import ENDED, Attempt, Item, Status
from punchlist.model.item.score import Score
from punchlist.model.item.todo import Todo
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.append_only import AppendOnlyList, AppendOnlyMap
from punchlist.model.ledger.children import Children
from punchlist.model.ledger.paged_map import PagedMap
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
    """Files it could not look at; "" if they are unknown."""
    agent: str = ""
    """The agent that played the reviewer, if it is a role."""
    missed: dict[str, str] = {}
    """By file that an analyzer was given and did not look at: why."""
    left_out: frozenset[str] = frozenset()
    """Files that the project's own settings keep it from."""
    left_out_by: str = ""
    given: bool = False
    """Whether it does not say which files it looked at."""

    def has_seen(self, path: str) -> bool:
        """Whether it looked at the file, so that no finding means something."""
        blind = self.failed or self.skipped or "" in self.unread
        return not (blind or path in self.unread or path in self.left_out)


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
    """By batch: those that must be done before it."""
    examined: dict[int, ev.Examined] = {}
    challenged: ev.Challenged | None = None
    noted: dict[int, tuple[str, ...]] = {}
    reports: dict[int, ItemClaim] = {}
    """By item: the fixer's claim."""
    contested: dict[int, str] = {}
    """By item: why the fixer says there is nothing to fix; another agent must agree."""


def parse_round(place: str) -> int:
    """Return the round that a place in a loop ("0.2.3") belongs to, 0 for other places."""
    _, *inner = place.split(".")
    return int(inner[0]) if len(inner) > 1 and inner[0].isdigit() else 0


class WorkflowPosition(Struct, frozen=True, kw_only=True):
    """Where in the workflow the run is. `here`: events of the present place, by key."""

    place: str = ""
    here: AppendOnlyMap[str, ev.AnyEvent] = AppendOnlyMap()
    done: frozenset[str] = frozenset()
    """Places whose step has nothing more to do."""
    decisions: dict[str, str] = {}
    """By place of a stop-when: why the loop ended there, or an empty string."""
    round: int = 1
    """The round that the present step belongs to: a loop may decide to go on before its fixes are
    made.
    """
    rounds: tuple[Round, ...] = ()


class Reviewing(Struct, frozen=True, kw_only=True):
    """What reviewers said."""

    reported: int = 0
    fresh: tuple[Finding, ...] = ()
    """Reported, and not yet consolidated."""
    fresh_from: dict[str, str] = {}
    """By reviewer since the last consolidation: the commit it looked at."""
    caused: frozenset[str] = frozenset()
    """Ids of findings outside the changed lines that the change brought about."""
    old: frozenset[str] = frozenset()
    """Ids of fresh findings that the base has as well, where only new ones are asked for."""
    refused: tuple[RefusedEntry, ...] = ()
    reviews: dict[str, LatestReview] = {}
    hints: tuple[tuple[str, ...], ...] = ()
    """Ids of findings that can be fixed together, as their reviewer says."""
    looked_over: dict[str, tuple[str, ...]] = {}
    """By agent: files of the change it was neither shown nor seen to open in its last review."""
    opened: dict[str, frozenset[str]] = {}
    """By agent: files it opened or reported on, where the whole repository is under review."""
    surveyed: bool = False
    """Whether it is known what no reviewer looked at."""
    unseen: tuple[UnseenFiles, ...] = ()
    """Program files under review that no reviewer looked at."""
    seen: dict[str, int] = {}
    """By language: how many program files under review a reviewer looked at."""
    missed: tuple[MissedFiles, ...] = ()
    """Program files under review that an analyzer was given and did not look at."""
    excluded: tuple[MissedFiles, ...] = ()
    """Program files under review that the project's own settings keep an analyzer from."""
    unknown: tuple[str, ...] = ()
    """Analyzers that may have looked at some of these: it is not known."""
    uncounted: tuple[UnseenFiles, ...] = ()
    """Files that no reviewer looked at, in languages that do not count."""
    vendored: dict[str, int] = {}
    """By what says so: how many vendored or generated files are left out."""
    left_out: int = 0
    """Program files that the user's settings leave out of the review."""
    unproven: dict[str, str] = {}
    """By analyzer: why its silence about agents' fixes was no proof."""
    standing: tuple[Finding, ...] = ()
    """What analyzers that only judge fixes report without them; not in the ledger."""


class Landing(Struct, frozen=True, kw_only=True):
    """The run's branch and the commits on it."""

    branch: str = ""
    tip: str = ""
    landed: tuple[ev.Landed, ...] = ()
    titles: dict[int, str] = {}
    written: frozenset[str] = frozenset()
    """Files that the fixes which landed write."""
    unheard: str = ""
    """Why a git hook of the repository was not run."""
    published: str = ""
    """The tip as the user's repository has it."""
    arranged: str = ""
    """The tip with commits grouped as the settings say; `source` is the proven commit like it."""
    source: str = ""
    shown: dict[str, str] = {}
    """By proven commit: the commit on the run's branch that contains it, if that is another."""
    unpublished: str = ""
    """Why the user's repository lacks what landed last."""

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits on the run's branch, oldest first."""
        named = [self.shown.get(each.commit, each.commit) for each in self.landed]
        return tuple(dict.fromkeys(reversed(named)))[::-1]  # each comes where its last fix was

    @property
    def shown_tip(self) -> str:
        """The tip of the run's branch as users see it."""
        return self.arranged if self.source == self.tip else self.tip


class Checking(Struct, frozen=True, kw_only=True):
    """What the project's checks are known to say."""

    baselines: dict[str, ev.Baselined] = {}
    gates: dict[str, ev.Baselined] = {}
    """Baselines of what must stay green, and proves nothing."""
    unverified: str = ""
    flaky: frozenset[str] = frozenset()
    varying: frozenset[str] = frozenset()
    """Test functions whose cases have other ids in each run."""
    absent_judges: dict[str, str] = {}
    """By agent: why it gave no verdict on fixes that it was to judge."""
    noise: bool = False
    """The checks were red, and green when they were run again with the same fixes."""

    def find_baseline(self, check: str) -> ev.Baselined | None:
        return self.baselines.get(check) or self.gates.get(check)


class FilingRecord(Struct, frozen=True, kw_only=True):
    """What was filed and reported at the end, and what could not be."""

    unfiled: dict[int, str] = {}
    owed: dict[str, str] = {}
    """Why debts of earlier runs could not be filed this time either."""
    artifacts: tuple[str, ...] = ()
    listed: tuple[int, ...] = ()
    placed: tuple[str, ...] = ()
    """Findings documents in the user's checkout."""
    kept: ev.Kept | None = None
    """The copy of the run's files in another store, if there is one."""


class Conversation(Struct, frozen=True, kw_only=True):
    """What is asked of the user, and the conversations with agents."""

    questions: tuple[Question, ...] = ()
    doubts: dict[str, Doubt] = {}
    """Agents' questions by their id, with the answers."""
    clear: bool = False
    """An agent said that it has no more questions."""
    sessions: dict[str, str] = {}
    """Conversations to go on with, by "plan" or by item ("item 7")."""


class ByItem(Struct, frozen=True, kw_only=True):
    """What agents left about each item, by its number."""

    todos: dict[int, Todo] = {}
    diffs: dict[int, Diff] = {}
    """The last change that was tried for it, landed or not."""
    reproductions: dict[int, ev.Reproduced] = {}
    """Private tests, never shown to a fixer."""
    scores: dict[int, Score] = {}
    confidence: dict[int, int | None] = {}
    """How sure the fixer said it was, 0 to 100, if it did; no proof."""


class Run(Struct, frozen=True, kw_only=True):
    """State for steps and surfaces."""

    id: str
    started: ev.Started
    seq: int = 0
    head: str = ""
    """The hash of its last entry so far; commits and issues name it, as anchors of the ledger."""
    started_at: float = 0
    last_at: float = 0
    active: float = 0
    """Seconds during which a process was driving it."""
    items: Mapping[int, Item] = PagedMap()
    work: RoundWork = RoundWork()
    last_batch: int = 0
    position: WorkflowPosition = WorkflowPosition()
    reviewing: Reviewing = Reviewing()
    landing: Landing = Landing()
    checks: Checking = Checking()
    filing: FilingRecord = FilingRecord()
    asking: Conversation = Conversation()
    by_item: ByItem = ByItem()
    children: Children = Children()
    timeline: AppendOnlyList[Moment] = AppendOnlyList()
    history: tuple[PastEvent, ...] = ()
    """Reviews, and results of agents' attempts."""
    trouble: tuple[str, ...] = ()
    """Actions that failed, in words."""
    halted: str = ""
    interrupted: bool = False
    ended: str = ""
    usage: Usage = Usage()
    weaknesses: frozenset[str] = frozenset()
    """What the sandboxes of its children lacked, as "KIND: WHAT"."""
    overrides: tuple[str, ...] = ()
    """What its user asked for and did not get on a worker, whose own settings are a floor."""
    pins: dict[str, str] = {}
    """SHA-256 of the files of evidence, by name."""

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

    def could_see(self, known: KnownFinding) -> bool:
        """Return whether the tool of a finding of the baseline looked at its file."""
        review = self.reviewing.reviews.get(known.tool)
        return review is not None and review.has_seen(known.path)

    def has_outside_agent(self, role: str) -> bool:
        """Whether an agent that punchlist does not start plays the role."""
        return not set(self.started.outside).isdisjoint(self.started.crew.get(role, ()))

    def is_self_review(self, role: str, agent: str, item: Item) -> bool:
        """Whether the agent in a judging role also made the item's last fix, or contested it."""
        same = self.started.same_agents.get(f"{role} {agent}", (agent,))
        return item.worked_on_by in same

    def claimed_items(self, batch: Batch) -> tuple[int, ...]:
        """Return the batch's items that are claimed as fixed."""
        return tuple(n for n in batch.items if self.items[n].status is Status.CLAIMED)

    @property
    def in_scope(self) -> list[Item]:
        return [item for item in self.items.values() if item.in_scope]

    @property
    def left(self) -> list[Item]:
        """Unresolved items in scope."""
        return [item for item in self.in_scope if item.status not in ENDED]

    @property
    def shown_reviews(self) -> list[LatestReview]:
        """The latest reviews, with the tip of the run's branch as users see it."""
        tip, shown = self.landing.tip, self.landing.shown_tip
        reviews = self.reviewing.reviews.values()
        return [replace(each, commit=shown) if each.commit == tip else each for each in reviews]

    def list_attempts(self, item: Item) -> tuple[Attempt, ...]:
        """Return the item's history, with commits as they are on the run's branch."""
        shown = self.landing.shown
        return tuple(
            replace(each, ref=shown[each.ref]) if each.ref in shown else each
            for each in item.attempts
        )

    @property
    def left_out(self) -> list[Item]:
        """Items that options, settings or the baseline leave out of the review."""
        return [item for item in self.items.values() if item.left_out]

    def fails_gate(self, item: Item) -> bool:
        """Return whether the item is severe enough for `fail-on`, where it lies."""
        folders = self.started.selections
        least = find_selection(folders, item.lead.spot.path).selection.fail_on
        return item.severity.rank <= least.rank

    @property
    def old_must_fix(self) -> list[Item]:
        """Unresolved items outside the change that would be must-fix inside of it."""
        others = (item for item in self.items.values() if not item.in_scope and not item.left_out)
        return [
            item
            for item in others
            if item.severity is not Severity.MINOR and item.status not in ENDED
        ]

    @property
    def overlooked(self) -> list[str]:
        """Files of the change that no agent was shown or seen to open."""
        unseen = [set(paths) for paths in self.reviewing.looked_over.values()]
        return sorted(set.intersection(*unseen)) if unseen else []

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
