"""All events of a run, as frozen values; the ledger is a list of these."""

from msgspec import Struct

from punchlist.model.checks.changed_lines import LineCount
from punchlist.model.checks.check import Check, CheckVerdict
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.finding.known_finding import KnownFinding
from punchlist.model.finding.languages import MissedFiles, UnseenFiles
from punchlist.model.finding.selection import FolderSelection
from punchlist.model.item.batch import Batch, CommitGrouping
from punchlist.model.item.claim import ItemClaim
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Item, Move
from punchlist.model.item.proof import Proof
from punchlist.model.item.score import Score
from punchlist.model.item.todo import Todo
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.earlier_runs import Debt, Dismissal
from punchlist.model.ledger.story import Story
from punchlist.model.patch.change import Change
from punchlist.model.patch.hunk import Hunk
from punchlist.model.patch.patch import Patch


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag=str.lower):
    """Fields of every event: moves of items, its cost, and what the sandbox of its children lacked,
    as "KIND: WHAT".
    """

    moves: tuple[Move, ...] = ()
    usage: Usage = Usage()
    weaknesses: tuple[str, ...] = ()
    pins: dict[str, str] = {}
    """SHA-256 of the files of evidence that belong to it, by name in the run's folder."""
    worker: str = ""
    """The worker of a fleet that did it for the one that drives the run; '' if that did it."""


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
    """Findings given as files; they are read once."""
    document_files: tuple[str, ...] = ()
    """The artifacts that hold them, in the same order."""
    checks: tuple[Check, ...]
    checks_allowed: bool
    version: str
    request: str = ""
    """Hash of the request: the same one is refused while the first runs."""
    owed: tuple[Debt, ...] = ()
    """What earlier runs could not file, and this one shall."""
    dismissed: dict[str, Dismissal] = {}
    """By fingerprint: what was dismissed in earlier runs of this repository."""
    crew: dict[str, tuple[str, ...]] = {}
    """By role: the agents that play it, each for when the one before it fails."""
    outside: tuple[str, ...] = ()
    """Agents that punchlist does not start; each has one conversation for all its roles."""
    same_agents: dict[str, tuple[str, ...]] = {}
    """By role and agent ("challenger codex"): the fixers that are the same program and model."""
    missing_agents: dict[str, str] = {}
    """Agents for when others fail that were not installed, with the line that installs each."""
    specification: tuple[str, ...] = ()
    """Files that say what the change is meant to do, for reviewers that ask for them."""
    notes: str = ""
    """What the user wants agents to know."""
    commits: CommitGrouping = CommitGrouping.MADE
    """How fixes are grouped in commits, unless the workflow says it."""
    issue_ids: tuple[str, ...] = ()
    """The issues that a client chose: they are the items of this run, and nothing is reviewed."""
    judges: tuple[str, ...] = ()
    """Analyzers that look only at fixes, because the items were chosen."""
    keep: str = ""
    """Where the results are copied when the run ends, if anywhere."""
    rounds: int | None = None
    """How many rounds at most the user asked for, 0 for no fixes; None: as the workflow says."""
    threshold: int | None = None
    """The least score that approves a fix, as the user asked; None: as the workflow says."""
    commit_subject: str = ""
    """The first line of commit messages, with {round}, {title}, {story} and {items}; '' for
    punchlist's own.
    """
    story: Story = Story()
    """What the review is about."""
    coverage: float = 0
    """The test coverage that is demanded, in per cent; 0 for none."""
    documents_folder: str = ""
    """The folder of the checkout where findings documents are written as well."""
    configurations: tuple[ToolConfiguration, ...] = ()
    """Of analyzers whose configuration on the base names other files or loads code."""
    selections: dict[str, FolderSelection] = {}
    """By folder: which findings count there; the nearest one holds."""
    new_against: str = ""
    """The commit whose findings are no new ones, if only new ones are asked for anywhere."""
    baseline: tuple[KnownFinding, ...] = ()
    """Of the baseline that the base has: the findings of the files under review."""
    gone: tuple[str, ...] = ()
    """Paths in it that the commit under review does not have: their code may have moved."""
    seeks_checks: bool = True
    """Whether the project's checks were looked for. A workflow that runs none does not look."""
    pull: str = ""
    """The address of the pull request that the run is about, if it is about one."""
    orders: tuple[str, ...] = ()
    """Comments there whose order to run again, or to fix, it obeys."""
    identity: str = ""
    """What the repository is called on every machine, where `repository` is its path on one: its
    remote without credentials, or its registered name.
    """
    committer_name: str = ""
    """Author of the run's commits, on whichever machine they are made. Empty in a ledger of old:
    then it is the user of the machine.
    """
    committer_email: str = ""
    prompt_files: dict[str, str] = {}
    """By role: the artifact with its prompt. A ledger of old has none: then it is that of the
    settings and the version that goes on.
    """


class Reviewed(Event, frozen=True, kw_only=True):
    """A review. `failed`: why its result cannot be used; then the run cannot end clean."""

    reviewer: str
    commit: str
    findings: tuple[Finding, ...] = ()
    refused: tuple[RefusedEntry, ...] = ()
    looked_at: int = 0
    failed: str = ""
    skipped: str = ""
    """Why it had nothing to do here (no files of its language); not a failure."""
    unread: tuple[str, ...] = ()
    """Files it could not look at, "" if they are unknown: about these its silence says nothing."""
    agent: str = ""
    """The agent that played the reviewer, if it is a role."""
    unopened: tuple[str, ...] = ()
    """Files of the change that an agent was neither shown nor seen to open."""
    opened: tuple[str, ...] | None = None
    """Files that an agent opened where the whole repository is under review, else None."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Ids of findings that can be fixed together, as the reviewer says."""
    transcript: str = ""
    caused: tuple[str, ...] = ()
    """Ids of findings outside the changed lines that an analyzer does not report of the base."""
    old: tuple[str, ...] = ()
    """Ids of findings that an analyzer reports of the base, too, if only new ones are asked for."""
    missed: dict[str, str] = {}
    """By file that an analyzer was given and, as it says itself, did not look at: why."""
    left_out: tuple[str, ...] = ()
    """Files that the project's own settings keep an analyzer from."""
    left_out_by: str = ""
    """Where these settings are."""
    given: bool = False
    """Whether the analyzer does not say which files it looked at: it was given them."""


class Clarified(Event, frozen=True, kw_only=True):
    """An agent's questions, which wait for the user. `ready`: it has no more."""

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
    """Whether a fix of this run may have caused it: then the item is in scope."""


class Consolidated(Event, frozen=True, kw_only=True):
    """Findings became items: new ones, sightings of known ones, those no longer seen (as moves)."""

    items: tuple[Item, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    rule: str = "smart"


class Planned(Event, frozen=True, kw_only=True):
    """The batches of this round."""

    batches: tuple[Batch, ...]
    waiting: int = 0
    """Items whose fix overlaps another's, and comes next round."""
    todos: tuple[Todo, ...] = ()
    after: dict[int, tuple[int, ...]] = {}
    """By batch: those whose work must be done before it begins."""
    files: tuple[str, ...] = ()
    """The plan as files that the user may edit; they are read before the fixing starts."""
    answers: dict[str, str] = {}
    """To agents' questions, as the user wrote them into the files."""
    agent: str = ""
    session: str = ""
    transcript: str = ""
    failed: str = ""
    """Why the planner did not plan; then the batches are punchlist's own."""


class Attempted(Event, frozen=True, kw_only=True):
    """The patch of each batch that a fixer has one for."""

    fixer: str
    patches: dict[int, Patch] = {}
    refused: dict[int, str] = {}
    hunks: dict[int, tuple[Hunk, ...]] = {}
    """The patches as people read them."""
    dropped: dict[int, tuple[Hunk, ...]] = {}
    """By item that was not fixed: what the agent changed for it, which is in no patch."""
    agent: str = ""
    reports: tuple[ItemClaim, ...] = ()
    """What the agent says of each item."""
    noted: dict[int, tuple[str, ...]] = {}
    """By batch: what is worth a look, such as files that no finding is about."""
    batches: tuple[Batch, ...] = ()
    """The agent's batches with the files of the patch, not those of the plan."""
    absorbed: dict[int, int] = {}
    """Batches that another was built over, and that are judged with it: old number to new."""
    left_out: tuple[int, ...] = ()
    """Items that did not fit into the prompt."""
    sessions: dict[int, str] = {}
    """By item: the conversation it was worked on in."""
    transcript: str = ""
    failed: str = ""


class Baselined(Event, frozen=True, kw_only=True):
    """A check's result on the base. `unusable`: why it cannot judge."""

    check: str
    exit_code: int | None = None
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unusable: str = ""
    sentinel: str = ""
    judges: tuple[str, ...] = ()
    """Kinds of source, as suffixes, in which it noticed a planted failure; it judges no others."""
    artifact: str = ""
    cached: bool = False
    unloaded: tuple[str, ...] = ()
    """Test files that could not be imported; they are no tests that failed."""
    cause: str = ""
    """Why tests could not be imported, none passed, or some failed for want of a package, as the
    runner printed it.
    """
    remedy: str = ""
    """What the user can do so that the check can judge."""
    lines_unknown: str = ""
    """Why it is not known which lines the check executes."""
    gate: bool = False
    """It proves nothing; if it is green on the base it must stay green."""


class Rechecked(Event, frozen=True, kw_only=True):
    """The analyzers ran over the fixed tree: which batches removed their findings."""

    passed: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()
    """Passed batches whose own analyzer ran and is silent; findings from documents have none."""
    failed: dict[int, str] = {}
    followed_by: dict[int, tuple[str, ...]] = {}
    """By batch: the lesser findings it causes, which have a fix of their own."""
    unproven: dict[str, str] = {}
    """By analyzer: why its silence about an agent's fix is no proof."""
    formatted: dict[int, Patch] = {}
    """By batch: its patch, with what the project's formatters change after it, and with fixes of
    what it brings about.
    """
    hunks: dict[int, tuple[Hunk, ...]] = {}
    """These patches as people read them."""


class Examined(Event, frozen=True, kw_only=True):
    """An agent's batch, examined alone: what refutes it, and the proofs of each item."""

    batch: int
    refuted: str = ""
    proofs: dict[int, tuple[Proof, ...]] = {}
    noted: tuple[str, ...] = ()
    """What proves nothing: vacuous tests, comparisons that could not be made."""


class Challenged(Event, frozen=True, kw_only=True):
    """Another agent's scores; items below the threshold go back (as moves)."""

    scores: tuple[Score, ...] = ()
    threshold: int = 90
    approved: tuple[int, ...] = ()
    """Batches of which all items reached the threshold."""
    failed: str = ""
    agent: str = ""
    transcript: str = ""
    canaries: str = ""
    """How well the challenger did on planted patches, in words."""


class Covered(Event, frozen=True, kw_only=True):
    """How many changed lines of each batch the checks execute, before any batch is tried: a tool's
    fix that needs the checks, and that none can judge, costs no run of them.
    """

    lines: dict[int, LineCount] = {}
    """By batch, where that is known."""
    untried: dict[int, str] = {}
    """Why a batch is not tried, as no check could prove it."""


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
    """Batches that may land; the items of others go back with evidence (as moves)."""

    passed: tuple[int, ...] = ()
    failed: dict[int, str] = {}
    unverified: str = ""
    """Why no check judged, if none did."""
    unstable: tuple[str, ...] = ()
    """Tests that fail without any fix, too."""
    noise: bool = False
    """Whether the checks were red, and green when they were run again with the same fixes."""
    lines: dict[int, LineCount] = {}
    """By batch: how many of its changed lines the checks execute, where that is known."""


class Landed(Struct, frozen=True, omit_defaults=True):
    """The commit in which a batch was proven."""

    batch: int
    commit: str
    items: tuple[int, ...] = ()
    rule: str = ""
    """The rule that its first item breaks, if it has a name; the rules of all items, joined by
    ", ", if a tool made the fix.
    """
    by_agent: bool = False
    round: int = 0
    """The review round whose findings it fixes; 0 in ledgers of old."""


class Committed(Event, frozen=True, kw_only=True):
    """Commits on the run's own branch; `refused` is what a git hook said."""

    branch: str
    tip: str
    landed: tuple[Landed, ...] = ()
    refused: str = ""
    unheard: str = ""
    """Why a git hook of the repository was not run."""


class Published(Event, frozen=True, kw_only=True):
    """The branch in the user's repository; `failed`: why the commits are not there."""

    branch: str
    tip: str
    failed: str = ""
    source: str = ""
    """The last proven commit that `tip` contains, if `tip` groups them in another way."""
    commits: dict[str, tuple[int, ...]] = {}
    """By commit that stands for others: the batches in it."""


class Filed(Event, frozen=True, kw_only=True):
    """Items filed with the tracker (as moves); the next run tries the `failed` ones again."""

    tracker: str
    failed: dict[int, str] = {}
    settled: dict[str, str] = {}
    """By name of a debt of earlier runs: its issue now, or "" if nothing is left to file."""
    owed: dict[str, str] = {}
    """By name of a debt of earlier runs: why it could not be filed this time either."""


class Surveyed(Event, frozen=True, kw_only=True):
    """What no reviewer looked at, of the program files under review."""

    unseen: tuple[UnseenFiles, ...] = ()
    left_out: int = 0
    """Files that the user's settings leave out of the review."""
    unknown: tuple[str, ...] = ()
    """Analyzers of which it is not known what else they looked at, if files are unseen."""
    seen: dict[str, int] = {}
    """By language: how many files a reviewer looked at."""
    missed: tuple[MissedFiles, ...] = ()
    """Files that an analyzer was given and did not look at: the review is not complete."""
    excluded: tuple[MissedFiles, ...] = ()
    """Files that the project's own settings keep an analyzer from."""
    uncounted: tuple[UnseenFiles, ...] = ()
    """Files that no reviewer looked at, in languages that do not count."""
    vendored: dict[str, int] = {}
    """By the pattern, `generated` or `minified`: how many files a look at the whole repository
    leaves out.
    """


class Reported(Event, frozen=True, kw_only=True):
    """Reports written; `listed` are the unresolved items."""

    artifacts: tuple[str, ...] = ()
    listed: tuple[int, ...] = ()
    placed: tuple[str, ...] = ()
    """Findings documents in the user's checkout, by their path from its root."""


class Kept(Event, frozen=True, kw_only=True):
    """The run's files were copied to a store; `failed`: why some are not there."""

    to: str
    files: int = 0
    failed: str = ""


class Dismissed(Event, frozen=True, kw_only=True):
    """A user dismissed items (as moves); later runs know the `fingerprints`, unless `revoked`."""

    by: str
    why: str
    fingerprints: tuple[str, ...] = ()
    revoked: bool = False


class Ordered(Event, frozen=True, kw_only=True):
    """A comment on the pull request gave an order; `refused` says why it was not obeyed."""

    by: str
    order: str
    comment: str
    thread: str = ""
    refused: str = ""


class Shown(Event, frozen=True, kw_only=True):
    """The pull request was made to show the run as it stood at the commit `head`."""

    pull: str
    head: str
    updates: int
    notes: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    """Threads that have come to their end and were resolved."""
    applied: dict[int, str] = {}
    """By item: the commit with its fix, if that was pushed without the others."""
    stack: str = ""
    """The tip of the branch of the pull request with the fixes, if there is one."""
    stacked: dict[int, str] = {}
    """By item: the commit there with its fix."""


class Failed(Event, frozen=True, kw_only=True):
    """An action could not be done; the step decides what that means."""

    reason: str
    hint: str = ""


class Begun(Event, frozen=True, kw_only=True):
    """A stage of the run starts, or within it a call of an agent: then `role` names its role."""

    verb: str
    step: str
    """The place of the step in the workflow."""
    round: int
    about: str = ""
    """What is done now, in words."""
    role: str = ""
    agents: tuple[str, ...] = ()
    """Those who play the role, each asked if the one before it fails."""


class ConnectionRefused(Event, frozen=True, kw_only=True):
    """A child tried to reach a host that it may not reach, and was refused."""

    child: str
    """The agent with its role, as "claude (fixer)"."""
    target: str
    """HOST:PORT; '' if the request could not be read."""
    why: str
    label: str = ""
    """The call of the agent."""


class HostBytes(Struct, frozen=True, omit_defaults=True):
    """Traffic with one host."""

    connections: int
    sent: int = 0
    received: int = 0


class Contained(Event, frozen=True, kw_only=True):
    """A child has ended: what held it meanwhile, and which hosts it reached."""

    child: str
    sandbox: str
    """`bubblewrap` or `none`."""
    keys_held: tuple[str, ...] = ()
    """Variables whose key it did not get: the proxy added it to its requests."""
    reached: dict[str, HostBytes] = {}
    """By HOST:PORT."""
    refused: int = 0
    """Tries to reach other hosts; the first of each kind is a `ConnectionRefused` event."""
    label: str = ""


class StepDone(Event, frozen=True, kw_only=True):
    """The step at this place has nothing more to do."""

    verb: str


class RoundEnded(Event, frozen=True, kw_only=True):
    """`stop` says why the loop ends; if it is empty, another round begins."""

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
    overrides: tuple[str, ...] = ()
    """What the run's user asked for and does not get on the worker that goes on with it."""


class Ended(Event, frozen=True, kw_only=True):
    outcome: str


WorkEvent = (
    Reviewed | Clarified | Reproduced | Consolidated | Planned | Attempted | Baselined | Rechecked
    | Examined | Challenged | Covered | Tried | Verified | Committed | Published | Filed | Surveyed
    | Reported | Kept
)  # fmt: skip
"""What is done about findings."""
ControlEvent = (
    Started | Failed | Begun | StepDone | RoundEnded | Asked | Answered | Halted | Returned
    | Interrupted | Resumed | Ended | Dismissed | Ordered | Shown
)  # fmt: skip
"""How the run goes on."""
ChildEvent = ConnectionRefused | Contained
"""What children were held by and tried to reach."""
AnyEvent = WorkEvent | ControlEvent | ChildEvent


class Entry(Struct, frozen=True, kw_only=True):
    """A line of the ledger. `(run, place, key)` names an action; `hash` chains the lines."""

    run: str
    seq: int
    at: float
    place: str
    key: str
    event: AnyEvent
    prev: str = ""
    hash: str = ""
