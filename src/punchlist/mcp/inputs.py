"""Inputs of the tools; each field is described, and unknown fields are errors."""

import json
from importlib.resources import files
from typing import Annotated, Any

from msgspec import Meta, Struct

from punchlist.model.finding.severity import Severity
from punchlist.model.item.claim import ClaimOutcome
from punchlist.model.item.item import Status
from punchlist.model.patch.change import ScopeKind
from punchlist.views.request_fields import RUN_ID, Below, Label, Name, Number, Revision

_FINDING = json.loads((files(__package__) / "finding.schema.json").read_text("utf-8"))
_OWN = f"^(last|{RUN_ID})$"
RunName = Annotated[
    str, Meta(pattern=_OWN, description='A run: its id, the beginning of it, or "last".')
]
TaskName = Annotated[
    str, Meta(pattern=f"^{RUN_ID}/[0-9a-f]{{12}}$", description="The task, as next_task names it.")
]
Path = Annotated[Below, Meta(description="From the root of the repository.")]
Text = Annotated[str, Meta(max_length=20_000)]
Offset = Annotated[int, Meta(ge=0, le=10**9)]
Limit = Annotated[int, Meta(ge=1, le=200)]
Numbers = Annotated[
    tuple[Number, ...], Meta(min_length=1, max_length=200, description="Numbers of items.")
]
Seconds = Annotated[
    float, Meta(ge=0, le=300, description="How long to wait for news before answering.")
]
Repository = Annotated[
    str, Meta(max_length=200, description="By its name or id; only needed where there are several.")
]
Played = Annotated[
    tuple[Name, ...],
    Meta(
        max_length=10,
        description=(
            'The roles that you play yourself, most often ["fixer"]: their tasks come from'
            " next_task. The fixer cannot be the challenger or reproducer as well."
        ),
    ),
]


class ToolInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all inputs; unknown fields are errors."""


class ListRunsInput(ToolInput, frozen=True):
    repository: Repository = ""
    offset: Offset = 0
    limit: Limit = 20


class RunInput(ToolInput, frozen=True):
    run: RunName = "last"


class RunStatusInput(RunInput, frozen=True):
    after: Annotated[
        int,
        Meta(
            ge=0, le=10**12, description="`seq` of the last answer: only what came since is told."
        ),
    ] = 0
    wait_seconds: Seconds = 0


class ListItemsInput(RunInput, frozen=True):
    status: Annotated[tuple[Status, ...], Meta(max_length=10)] = ()
    severity: Annotated[tuple[Severity, ...], Meta(max_length=5)] = ()
    path: Annotated[str, Meta(max_length=500, description="How the path begins.")] = ""
    text: Annotated[str, Meta(max_length=200, description="Somewhere in title, path or code.")] = ""
    in_scope: bool | None = None
    offset: Offset = 0
    limit: Limit = 50


class ItemInput(ToolInput, frozen=True):
    item: Number
    run: RunName = "last"


class ItemsInput(ToolInput, frozen=True):
    items: Numbers
    run: RunName = "last"


class LookAgainInput(ItemsInput, frozen=True):
    look: Annotated[
        str,
        Meta(
            pattern=f"^$|{_OWN}",
            description="The look that is under way: `look` of an earlier answer.",
        ),
    ] = ""
    wait_seconds: Seconds = 60


class StartRunInput(ToolInput, frozen=True):
    repository: Repository = ""
    workflow: Annotated[
        str, Meta(pattern=r"^[a-z]{0,40}$", description="A built-in one. Default: the settings.")
    ] = ""
    kind: Annotated[
        ScopeKind | None, Meta(description="Without it: the branch against its base.")
    ] = None
    base: Annotated[Revision, Meta(description="What the branch is compared with.")] = ""
    commit: Annotated[Revision, Meta(description="For the kind `commit`: which one.")] = ""
    paths: Annotated[tuple[Path, ...], Meta(max_length=1000)] = ()
    play: Played = ()
    agents: Annotated[
        tuple[Name, ...],
        Meta(max_length=10, description="Agents to ask, of those in the settings."),
    ] = ()
    specification: Annotated[
        tuple[Path, ...],
        Meta(max_length=100, description="Files that say what the change is to do."),
    ] = ()
    notes: Annotated[Text, Meta(description="What agents shall know about this run.")] = ""
    story: Annotated[Label, Meta(description="The id of the story under review.")] = ""
    title: Annotated[Label, Meta(description="The story's title.")] = ""
    max_seconds: Annotated[float, Meta(ge=0, le=1e9)] = 0
    allow_checks: Annotated[
        bool, Meta(description="Let the checks found in the repository run; takes the role admin.")
    ] = False
    force: Annotated[bool, Meta(description="Start even if the same request is under way.")] = False


class SubmitInput(ToolInput, frozen=True):
    findings: Annotated[
        tuple[Any, ...],
        Meta(
            min_length=1,
            max_length=1000,
            extra_json_schema={"items": _FINDING},
            description="What you found.",
        ),
    ]
    key: Annotated[
        str,
        Meta(
            max_length=200,
            description=(
                "Any text of your own: the same key with the same findings starts one run only."
            ),
        ),
    ] = ""
    repository: Repository = ""
    workflow: Annotated[
        str, Meta(pattern=r"^[a-z]{1,40}$", description="`review` lists them; others go on to fix.")
    ] = "review"
    kind: ScopeKind | None = None
    play: Played = ()
    wait_seconds: Seconds = 60


class NextTaskInput(RunInput, frozen=True):
    another: Annotated[
        bool, Meta(description="One more, beside those that you have; for work side by side.")
    ] = False
    wait_seconds: Seconds = 20


class TaskInput(ToolInput, frozen=True):
    task: TaskName


class ItemOutcome(ToolInput, frozen=True):
    """The claimed result of one item."""

    id: Annotated[str, Meta(max_length=80, description="The item's code, such as F003.")]
    outcome: ClaimOutcome
    explanation: Annotated[
        Text, Meta(description="What you did, or what is in the way; needed unless it is fixed.")
    ] = ""
    files: Annotated[
        tuple[str, ...], Meta(max_length=500, description="Files you changed for it.")
    ] = ()
    tests: Annotated[
        tuple[str, ...],
        Meta(max_length=100, description="New test files that fail without the fix."),
    ] = ()
    confidence: Annotated[
        Annotated[int, Meta(ge=0, le=100)] | None,
        Meta(description="How sure you are of it, 0 to 100; it decides nothing."),
    ] = None


class OutcomesInput(TaskInput, frozen=True):
    outcomes: Annotated[tuple[ItemOutcome, ...], Meta(min_length=1, max_length=1000)]


class AnswerTaskInput(TaskInput, frozen=True):
    answer: Annotated[dict[str, Any], Meta(description="As the task's `schema` wants it.")]


class AnswerInput(RunInput, frozen=True):
    choice: Annotated[
        str, Meta(max_length=20, description="The letter, for a question with choices.")
    ] = ""
    answers: Annotated[
        dict[str, Text],
        Meta(max_length=1000, description="Texts by the ids of what agents want to know."),
    ] = {}


class ApplyInput(RunInput, frozen=True):
    squash: bool = False
