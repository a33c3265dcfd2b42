"""All events of a run, as frozen values; the ledger is a list of these."""

from msgspec import Struct

from punchlist.model.checks.check import Check, CheckVerdict
from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import ItemClaim
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Item, Move
from punchlist.model.item.proof import Proof
from punchlist.model.item.score import Score
from punchlist.model.item.todo import Todo
from punchlist.model.item.usage import Usage
from punchlist.model.patch.change import Change
from punchlist.model.patch.hunk import Hunk
from punchlist.model.patch.patch import Patch


class Event(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="kind",
    tag=lambda name: name.lower(),
):
    """Fields of every event: moves of items, and its cost."""

    moves: tuple[Move, ...] = ()
    usage: Usage = Usage()


class Debt(Struct, frozen=True):
    """An item that an earlier run could not file with the tracker."""

    run: str
    item: Item

    @property
    def name(self) -> str:
        return f"{self.run}/{self.item.number}"


class Dismissal(Struct, frozen=True):
    """A user's earlier dismissal of a fingerprint."""

    by: str
    why: str
    run: str


class Started(Event, frozen=True, kw_only=True):
    """The run started: workflow text, settings and change are fixed from now on."""

    repository: str
    change: Change
    workflow_name: str
    workflow: str
    settings: str
    """The settings as JSON, each value with where it came from."""
    reviewers: tuple[str, ...]
    documents: tuple[str, ...] = ()
    """Findings given as files; they speak once."""
    document_files: tuple[str, ...] = ()
    """The artifacts that hold them, in the same order."""
    checks: tuple[Check, ...]
    checks_allowed: bool
    version: str
    request: str = ""
    """What was asked for, as a hash: the same request twice is refused while the first runs."""
    owed: tuple[Debt, ...] = ()
    """What earlier runs could not file; this one does."""
    dismissed: dict[str, Dismissal] = {}
    """What was dismissed in earlier runs of this repository, by fingerprint."""
    crew: dict[str, tuple[str, ...]] = {}
    """By role: the agents that play it, the first one first and the others where it fails. Without
    agents it is empty.
    """
    outside: tuple[str, ...] = ()
    """Agents that punchlist does not start: each is one conversation, whatever it plays."""
    specification: tuple[str, ...] = ()
    """Files that say what the change is meant to do; reviewers who ask for that are shown them."""
    notes: str = ""
    """What the user wants agents to know."""


class Reviewed(Event, frozen=True, kw_only=True):
    """A reviewer looked. `failed`: why its result cannot be used; then the run cannot end clean."""

    reviewer: str
    commit: str
    findings: tuple[Finding, ...] = ()
    refused: tuple[RefusedEntry, ...] = ()
    looked_at: int = 0
    failed: str = ""
    skipped: str = ""
    """Why it had nothing to do here (no files of its language); not a failure."""
    unread: tuple[str, ...] = ()
    """Files it could not look at, an empty name for "nobody knows which": about these its silence
    says nothing.
    """
    agent: str = ""
    """Who played the reviewer, if it is a role."""
    unopened: tuple[str, ...] = ()
    """Files of the change that an agent was neither shown nor seen to open."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Ids of findings which the reviewer says can be fixed together, apart from the others."""
    transcript: str = ""


class Clarified(Event, frozen=True, kw_only=True):
    """An agent was asked what is unclear; its questions wait for the user. `ready`: no more
    questions.
    """

    doubts: tuple[Doubt, ...] = ()
    ready: bool = False
    failed: str = ""
    agent: str = ""
    session: str = ""
    transcript: str = ""


class Reproduced(Event, frozen=True, kw_only=True):
    """A private test was written for an item before its fix. It counts only if it failed."""

    item: int
    path: str = ""
    content: str = ""
    red: bool = False
    why: str = ""
    """Why it does not count, or what was seen when it ran."""
    agent: str = ""
    transcript: str = ""


class Sighting(Struct, frozen=True, omit_defaults=True):
    """A later finding of a known item."""

    item: int
    finding: Finding
    ours: bool = False
    """Whether a fix of this run may have brought it about: then the item is in scope, whatever it
    was before.
    """


class Consolidated(Event, frozen=True, kw_only=True):
    """Findings became items: new ones, sightings of known ones, and (as moves) those no longer
    seen.
    """

    items: tuple[Item, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    rule: str = "smart"


class Planned(Event, frozen=True, kw_only=True):
    """Which batches are worked on this round."""

    batches: tuple[Batch, ...]
    waiting: int = 0
    """Items whose fix overlaps another's and comes next round."""
    todos: tuple[Todo, ...] = ()
    after: dict[int, tuple[int, ...]] = {}
    """By batch: those whose work must be done before it begins."""
    files: tuple[str, ...] = ()
    """The plan as files that a person may change; they are read again before the fixing starts."""
    answers: dict[str, str] = {}
    """To agents' questions, where a person wrote them into the files."""
    agent: str = ""
    session: str = ""
    transcript: str = ""
    failed: str = ""
    """Why the planner did not plan, if it was asked; then the batches are punchlist's own."""


class Attempted(Event, frozen=True, kw_only=True):
    """Fixers did (or did not do) something: the patch of each batch that has one."""

    fixer: str
    patches: dict[int, Patch] = {}
    refused: dict[int, str] = {}
    hunks: dict[int, tuple[Hunk, ...]] = {}
    """The patches as people read them."""
    agent: str = ""
    reports: tuple[ItemClaim, ...] = ()
    """What the agent says of each item, as it said it."""
    noted: dict[int, tuple[str, ...]] = {}
    """By batch: what is worth a look, such as files that no finding is about."""
    batches: tuple[Batch, ...] = ()
    """The agent's batches as they turned out: the files are those of the patch, not those of the
    plan.
    """
    absorbed: dict[int, int] = {}
    """Batches whose work this one has built over, and whose items are judged with it: old number to
    new.
    """
    left_out: tuple[int, ...] = ()
    """Items that did not fit into the prompt, and come next."""
    sessions: dict[int, str] = {}
    """By item: the conversation it was worked on in."""
    transcript: str = ""
    failed: str = ""


class Baselined(Event, frozen=True, kw_only=True):
    """A check's result on the base. `unusable`: why it cannot judge (not found,
    wrong code judged).
    """

    check: str
    exit_code: int | None = None
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unusable: str = ""
    sentinel: str = ""
    judges: tuple[str, ...] = ()
    """Kinds of source, as suffixes, in which it was seen to notice a planted failure; it judges no
    others.
    """
    artifact: str = ""
    cached: bool = False


class Rechecked(Event, frozen=True, kw_only=True):
    """The analyzers ran over the fixed tree: which batches removed their findings."""

    passed: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()
    """Those of the passed whose own analyzer was run and is silent; findings from documents have
    none.
    """
    failed: dict[int, str] = {}
    followed_by: dict[int, tuple[str, ...]] = {}
    """New, lesser findings that a batch brings about and that carry a fix of their own."""


class Examined(Event, frozen=True, kw_only=True):
    """One agent batch was examined alone: what refutes it, and the proofs of each item."""

    batch: int
    refuted: str = ""
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: tuple[str, ...] = ()
    """What was seen and proves nothing: vacuous tests, comparisons that could not be made."""


class Challenged(Event, frozen=True, kw_only=True):
    """Another agent scored the patches; items below the threshold go back (as moves). Without
    scores nothing is approved.
    """

    scores: tuple[Score, ...] = ()
    threshold: int = 90
    approved: tuple[int, ...] = ()
    """Batches all of whose items reached the threshold."""
    failed: str = ""
    agent: str = ""
    transcript: str = ""
    canaries: str = ""
    """How well the challenger did on planted patches, in words; empty if none were planted."""


class Tried(Event, frozen=True, kw_only=True):
    """One run of the checks over one set of batches together."""

    batches: tuple[int, ...]
    verdicts: tuple[CheckVerdict, ...]
    complete: bool
    """False when only the tests that had failed were run."""

    @property
    def green(self) -> bool:
        return bool(self.verdicts) and all(verdict.passed for verdict in self.verdicts)


class Verified(Event, frozen=True, kw_only=True):
    """Verification ended: batches that may land, and items that go back with
    evidence (as moves).
    """

    passed: tuple[int, ...] = ()
    failed: dict[int, str] = {}
    unverified: str = ""
    """Why no check judged, if none did."""
    unstable: tuple[str, ...] = ()
    """Tests that fail without any fix, too, and so speak for nobody."""


class Landed(Struct, frozen=True):
    batch: int
    commit: str


class Committed(Event, frozen=True, kw_only=True):
    """Commits on the run's own branch; `refused` is what a git hook said."""

    branch: str
    tip: str
    landed: tuple[Landed, ...] = ()
    refused: str = ""
    unheard: str = ""
    """Why a git hook that is there was not asked."""


class Published(Event, frozen=True, kw_only=True):
    """The branch in the user's repository; `failed`: why the commits are not there."""

    branch: str
    tip: str
    failed: str = ""


class Filed(Event, frozen=True, kw_only=True):
    """Items filed with the tracker (as moves); `failed` ones are filed by the next run."""

    tracker: str
    failed: dict[int, str] = {}
    settled: dict[str, str] = {}
    """Debts of earlier runs by name, and the issue each is now; empty where nothing is left to
    file.
    """
    owed: dict[str, str] = {}
    """Debts of earlier runs that could not be filed this time either, and why."""


class Reported(Event, frozen=True, kw_only=True):
    """Reports written; `listed` are the unresolved items."""

    artifacts: tuple[str, ...] = ()
    listed: tuple[int, ...] = ()


class Dismissed(Event, frozen=True, kw_only=True):
    """An authorized user dismissed items (as moves). Later runs remember the `fingerprints`, or
    forget them if `revoked`.
    """

    by: str
    why: str
    fingerprints: tuple[str, ...] = ()
    revoked: bool = False


class Failed(Event, frozen=True, kw_only=True):
    """An action could not be done; the step decides what that means."""

    reason: str
    hint: str = ""


class StepDone(Event, frozen=True, kw_only=True):
    """The step at this place has nothing more to do."""

    verb: str


class RoundEnded(Event, frozen=True, kw_only=True):
    """A loop decision: `stop` says why the loop ends, or is empty and another round begins."""

    round: int
    stop: str = ""


class Asked(Event, frozen=True, kw_only=True):
    """The run waits for the user."""

    question: str
    choices: dict[str, str]


class Answered(Event, frozen=True, kw_only=True):
    choice: str
    by: str
    answers: dict[str, str] = {}
    """To an agent's questions, by their ids."""


class Returned(Event, frozen=True, kw_only=True):
    """Claimed items that were never judged go back to open (as moves)."""

    why: str


class Halted(Event, frozen=True, kw_only=True):
    """A limit was reached; the rest is reported and filed, not fixed."""

    limit: str


class Interrupted(Event, frozen=True, kw_only=True):
    """A user or a signal stopped the process; the run can be resumed."""

    reason: str


class Resumed(Event, frozen=True, kw_only=True):
    version: str


class Ended(Event, frozen=True, kw_only=True):
    """The last event of a run."""

    outcome: str


AnyEvent = (
    Started
    | Reviewed
    | Clarified
    | Reproduced
    | Consolidated
    | Planned
    | Attempted
    | Baselined
    | Rechecked
    | Examined
    | Challenged
    | Tried
    | Verified
    | Committed
    | Published
    | Filed
    | Reported
    | Dismissed
    | Failed
    | StepDone
    | RoundEnded
    | Asked
    | Answered
    | Halted
    | Returned
    | Interrupted
    | Resumed
    | Ended
)


class Entry(Struct, frozen=True, kw_only=True):
    """A line of the ledger. `(run, place, key)` names an action for good; `hash`
    chains the lines.
    """

    run: str
    seq: int
    at: float
    place: str
    key: str
    event: AnyEvent
    prev: str = ""
    hash: str = ""
