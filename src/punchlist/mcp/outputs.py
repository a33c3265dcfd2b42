"""Outputs of the tools: runs, items, tasks and evidence."""

from typing import Any

from msgspec import Struct

from punchlist.app.after.second_look import LookVerdict
from punchlist.model.finding.finding import Finding
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Attempt, Status
from punchlist.model.item.proof import Proof
from punchlist.model.item.score import Score
from punchlist.model.ledger.run import Question
from punchlist.model.ledger.timeline import Moment
from punchlist.model.patch.hunk import Diff
from punchlist.views.item_list import ItemHead
from punchlist.views.run_state import State
from punchlist.views.summary import Gap, Numbers


class ListedRepository(Struct, frozen=True, kw_only=True):
    id: str
    name: str


class ListedRun(Struct, frozen=True, kw_only=True):
    id: str
    repository: str
    workflow: str
    state: State
    outcome: str
    started_at: float


class RunList(Struct, frozen=True, kw_only=True):
    total: int
    runs: tuple[ListedRun, ...]
    repositories: tuple[ListedRepository, ...]


class RunStatus(Struct, frozen=True, kw_only=True):
    """State of a run. `seq`: last line of its ledger; `next`: what to do now."""

    id: str
    repository: str
    workflow: str
    state: State
    seq: int
    outcome: str
    headline: str
    next: str
    round: int
    branch: str
    counts: Numbers
    by_status: dict[Status, int]
    tasks: int
    """Tasks that wait for you."""
    question: Question | None
    doubts: tuple[Doubt, ...]
    """What agents want to know of a person; not answered yet."""
    not_checked: tuple[Gap, ...]
    trouble: tuple[str, ...]
    story: tuple[Moment, ...]
    """What happened, the newest last; after `after` only, where that was given."""


class ListedItem(ItemHead, frozen=True, kw_only=True):
    """`code` names the item in tasks, `number` in all other requests."""

    proof: str
    why: str
    """Why it is not fixed, as the last event says."""


class ItemList(Struct, frozen=True, kw_only=True):
    run: str
    total: int
    items: tuple[ListedItem, ...]


class ItemDetail(ItemHead, frozen=True, kw_only=True):
    """`findings`: its reports, with the code; `change`: the last one tried, landed or not."""

    run: str
    fingerprint: str
    commit: str
    issue: str
    flags: tuple[str, ...]
    findings: tuple[Finding, ...]
    attempts: tuple[Attempt, ...]
    proofs: tuple[Proof, ...]
    score: Score | None
    change: Diff | None


class SubmitResult(Struct, frozen=True, kw_only=True):
    """`items`: the items made of the findings; empty while not known yet."""

    run: str
    items: tuple[ListedItem, ...]
    refused: tuple[str, ...]
    """Entries that could not be understood, and why; they are in the ledger as well."""
    already: bool
    """The same key and findings were submitted before."""
    next: str


class TaskDetail(Struct, frozen=True, kw_only=True):
    """A task for you. Work only in `folder`; unless `writes`, change nothing there."""

    task: str
    run: str
    role: str
    folder: str
    writes: bool
    items: tuple[ListedItem, ...]
    prompt: str
    """What to do. One that is very long breaks off, and says so."""
    prompt_file: str
    """The whole prompt, as a file."""
    schema: dict[str, Any]
    """JSON Schema of the answer."""
    answer_with: str
    """The tool that takes the answer."""


class NextTaskResult(Struct, frozen=True, kw_only=True):
    """`task` is null if there is none now; then `next` says what to do."""

    run: str
    state: State
    task: TaskDetail | None
    next: str


class AnswerReceipt(Struct, frozen=True, kw_only=True):
    task: str
    message: str
    not_mentioned: tuple[str, ...]
    """Items of the task that you said nothing of: they count as deferred, and come back."""
    next: str


class Receipt(Struct, frozen=True, kw_only=True):
    message: str
    next: str


class Evidence(Struct, frozen=True, kw_only=True):
    """Evidence for an item. `proven`: punchlist saw a proof, and git has the commit."""

    number: int
    code: str
    title: str
    status: Status
    proven: bool
    said: str
    proofs: tuple[Proof, ...]
    commit: str
    branch: str
    attempts: tuple[Attempt, ...]


class EvidencePage(Struct, frozen=True, kw_only=True):
    run: str
    items: tuple[Evidence, ...]
    checks: tuple[str, ...]
    not_checked: tuple[Gap, ...]
    next: str


class SecondLook(Struct, frozen=True, kw_only=True):
    """Result of a second look at the present commit. `look`: the run that looked; `over`: it has
    ended.
    """

    run: str
    look: str
    over: bool
    commit: str
    verdicts: tuple[LookVerdict, ...]
    checks: tuple[str, ...]
    notes: tuple[str, ...]
    next: str
