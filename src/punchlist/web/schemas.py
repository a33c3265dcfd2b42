"""Requests and answers, for the server, its OpenAPI document and the client."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Status
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.run import Question
from punchlist.model.patch.change import ScopeKind
from punchlist.views.item_list import ItemHead
from punchlist.views.request_fields import RUN_ID, Below, Folder, Label, Name, Number, Revision
from punchlist.views.summary import Gap, Numbers

LARGEST_BODY = 8 * 1024 * 1024
IDENTIFIER = f"^{RUN_ID}$"
Identifier = Annotated[str, Meta(pattern=IDENTIFIER)]
Line = Annotated[str, Meta(max_length=4000)]
Rule = Annotated[str, Meta(min_length=1, max_length=200)]


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request body; an unknown field is an error."""


class Health(Struct, frozen=True):
    version: str


class RepositoryPart(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    root: str


class Registering(Body, frozen=True, kw_only=True):
    """`path` is that of a git repository on the server's machine. This is the one request that
    names one.
    """

    path: Annotated[str, Meta(min_length=1, max_length=4000)]


class Document(Body, frozen=True, kw_only=True):
    """Findings as a file: SARIF, JSON, rdjson or Markdown; the name says which."""

    name: Name
    content: str


class Starting(Body, frozen=True, kw_only=True):
    """A run to be started. `workflow` is a built-in one; `allow_checks` wants the role admin."""

    repository_id: Identifier
    workflow: Annotated[str, Meta(pattern=r"^[a-z]{0,40}$")] = ""
    kind: ScopeKind | None = None
    base: Revision = ""
    commit: Revision = ""
    paths: Annotated[tuple[Below, ...], Meta(max_length=1000)] = ()
    findings: Annotated[tuple[Document, ...], Meta(max_length=20)] = ()
    agents: Annotated[tuple[Name, ...], Meta(max_length=10)] = ()
    specification: Annotated[tuple[Below, ...], Meta(max_length=100)] = ()
    notes: Line = ""
    story: Label = ""
    """The id of the story that the review is about."""
    title: Label = ""
    """The story's title."""
    documents: Folder = ""
    """A folder of the repository where findings documents are written as well."""
    max_seconds: Annotated[float, Meta(ge=0, le=1e9)] = 0
    max_dollars: Annotated[float, Meta(ge=0, le=1e9)] = 0
    allow_checks: bool = False
    force: bool = False
    rounds: int | None = None
    """At most so many rounds of fixing, 0 to 100; 0 fixes nothing. Default: the setting `rounds`,
    else as the workflow says.
    """
    threshold: int | None = None
    """The least score, 1 to 100, with which a challenger approves a fix."""


class Answering(Body, frozen=True, kw_only=True):
    """A letter for a question with choices, or texts by the ids of what agents want to know. Then
    the run goes on, if it can.
    """

    choice: Annotated[str, Meta(max_length=20)] = ""
    answers: Annotated[dict[str, Line], Meta(max_length=1000)] = {}
    asked: Annotated[int, Meta(ge=0, le=10**6)] = 0
    """How many questions the run had asked when you looked (its `asked`): an answer to an earlier
    one is then refused.
    """
    resume: bool = True


class Dismissing(Body, frozen=True, kw_only=True):
    """Which items need no work, and why: by number; all of a rule or below a path; with both, those
    of the numbers that fit. `undo` takes a dismissal back, and needs no reason.
    """

    numbers: Annotated[tuple[Number, ...], Meta(max_length=10_000)] = ()
    rules: Annotated[tuple[Rule, ...], Meta(max_length=100)] = ()
    paths: Annotated[tuple[Below, ...], Meta(max_length=100)] = ()
    why: Line = ""
    undo: bool = False


class Applying(Body, frozen=True, kw_only=True):
    squash: bool = False


class Done(Struct, frozen=True):
    """That something was done, in words."""

    message: str


class Dismissals(Struct, frozen=True, kw_only=True):
    """The items that were dismissed, or restored, and by which user."""

    run: str
    items: tuple[int, ...]
    by: str
    why: str
    undone: bool


class RunLine(Struct, frozen=True, kw_only=True):
    """A run as a list shows it. `state`: running, waiting, stopped or ended."""

    id: str
    repository_id: str
    workflow: str
    state: str
    outcome: str
    started_at: float
    last_at: float
    seconds: float
    entries: int


class RunPage(Struct, frozen=True, kw_only=True):
    total: int
    runs: tuple[RunLine, ...]


class RunPart(Struct, frozen=True, kw_only=True):
    """How a run stands. `seq` is the ledger's last line; `state`: running, waiting, interrupted,
    stopped or ended.
    """

    id: str
    repository_id: str
    workflow: str
    state: str
    seq: int
    started_at: float
    seconds: float
    branch: str
    tip: str
    outcome: str
    headline: str
    advice: str
    round: int
    counts: Numbers
    by_status: dict[Status, int]
    asked: int
    """How many questions with choices it has asked by now."""
    question: Question | None
    """What it waits with, if that has choices."""
    doubts: tuple[Doubt, ...]
    """What agents wanted to know; those without an answer are waited for."""
    not_checked: tuple[Gap, ...]
    usage: Usage
    trouble: tuple[str, ...]
    story: str = ""
    """The story that the review is about, as "Story 2.3: Cart totals"."""
    documents: tuple[str, ...] = ()
    """Findings documents in the user's checkout, by their path from its root."""


class _ItemId(ItemHead, frozen=True):
    id: str  # positional, and so before the keyword-only fields of ItemHead in the JSON


class ItemLine(_ItemId, frozen=True, kw_only=True):
    """`id` names the item in requests, `code` in plans."""

    proofs: tuple[str, ...]
    score: int | None
    tries: int
    commit: str
    issue: str
    issue_id: str = ""
    issue_code: str = ""
    """Its id and code as the client that chose it has them, else fingerprint and code (F007)."""
    category: str = ""
    confidence: int | None = None
    """How sure the fixer said it was, 0 to 100; no proof."""


class ItemPage(Struct, frozen=True, kw_only=True):
    total: int
    items: tuple[ItemLine, ...]


class EventLine(Struct, frozen=True, kw_only=True):
    """One line of the ledger. `event` is what happened, as the ledger has it; settings are left
    out.
    """

    run: str
    seq: int
    at: float
    place: str
    key: str
    kind: str
    event: dict[str, Any]


class EventPage(Struct, frozen=True, kw_only=True):
    """`last` is where the next page begins (`after`); `more` says whether there is one by now."""

    last: int
    more: bool
    events: tuple[EventLine, ...]


class Sent(Struct, frozen=True, kw_only=True):
    """One Server-Sent Event. `data` is JSON; without an `id` the event is beside the ledger, and is
    not sent again.
    """

    event: str
    data: str
    id: str = ""


class ArtifactLine(Struct, frozen=True):
    name: str
    size: int
