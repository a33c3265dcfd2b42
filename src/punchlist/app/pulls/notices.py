"""What a forge's notice says: which pull request must be looked at, or why none."""

import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.ci.payload import (
    CheckPayload,
    CommentPayload,
    GroupPayload,
    MergePayload,
    NotePayload,
    NoticePayload,
    PullPayload,
    ThreadPayload,
    has_order,
    parse_payload,
)
from punchlist.errors import UsageError
from punchlist.ports.serving.pull_notices import PullNotice
from punchlist.views.pulls.board import CHECK

_NAME = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w.-]+(?:/[\w.-]+)+", re.ASCII)
_LONGEST_NAME = 1000
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_QUEUED = re.compile(r"refs/heads/gh-readonly-queue/.+/pr-(?P<number>[1-9][0-9]{0,8})-[0-9a-f]{40}")
"""A branch of GitHub's merge queue."""
_ACTIONS = frozenset(
    {"opened", "reopened", "synchronize", "synchronized", "ready_for_review", "edited", "closed"}
)
_MERGE_ACTIONS = frozenset({"open", "reopen", "update", "close", "merge"})
_ENDS = frozenset({"closed", "close", "merge"})
"""After these only a pull request with fixes for it is closed: there is no commit to review."""
_NO_ORDER = "the comment has no order for punchlist"


class NothingAsked(Struct, frozen=True):
    """A notice after which no pull request has to be looked at."""

    why: str


class _Asked(Struct, frozen=True, kw_only=True):
    """The pull request that a notice is about."""

    number: int
    head: str = ""
    again: bool = False
    group: str = ""
    name: str = ""
    """The name of the repository, if it stands elsewhere than in most notices."""


def parse_notice(forge: str, event: str, body: bytes) -> PullNotice | NothingAsked:
    """Return which pull request must be looked at. Raise UsageError if the notice is malformed."""
    what = f"the notice is no {event[:60]!a} of {forge}"
    read = READERS[forge].get(event)
    if read is None:
        return NothingAsked(_REASONS.get(event, f"{event[:40]!a} asks for nothing"))
    asked = read(body, what)
    if isinstance(asked, NothingAsked):
        return asked
    name = asked.name or parse_payload(body, what, NoticePayload).repository.full_name
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise UsageError(f"{what}: it names no repository")
    head, group = (each if _COMMIT.fullmatch(each) else "" for each in (asked.head, asked.group))
    named = PullNotice(forge=forge, repository=name, number=asked.number)
    return replace(named, head=head, again=asked.again, group=group)


def _leave(action: str) -> NothingAsked:
    return NothingAsked(f"{action[:40]!a} asks for nothing")


def _read_pull(body: bytes, what: str) -> _Asked | NothingAsked:
    found = parse_payload(body, what, PullPayload)
    if found.action not in _ACTIONS:
        return _leave(found.action)
    head = "" if found.action in _ENDS else found.pull_request.head.sha
    return _Asked(number=found.pull_request.number, head=head)


def _read_comment(body: bytes, what: str) -> _Asked | NothingAsked:
    """Read a comment: only an order asks for a look; other people's findings wait for the next."""
    found = parse_payload(body, what, CommentPayload)
    pull = found.pull_request or (found.issue if found.issue and found.issue.pull_request else None)
    if pull is None or found.comment is None or not found.comment.has_order:
        return NothingAsked(_NO_ORDER)
    return _leave(found.action) if found.action == "deleted" else _Asked(number=pull.number)


def _read_review(body: bytes, what: str) -> _Asked | NothingAsked:
    """Read a review: one that requests changes is a finding, any may have an order."""
    found = parse_payload(body, what, CommentPayload)
    if found.pull_request is None or found.review is None:
        return NothingAsked(_NO_ORDER)
    requests = found.review.state == "changes_requested" and found.action == "submitted"
    if not requests and (found.action == "dismissed" or not found.review.has_order):
        return NothingAsked("the review neither requests changes nor has an order for punchlist")
    return _Asked(number=found.pull_request.number)


def _read_gitea_review(body: bytes, what: str) -> _Asked | NothingAsked:
    """Read a review of Gitea. The notice leaves out the comments at lines, which may have orders:
    a review with nothing else is looked at.
    """
    found = parse_payload(body, what, CommentPayload)
    if found.pull_request is None or found.review is None:
        return NothingAsked(_NO_ORDER)
    if found.review.content and not found.review.has_order:
        return NothingAsked("the review neither requests changes nor has an order for punchlist")
    return _Asked(number=found.pull_request.number)


def _read_approval(body: bytes, what: str) -> _Asked | NothingAsked:
    found = parse_payload(body, what, CommentPayload)
    if found.pull_request is None or found.review is None or not found.review.has_order:
        return NothingAsked("the approval has no order for punchlist")
    return _Asked(number=found.pull_request.number)


def _read_rejection(body: bytes, what: str) -> _Asked | NothingAsked:
    found = parse_payload(body, what, CommentPayload)
    return _Asked(number=found.pull_request.number) if found.pull_request else _leave(found.action)


def _read_thread(body: bytes, what: str) -> _Asked | NothingAsked:
    """Read that a thread was resolved, which dismisses its item if a person did it, or opened."""
    found = parse_payload(body, what, ThreadPayload)
    if found.sender.type == "Bot":
        return NothingAsked("a bot did that: it dismisses nothing")
    if found.action not in {"resolved", "unresolved"}:
        return _leave(found.action)
    return _Asked(number=found.pull_request.number)


def _read_check(body: bytes, what: str) -> _Asked | NothingAsked:
    """Read that a person wants a check once more, ours or all of our app."""
    found = parse_payload(body, what, CheckPayload)
    check = found.check_run or found.check_suite
    if found.action != "rerequested" or check is None:
        return _leave(found.action)
    if found.check_run and check.name != CHECK:
        return NothingAsked(f"the check {check.name[:40]!a} is not ours")
    if not check.pull_requests:
        return NothingAsked("the check names no pull request; one of a fork: /punchlist again")
    pull = check.pull_requests[0]
    return _Asked(number=pull.number, head=pull.head.sha, again=True)


def _read_group(body: bytes, what: str) -> _Asked | NothingAsked:
    """Read that a merge queue wants the verdict of a commit that it made of a pull request."""
    found = parse_payload(body, what, GroupPayload)
    queued = _QUEUED.fullmatch(found.merge_group.head_ref)
    if found.action != "checks_requested":
        return _leave(found.action)
    if queued is None:
        return NothingAsked("the branch of the merge group names no pull request")
    return _Asked(number=int(queued["number"]), group=found.merge_group.head_sha)


def _read_merge_request(body: bytes, what: str) -> _Asked | NothingAsked:
    found = parse_payload(body, what, MergePayload)
    asked = found.object_attributes
    if asked.action not in _MERGE_ACTIONS:
        return _leave(asked.action)
    name = found.project.path_with_namespace
    head = "" if asked.action in _ENDS else asked.last_commit.id
    return _Asked(number=asked.iid, head=head, name=name)


def _read_note(body: bytes, what: str) -> _Asked | NothingAsked:
    """Read a comment on GitLab; not an internal one, nor what GitLab itself notes there."""
    found = parse_payload(body, what, NotePayload)
    note, request = found.object_attributes, found.merge_request
    if request is None or note.noteable_type != "MergeRequest":
        return NothingAsked("the comment is not on a merge request")
    if note.internal:
        return NothingAsked(_REASONS["Confidential Note Hook"])
    if note.system or not has_order(note.note or ""):
        return NothingAsked(_NO_ORDER)
    return _Asked(number=request.iid, name=found.project.path_with_namespace)


_Reader = Callable[[bytes, str], _Asked | NothingAsked]
READERS: dict[str, dict[str, _Reader]] = {
    "github": {
        "pull_request": _read_pull,
        "issue_comment": _read_comment,
        "pull_request_review_comment": _read_comment,
        "pull_request_review": _read_review,
        "pull_request_review_thread": _read_thread,
        "check_run": _read_check,
        "check_suite": _read_check,
        "merge_group": _read_group,
    },
    "gitea": {
        "pull_request": _read_pull,
        "issue_comment": _read_comment,
        "pull_request_comment": _read_gitea_review,
        "pull_request_review_comment": _read_gitea_review,
        "pull_request_approved": _read_approval,
        "pull_request_review_approved": _read_approval,
        "pull_request_rejected": _read_rejection,
        "pull_request_review_rejected": _read_rejection,
    },
    "gitlab": {"Merge Request Hook": _read_merge_request, "Note Hook": _read_note},
}
"""By forge and event. Gitea has two names for the events of reviews, an old and a new one."""
_REASONS = {
    "Confidential Note Hook": "internal comments are left out: an answer would show them to all",
    "ping": "the webhook is set up",
    "push": "a push to a pull request has a notice of its own",
}
