"""Schemas of the fix requests and their answers; the plan is that of the plan files."""

from typing import Annotated

from msgspec import Meta, Struct

from punchlist.views.plans.plan_forms import Master, Sheet
from punchlist.views.request_fields import Below, Name
from punchlist.web.schemas import Body, Identifier, Line

IssueId = Annotated[str, Meta(pattern=r"^[^\x00-\x20][^\x00-\x1f]{0,199}$")]
"""An item of an earlier run (the run's id and the item's number or code, 261115-0a1b2c/7), or an
issue that the client hands over, by the client's own id.
"""
CODE = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
MASTER_PATH = "plan/master_todo.json"


class GivenIssue(Body, frozen=True, kw_only=True):
    """An issue that the client hands over. Its id and code come back in every answer, event and
    plan file; without a code punchlist gives it one (F001).
    """

    issue_id: IssueId
    title: Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
    issue_code: Annotated[str, Meta(pattern=f"^({CODE})?$")] = ""
    category: Annotated[str, Meta(max_length=200)] = ""
    severity: Annotated[str, Meta(max_length=40)] = ""
    """Any usual word; without one it counts as major."""
    file: Below | None = None
    line: Annotated[int, Meta(ge=1, le=10**9)] | None = None
    description: Line = ""
    suggestion: Line = ""
    user_notes: Line = ""
    """What the fixer shall know about this issue."""


class Session(Body, frozen=True, kw_only=True):
    """The issues of a session: they are its items, and nothing else is reviewed, planned or fixed.
    Of `issues` those that `issue_ids` names, or all. Without any issue, the change itself is
    reviewed first. `force` starts a second session for them.
    """

    repository_id: Identifier
    issue_ids: Annotated[tuple[IssueId, ...], Meta(max_length=1000)] = ()
    issues: Annotated[tuple[GivenIssue, ...], Meta(max_length=1000)] = ()
    agents: Annotated[tuple[Name, ...], Meta(max_length=10)] = ()
    user_notes: Line = ""
    force: bool = False
    rounds: int | None = None
    """How often is tried at most, 0 to 100: 2 are one fix and one re-fix. Default: the setting
    `rounds`, else 2.
    """
    max_iterations: int | None = None
    """Another name for `rounds`."""
    threshold: int | None = None
    """The least score that is SOLVED, 1 to 100. Default: the setting `threshold`, else 90."""


class Clarify(Session, frozen=True, kw_only=True):
    """The first time without a session; then with it, and answers by the questions' ids."""

    session_id: Identifier | None = None
    answers: dict[str, Line] | None = None


class Onward(Session, frozen=True, kw_only=True):
    """A step after clarifying: it goes on with a session, or begins one. `clarify`: whether the
    agent may ask what is unclear in a session that begins here.
    """

    clarify_session_id: Identifier | None = None
    clarify: bool = False


class MakePlan(Onward, frozen=True, kw_only=True):
    """A plan is made; nothing is fixed."""


class StartFix(Onward, frozen=True, kw_only=True):
    """`task_id` is the caller's own. `master_todo_path` is the plan of the session, if it is given
    at all.
    """

    task_id: Annotated[str, Meta(max_length=200)] | None = None
    master_todo_path: Annotated[str, Meta(max_length=200)] | None = None


class OpenQuestion(Struct, frozen=True):
    id: str
    question: str
    context: str


class IssueQuestions(Struct, frozen=True):
    issue_code: str
    questions: tuple[OpenQuestion, ...]
    issue_id: str = ""


class Clarified(Struct, frozen=True, kw_only=True):
    """`state` is that of the run; where it is neither waiting nor ready to plan, `message` says
    why.
    """

    session_id: str
    has_questions: bool
    questions_by_issue: tuple[IssueQuestions, ...]
    ready_to_plan: bool
    state: str
    message: str = ""
    issue_ids: tuple[str, ...] = ()
    """The issues that were chosen, by their ids as they were given."""


class Plan(Struct, frozen=True, kw_only=True):
    """`ready`: it waits for POST /api/fix/start, and can be changed until then. `problems` must be
    put right before. Where there is nothing to plan, `state` is that of the run.
    """

    session_id: str
    ready: bool
    state: str
    message: str
    master_todo_path: str
    master_todo: Master
    todos: tuple[Sheet, ...]
    problems: tuple[str, ...] = ()
    issue_ids: tuple[str, ...] = ()
