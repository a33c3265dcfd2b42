"""The event that a CI job is about, from the variables and the payload of its service."""

import re
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.ci.payload import (
    COMMENTS,
    CommentPayload,
    GroupPayload,
    PullPayload,
    PushPayload,
    RunPayload,
    read_payload,
)
from punchlist.errors import UsageError

VARIABLES = (
    "GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH",
    "GITHUB_REPOSITORY", "GITHUB_SERVER_URL", "GITHUB_API_URL", "GITHUB_ACTOR",
    "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT",
    "GITLAB_CI", "CI_API_V4_URL", "CI_PIPELINE_SOURCE", "CI_PROJECT_PATH", "CI_SERVER_URL",
    "CI_DEFAULT_BRANCH",
    "CI_COMMIT_SHA", "CI_COMMIT_BEFORE_SHA", "CI_COMMIT_REF_NAME", "CI_COMMIT_TAG",
    "CI_MERGE_REQUEST_IID", "CI_MERGE_REQUEST_EVENT_TYPE", "CI_MERGE_REQUEST_PROJECT_ID",
    "CI_MERGE_REQUEST_PROJECT_PATH",
    "CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "CI_MERGE_REQUEST_DIFF_BASE_SHA",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA",
)  # fmt: skip
"""The variables that are looked at; none of them is a secret."""
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+")
_REF = re.compile(r"(?!-)(?!.*(?:\.\.|//|@\{))[^\x00-\x20\x7f~^:?*\[\\]{1,250}(?<!/)(?<!\.lock)")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+(?:/[A-Za-z0-9._~/-]*)?")
_DEPENDABOT = "dependabot[bot]"
_TRAIN = "merge_train"


class CiPlace(StrEnum):
    GITHUB = "github"
    GITEA = "gitea"
    GITLAB = "gitlab"


class EventKind(StrEnum):
    """ORDER: a comment with an order for punchlist. RELAY: another workflow has ended. NOTHING: an
    event that leaves nothing to review.
    """

    PULL = "pull request"
    ORDER = "order"
    GROUP = "merge group"
    PUSH = "push"
    RELAY = "workflow run"
    NOTHING = "nothing"


class CiEvent(Struct, frozen=True, kw_only=True):
    """What the job is about. Commits, names and addresses have the form of such."""

    place: CiPlace
    name: str
    """As the service calls it."""
    kind: EventKind
    repository: str = ""
    """OWNER/NAME, as the service says."""
    server: str = ""
    api: str = ""
    number: int = 0
    """Of the pull request."""
    base: str = ""
    head: str = ""
    base_name: str = ""
    head_name: str = ""
    """The branch of the head; OWNER:BRANCH if it is in a fork."""
    fork: bool = False
    secrets: bool = True
    """Whether the service gives secrets and a token that writes to jobs of this event."""
    why: str = ""
    """Why there is nothing to do."""

    @property
    def url(self) -> str:
        """The address of the pull request."""
        below = "-/merge_requests" if self.place is CiPlace.GITLAB else _PULLS[self.place]
        return f"{self.server}/{self.repository}/{below}/{self.number}" if self.number else ""

    @property
    def ref(self) -> str:
        """The ref of the pull request's head in the repository that it is for."""
        kind = "merge-requests" if self.place is CiPlace.GITLAB else "pull"
        return f"refs/{kind}/{self.number}/head"


_PULLS = {CiPlace.GITHUB: "pull", CiPlace.GITEA: "pulls"}


def read_event(env: Mapping[str, str]) -> CiEvent:
    """Return the event of the job. Raise UsageError if this is no job, or if its event is not known
    or malformed.
    """
    if env.get("GITLAB_CI"):
        return _read_gitlab(env)
    if env.get("GITHUB_ACTIONS"):
        return _read_actions(env)
    raise UsageError(
        "no CI event was found here: neither GITHUB_ACTIONS (GitHub, Gitea and Forgejo Actions,"
        " with GITHUB_EVENT_NAME and GITHUB_EVENT_PATH) nor GITLAB_CI (GitLab, with"
        " CI_PIPELINE_SOURCE) is set",
        hint="elsewhere: `punchlist review --base REV --check` or `punchlist pr NUMBER`",
    )


def _read_actions(env: Mapping[str, str]) -> CiEvent:
    name = _require(env, "GITHUB_EVENT_NAME")
    gitea = env.get("GITEA_ACTIONS") or env.get("FORGEJO_ACTIONS")
    event = CiEvent(
        place=CiPlace.GITEA if gitea else CiPlace.GITHUB,
        name=name,
        kind=EventKind.NOTHING,
        repository=check_form(_REPOSITORY, _require(env, "GITHUB_REPOSITORY"), "GITHUB_REPOSITORY"),
        server=check_form(_ADDRESS, _require(env, "GITHUB_SERVER_URL"), "GITHUB_SERVER_URL"),
        api=_read_address(env, "GITHUB_API_URL"),
    )
    reader = _READERS.get(name)
    if reader is None:
        known = ", ".join(_READERS)
        raise UsageError(
            f"the event {name!r} (GITHUB_EVENT_NAME) has no change to review; known are {known}",
            hint="`punchlist run --all` reviews everything",
        )
    return reader(event, _require(env, "GITHUB_EVENT_PATH"), env)


def _read_pull(event: CiEvent, path: str, env: Mapping[str, str]) -> CiEvent:
    found = read_payload(path, event.name, PullPayload)
    pull, where = found.pull_request, f"{path}: pull_request"
    if found.action == "closed":
        return replace(event, number=pull.number, why="the pull request is closed")
    theirs = pull.head.repo.full_name if pull.head.repo else ""
    fork = theirs.casefold() != event.repository.casefold()
    owner = pull.head.repo.owner.login if pull.head.repo and pull.head.repo.owner else ""
    branch = check_form(_REF, pull.head.ref, f"{where}.head.ref")
    target = event.name == "pull_request_target"
    return replace(
        event,
        kind=EventKind.PULL,
        number=pull.number,
        base=check_form(_SHA, pull.base.sha, f"{where}.base.sha"),
        head=check_form(_SHA, pull.head.sha, f"{where}.head.sha"),
        base_name=check_form(_REF, pull.base.ref, f"{where}.base.ref"),
        head_name=f"{owner}:{branch}" if fork and owner else branch,
        fork=fork,
        secrets=target or not (fork or env.get("GITHUB_ACTOR") == _DEPENDABOT),
    )


def _read_comment(event: CiEvent, path: str, env: Mapping[str, str]) -> CiEvent:
    found = read_payload(path, event.name, CommentPayload)
    pull = found.pull_request or (found.issue if found.issue and found.issue.pull_request else None)
    said = found.comment or found.review
    if pull is None:
        return replace(event, why="the comment is on an issue, not on a pull request")
    if found.action == "deleted" or said is None or not said.has_order:
        return replace(event, why="the first line of the comment is not an order: /punchlist ...")
    return replace(event, kind=EventKind.ORDER, number=pull.number)


def _read_group(event: CiEvent, path: str, env: Mapping[str, str]) -> CiEvent:
    found = read_payload(path, event.name, GroupPayload)
    group, where = found.merge_group, f"{path}: merge_group"
    if found.action == "destroyed":
        return replace(event, why="the merge group is gone")
    return replace(
        event,
        kind=EventKind.GROUP,
        base=check_form(_SHA, group.base_sha, f"{where}.base_sha"),
        head=check_form(_SHA, group.head_sha, f"{where}.head_sha"),
        base_name=_branch(group.base_ref, f"{where}.base_ref"),
        head_name=_branch(group.head_ref, f"{where}.head_ref"),
    )


def _read_push(event: CiEvent, path: str, env: Mapping[str, str]) -> CiEvent:
    found = read_payload(path, event.name, PushPayload)
    if found.deleted or not found.after.strip("0"):
        return replace(event, why="the branch was deleted")
    if found.ref.startswith("refs/tags/"):
        return replace(event, why="a tag was pushed, which changes nothing")
    main = found.repository.default_branch if found.repository else ""
    return _make_push(event, found.before, found.after, found.ref, main)


def _read_run(event: CiEvent, path: str, env: Mapping[str, str]) -> CiEvent:
    run = read_payload(path, event.name, RunPayload).workflow_run
    where = f"{path}: workflow_run"
    if run.event != "pull_request":
        return replace(event, why="the workflow that ended was not about a pull request")
    owner = run.head_repository.owner.login if run.head_repository.owner else ""
    if not _REPOSITORY.fullmatch(f"{owner}/x"):
        raise _malformed(f"{where}.head_repository.owner.login", owner)
    branch = check_form(_REF, run.head_branch or "", f"{where}.head_branch")
    return replace(
        event,
        kind=EventKind.RELAY,
        head=check_form(_SHA, run.head_sha, f"{where}.head_sha"),
        head_name=f"{owner}:{branch}",
        fork=run.head_repository.full_name.casefold() != event.repository.casefold(),
    )


_READERS = {
    "pull_request": _read_pull,
    "pull_request_target": _read_pull,
    **dict.fromkeys(COMMENTS, _read_comment),
    "merge_group": _read_group,
    "push": _read_push,
    "workflow_run": _read_run,
}


def _read_gitlab(env: Mapping[str, str]) -> CiEvent:
    name = _require(env, "CI_PIPELINE_SOURCE")
    event = CiEvent(
        place=CiPlace.GITLAB,
        name=name,
        kind=EventKind.NOTHING,
        repository=check_form(_REPOSITORY, _require(env, "CI_PROJECT_PATH"), "CI_PROJECT_PATH"),
        server=check_form(_ADDRESS, _require(env, "CI_SERVER_URL"), "CI_SERVER_URL"),
        api=_read_address(env, "CI_API_V4_URL"),
    )
    if name == "merge_request_event":
        return _read_merge_request(event, env)
    if name != "push":
        raise UsageError(
            f"a pipeline from {name!r} (CI_PIPELINE_SOURCE) has no change to review; known are"
            " merge_request_event and push",
            hint="`punchlist run --all` reviews everything",
        )
    if env.get("CI_COMMIT_TAG"):
        return replace(event, why="a tag was pushed, which changes nothing")
    before, after = env.get("CI_COMMIT_BEFORE_SHA", ""), _require(env, "CI_COMMIT_SHA")
    ref = f"refs/heads/{_require(env, 'CI_COMMIT_REF_NAME')}"
    return _make_push(event, before or "0" * 40, after, ref, env.get("CI_DEFAULT_BRANCH", ""))


def _read_merge_request(event: CiEvent, env: Mapping[str, str]) -> CiEvent:
    def commit(name: str) -> str:
        return check_form(_SHA, _require(env, name), name)

    def branch(name: str) -> str:
        return check_form(_REF, _require(env, name), name)

    number = _require(env, "CI_MERGE_REQUEST_IID")
    if not re.fullmatch(r"[1-9]\d{0,8}", number):
        raise _malformed("CI_MERGE_REQUEST_IID", number)
    fork = _require(env, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID") != _require(
        env, "CI_MERGE_REQUEST_PROJECT_ID"
    )
    train = env.get("CI_MERGE_REQUEST_EVENT_TYPE") == _TRAIN
    merged = env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
    head = "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA" if merged and not train else "CI_COMMIT_SHA"
    target = env.get("CI_MERGE_REQUEST_PROJECT_PATH") or event.repository
    return replace(
        event,
        kind=EventKind.GROUP if train else EventKind.PULL,
        repository=check_form(_REPOSITORY, target, "CI_MERGE_REQUEST_PROJECT_PATH"),
        number=int(number),
        base=commit("CI_MERGE_REQUEST_DIFF_BASE_SHA"),
        head=commit(head),
        base_name=branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
        head_name=branch("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
        fork=fork,
        secrets=not fork,
    )


def _make_push(event: CiEvent, before: str, after: str, ref: str, main: str) -> CiEvent:
    return replace(
        event,
        kind=EventKind.PUSH,
        base=check_form(_SHA, before, "the commit before the push") if before.strip("0") else "",
        head=check_form(_SHA, after, "the pushed commit"),
        base_name=check_form(_REF, main, "the default branch") if main else "",
        head_name=_branch(ref, "the pushed branch"),
    )


def _branch(ref: str, where: str) -> str:
    return check_form(_REF, ref.removeprefix("refs/heads/"), where)


def _read_address(env: Mapping[str, str], name: str) -> str:
    return check_form(_ADDRESS, env[name], name) if env.get(name) else ""


def _require(env: Mapping[str, str], name: str) -> str:
    if not env.get(name):
        raise UsageError(
            f"{name} is not set, so this is no whole CI event",
            hint="let the job keep the variables of its service",
        )
    return env[name]


def check_form(pattern: re.Pattern[str], text: str, where: str) -> str:
    """Return the text. Raise UsageError if it has not the form that it must have."""
    if not pattern.fullmatch(text):
        raise _malformed(where, text)
    return text


def _malformed(where: str, text: str) -> UsageError:
    shown = ascii(text[:60])
    return UsageError(f"{where} is malformed: {shown}", hint="is this the event of a real job?")
