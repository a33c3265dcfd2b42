"""What tools give: runs, items, tasks and evidence as other programs read them."""

from typing import Any

from msgspec import Struct

from punchlist.app.after.second_look import Verdict
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import Severity
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Attempt, Status
from punchlist.model.item.proof import Proof
from punchlist.model.item.score import Score
from punchlist.model.ledger.run import Question
from punchlist.model.ledger.timeline import Moment
from punchlist.model.patch.hunk import Diff
from punchlist.views.run_state import State
from punchlist.views.summary import Gap, Numbers


class RepositoryLine(Struct, frozen=True, kw_only=True):
    id: str
    name: str


class RunLine(Struct, frozen=True, kw_only=True):
    id: str
    repository: str
    workflow: str
    state: State
    outcome: str
    started_at: float


class RunPage(Struct, frozen=True, kw_only=True):
    total: int
    runs: tuple[RunLine, ...]
    repositories: tuple[RepositoryLine, ...]


class RunNow(Struct, frozen=True, kw_only=True):
    """How a run stands. `seq` is the last line of its ledger; `next` is what to do now."""

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
    """Tasks that lie there for you."""
    question: Question | None
    doubts: tuple[Doubt, ...]
    """What agents want to know of a person, and nobody has answered."""
    not_checked: tuple[Gap, ...]
    trouble: tuple[str, ...]
    story: tuple[Moment, ...]
    """What happened, the newest last; after `after` only, where that was given."""


class ItemLine(Struct, frozen=True, kw_only=True):
    """`code` is its name in tasks, `number` in every other request."""

    number: int
    code: str
    title: str
    severity: Severity
    status: Status
    in_scope: bool
    path: str
    line: int | None
    proof: str
    why: str
    """Why it is not fixed, in the words of whoever said so last."""


class ItemPage(Struct, frozen=True, kw_only=True):
    run: str
    total: int
    items: tuple[ItemLine, ...]


class ItemWhole(Struct, frozen=True, kw_only=True):
    """`findings` are the reports it is made of, with the code; `change` is what was tried last,
    landed or not.
    """

    run: str
    number: int
    code: str
    fingerprint: str
    title: str
    severity: Severity
    status: Status
    in_scope: bool
    path: str
    line: int | None
    commit: str
    issue: str
    flags: tuple[str, ...]
    findings: tuple[Finding, ...]
    attempts: tuple[Attempt, ...]
    proofs: tuple[Proof, ...]
    score: Score | None
    change: Diff | None


class Submitted(Struct, frozen=True, kw_only=True):
    """`items` is what the findings came down to; empty while that is not known yet."""

    run: str
    items: tuple[ItemLine, ...]
    refused: tuple[str, ...]
    """Entries that could not be understood, and why; they are in the ledger as well."""
    already: bool
    """The same key and findings were submitted before."""
    next: str


class TaskWhole(Struct, frozen=True, kw_only=True):
    """Work for you. Do it in `folder` and nowhere else; where not `writes`, change
    nothing there.
    """

    task: str
    run: str
    role: str
    folder: str
    writes: bool
    items: tuple[ItemLine, ...]
    prompt: str
    """What to do. One that is very long breaks off, and says so."""
    prompt_file: str
    """The whole prompt, as a file."""
    schema: dict[str, Any]
    """JSON Schema of the answer."""
    answer_with: str
    """The tool that takes the answer."""


class NextTask(Struct, frozen=True, kw_only=True):
    """`task` is null where there is none now; `next` says what to do then."""

    run: str
    state: State
    task: TaskWhole | None
    next: str


class HandedIn(Struct, frozen=True, kw_only=True):
    task: str
    message: str
    not_mentioned: tuple[str, ...]
    """Items of the task that you said nothing of: they count as deferred, and come back."""
    next: str


class Done(Struct, frozen=True, kw_only=True):
    message: str
    next: str


class Evidence(Struct, frozen=True, kw_only=True):
    """What stands behind an item. `proven` is true only where punchlist saw a proof and git has the
    commit.
    """

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


class Looked(Struct, frozen=True, kw_only=True):
    """What a second look at the present commit saw. `look` is the run that looked; `over` says
    whether it is done.
    """

    run: str
    look: str
    over: bool
    commit: str
    verdicts: tuple[Verdict, ...]
    checks: tuple[str, ...]
    notes: tuple[str, ...]
    next: str
