"""Payloads of events, as GitHub and Gitea write them; only the fields that are needed."""

from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from punchlist.errors import UsageError
from punchlist.model.finding.guarded_text import parse_json
from punchlist.views.pulls.orders import match_order

P = TypeVar("P")

_LIMIT = 25 * 1024 * 1024
"""The size of the largest payload that GitHub makes."""
COMMENTS = ("issue_comment", "pull_request_review_comment", "pull_request_review")


class _RepositoryOwner(Struct, frozen=True):
    login: str


class _EventRepository(Struct, frozen=True):
    full_name: str
    owner: _RepositoryOwner | None = None
    default_branch: str = ""


class _PullBranch(Struct, frozen=True):
    sha: str
    ref: str
    repo: _EventRepository | None = None


class _Pull(Struct, frozen=True):
    number: Annotated[int, Meta(ge=1, lt=1_000_000_000)]
    head: _PullBranch
    base: _PullBranch


class PullPayload(Struct, frozen=True):
    pull_request: _Pull
    action: str = ""


class _Numbered(Struct, frozen=True):
    """An issue, or a pull request; an issue that has `pull_request` is one as well."""

    number: Annotated[int, Meta(ge=1, lt=1_000_000_000)]
    pull_request: dict[str, object] | None = None


class Said(Struct, frozen=True):
    """A comment or a review; `content` is what Gitea calls the text of a review."""

    body: str | None = None
    content: str | None = None
    state: str = ""

    @property
    def has_order(self) -> bool:
        return has_order(self.body or self.content or "")


class CommentPayload(Struct, frozen=True):
    action: str = ""
    issue: _Numbered | None = None
    pull_request: _Numbered | None = None
    comment: Said | None = None
    review: Said | None = None


class _Sender(Struct, frozen=True):
    type: str = ""


class ThreadPayload(Struct, frozen=True):
    """GitHub's notice of a thread that was resolved, or opened again."""

    pull_request: _Numbered
    sender: _Sender = _Sender()
    action: str = ""


class _Tip(Struct, frozen=True):
    sha: str = ""


class _CheckedPull(Struct, frozen=True):
    number: Annotated[int, Meta(ge=1, lt=1_000_000_000)]
    head: _Tip = _Tip()


class _Check(Struct, frozen=True):
    name: str = ""
    pull_requests: tuple[_CheckedPull, ...] = ()


class CheckPayload(Struct, frozen=True):
    """GitHub's notice of a check, or of all checks of an app on a commit."""

    action: str = ""
    check_run: _Check | None = None
    check_suite: _Check | None = None


class _Group(Struct, frozen=True):
    head_sha: str
    head_ref: str
    base_sha: str
    base_ref: str


class GroupPayload(Struct, frozen=True):
    merge_group: _Group
    action: str = ""


class PushPayload(Struct, frozen=True):
    before: str
    after: str
    ref: str
    deleted: bool = False
    repository: _EventRepository | None = None


class NoticePayload(Struct, frozen=True):
    repository: _EventRepository


class _Commit(Struct, frozen=True):
    id: str = ""


class _Merge(Struct, frozen=True):
    iid: Annotated[int, Meta(ge=1, lt=1_000_000_000)]
    action: str = ""
    last_commit: _Commit = _Commit()


class _EventProject(Struct, frozen=True):
    path_with_namespace: str


class MergePayload(Struct, frozen=True):
    """GitLab's notice of a merge request."""

    object_attributes: _Merge
    project: _EventProject


class _Note(Struct, frozen=True):
    note: str | None = None
    noteable_type: str = ""
    system: bool = False
    internal: bool = False


class NotePayload(Struct, frozen=True):
    """GitLab's notice of a comment; `merge_request` is there if it is about one."""

    object_attributes: _Note
    project: _EventProject
    merge_request: _Merge | None = None


class _Run(Struct, frozen=True):
    head_sha: str
    head_branch: str | None
    event: str
    head_repository: _EventRepository


class RunPayload(Struct, frozen=True):
    workflow_run: _Run


def has_order(text: str) -> bool:
    """Return whether the first line of the text is an order for punchlist."""
    return match_order(text) is not None


def read_payload(path: str, name: str, kind: type[P]) -> P:
    """Return the payload of the event. Raise UsageError if the file cannot be read or is none."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_LIMIT + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"GITHUB_EVENT_PATH: {path}: cannot be read: {why}",
            hint="the service writes it for each job",
        ) from error
    if len(raw) > _LIMIT:
        raise UsageError(f"{path}: is larger than any payload of an event ({_LIMIT:,} bytes)")
    return parse_payload(raw, f"{path}: is no payload of the event {name}", kind)


def parse_payload(raw: bytes, what: str, kind: type[P]) -> P:
    """Return the payload. Raise UsageError, beginning with `what`, if it is malformed."""
    try:
        return parse_json(raw, kind)
    except msgspec.DecodeError as error:
        raise UsageError(f"{what}: {error}", hint="is this the event of a real job?") from error
