"""GitHub's pull requests on loopback, held to GitHub's own schemas (github_rest.json, github.graphql), with its limits and faults."""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import urlencode

from forge_standin import HERE, TOKEN, ForgeServer
from forge_state import Fault, ForgeState, Refused
from graphql import DocumentNode, ExecutionResult, build_schema, execute_sync, parse, validate

REST = json.loads((HERE / "github_rest.json").read_text())
SCHEMA = build_schema((HERE / "github.graphql").read_text())
WEB = "https://github.example/acme/shop"
BODY_LIMIT = 65_535
DESCRIPTION_LIMIT = 140
BATCH = 50
LIMITED = Fault(
    403, headers={"Retry-After": "1"}, message="You have exceeded a secondary rate limit."
)


class _Forbidden(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.extensions = {"type": "FORBIDDEN"}


class _Fields:
    """An object whose fields are given."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def _connection(entries: list[Any], make: Any, first: int, after: str | None) -> _Fields:
    start = int(after or 0)
    page = entries[start : start + first]
    more = start + first < len(entries)
    info = _Fields(hasNextPage=more, endCursor=str(start + first))
    return _Fields(pageInfo=info, nodes=[make(each) for each in page])


class _Root:
    def __init__(self, state: ForgeState) -> None:
        self._state = state

    def viewer(self, info: Any) -> _Fields:
        return _Fields(login=f"{self._state.viewer}{'[bot]' if self._state.app else ''}")

    def repository(self, info: Any, owner: str, name: str) -> Any:
        return self if (owner, name) == ("acme", "shop") else None

    def pullRequest(self, info: Any, number: int) -> Any:  # noqa: N802 - GitHub's name
        return self if number == 7 else None

    def reviewThreads(self, info: Any, first: int, after: str | None = None) -> _Fields:  # noqa: N802
        return _connection(self._state.visible(self._state.threads), self._thread, first, after)

    def comments(self, info: Any, first: int, after: str | None = None) -> _Fields:
        return _connection(self._state.visible(self._state.comments), self._comment, first, after)

    def reviews(self, info: Any, first: int, after: str | None = None) -> _Fields:
        return _connection(self._state.visible(self._state.reviews), self._comment, first, after)

    def node(self, info: Any, id: str) -> Any:  # noqa: A002
        found = next(each for each in self._state.threads if each["id"] == id)
        thread = self._thread(found)
        thread.__dict__["__typename"] = "PullRequestReviewThread"
        return thread

    def resolveReviewThread(self, info: Any, input: dict[str, Any]) -> Any:  # noqa: A002, N802
        return self._set(input["threadId"], self._state.viewer)

    def unresolveReviewThread(self, info: Any, input: dict[str, Any]) -> Any:  # noqa: A002, N802
        return self._set(input["threadId"], "")

    def _set(self, name: str, by: str) -> _Fields:
        app = self._state.app  # strangely enough, an App must be allowed to write contents for it
        lacks = app is not None and app.allowed.get("contents") != "write"
        if not self._state.may_resolve or self._state.denied or lacks:
            raise _Forbidden("Resource not accessible by integration")
        found = next(each for each in self._state.threads if each["id"] == name)
        found["resolved"] = by
        self._state.writes.append(f"{'resolve' if by else 'reopen'} {name}")
        return _Fields(thread=self._thread(found))

    def _thread(self, thread: dict[str, Any]) -> _Fields:
        def comments(info: Any, first: int, after: str | None = None) -> _Fields:
            return _connection(self._state.visible(thread["comments"]), self._comment, first, after)

        by = thread["resolved"]
        return _Fields(
            id=thread["id"], path=thread["path"], line=thread["line"], startLine=thread["first"],
            isResolved=bool(by), resolvedBy=_Fields(login=by) if by else None, comments=comments,
        )  # fmt: skip

    def _comment(self, comment: dict[str, Any]) -> _Fields:
        ours = comment["author"] == self._state.viewer
        bot = comment["bot"] or (ours and self._state.app is not None)
        author = _Fields(login=comment["author"], __typename="Bot" if bot else "User")
        return _Fields(
            fullDatabaseId=str(comment["id"]), body=comment["body"], url=comment["url"], author=author,
            viewerDidAuthor=ours, state=comment.get("state", "COMMENTED"),
        )  # fmt: skip


SCHEMA.get_type("Actor").resolve_type = lambda value, *_: value.__dict__["__typename"]  # type: ignore[union-attr]
SCHEMA.get_type("Node").resolve_type = lambda value, *_: value.__dict__["__typename"]  # type: ignore[union-attr]


class Actions:
    """What each REST operation does; by its name in github_rest.json."""

    def __init__(self, state: ForgeState) -> None:
        self._state = state

    def perform(self, key: str, parts: tuple[str, ...], query: dict[str, str], body: Any) -> Any:
        method, path = key.split(" ")
        name = re.sub(r"\{\w+\}", "x", path.removeprefix("/repos/{owner}/{repo}/"))
        return getattr(self, f"{method.lower()}_{re.sub(r'[^a-zA-Z]+', '_', name)}")(
            parts[2:], query, body
        )

    def get_pulls(self, parts: Any, query: dict[str, str], body: Any) -> Any:
        state = self._state
        state.reads += 1
        owner, _, branch = query["head"].partition(":")
        theirs = "someone" if state.fork else "acme"
        seven = [self._pull()] if (owner, branch) == (theirs, "topic") else []
        ours = [
            each for each in state.visible(state.pulls) if ("acme", each["head"]) == (owner, branch)
        ]
        wanted = [*seven, *(self._other(each) for each in ours)]
        return [each for each in reversed(wanted) if query["state"] in ("all", each["state"])]

    def get_pulls_x(self, parts: Any, query: Any, body: Any) -> Any:
        return self._pull() if parts[0] == "7" else self._other(self._state.find_pull(parts[0]))

    def post_pulls(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        head, base, failed = body["head"], body["base"], "Validation Failed"
        match self._state.judge_opening(head, base):
            case "denied":
                raise Refused(403, "Resource not accessible by integration")
            case "exists":
                raise Refused(422, failed, f"A pull request already exists for acme:{head}.")
            case "empty":
                raise Refused(422, failed, f"No commits between {base} and {head}")
            case "head" | "base" as field:
                raise Refused(422, failed, f"PullRequest: {field} is invalid")
        return self._other(self._state.open_pull(head, base, body["title"], body["body"]))

    def patch_pulls_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        found = self._state.find_pull(parts[0])
        if "base" in body and not self._state.find_branch(body["base"]):
            raise Refused(422, "Validation Failed", "PullRequest: base is invalid")
        self._state.edit_pull(found, **body)
        return self._other(found)

    def _other(self, pull: dict[str, Any]) -> dict[str, Any]:
        merged, names = pull["state"] == "merged", {"head": pull["head"], "base": pull["base"]}
        branches = {
            side: {
                **self._pull()["base"],
                "ref": name,
                "sha": self._state.find_branch(name) or "0" * 40,
            }
            for side, name in names.items()
        }
        return {**self._pull(), **branches, "number": pull["number"], "html_url": f"{WEB}/pull/{pull['number']}",
                "state": "open" if pull["state"] == "open" else "closed", "title": pull["title"], "body": pull["body"],
                "user": _user(pull["author"]), "merged_at": "2026-01-01T00:00:00Z" if merged else None}  # fmt: skip

    def _pull(self) -> dict[str, Any]:
        state = self._state
        theirs = "someone/shop" if state.fork else "acme/shop"
        return {
            "number": 7, "html_url": f"{WEB}/pull/7", "state": state.state, "title": "A change", "user": _user("ann"), "id": 70,
            "body": None, "merged_at": None,
            "head": {"sha": state.head, "ref": "topic", "repo": {"full_name": theirs, "id": 1, "name": "shop", "html_url": WEB,
                     "description": None}, "user": _user("ann")},
            "base": {"sha": state.base, "ref": "main", "repo": {"full_name": "acme/shop", "id": 2, "name": "shop",
                     "html_url": WEB, "description": None}, "user": _user("ann")},
        }  # fmt: skip

    def post_pulls_x_comments(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        state, path, line = self._state, body["path"], body.get("line")
        first = body.get("start_line", line)
        if body["commit_id"] != state.head:
            raise Refused(422, "commit_id is not part of the pull request")
        if path not in state.hunks:
            raise Refused(422, "pull_request_review_thread.path is invalid")
        if body.get("subject_type") != "file" and not any(
            a <= first <= line <= b for a, b in state.hunks[path]
        ):
            raise Refused(422, "pull_request_review_thread.line must be part of the diff")
        if "start_line" in body and not body["start_line"] < line:
            raise Refused(422, "start_line must precede the end line")
        thread = state.add_thread(
            path, line, body["body"], state.viewer, first=body.get("start_line")
        )
        return self._shown(thread["comments"][0])

    def post_pulls_x_comments_x_replies(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        for thread in self._state.threads:
            if thread["comments"][0]["id"] == int(parts[1]):
                self._state.reply(thread, body["body"], self._state.viewer)
                return self._shown(thread["comments"][-1])
        raise Refused(404, "Not Found")

    def post_issues_x_comments(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        return self._shown(self._state.say_below(parts[0], body["body"]))

    def patch_pulls_comments_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        comment = self._find(parts[0])
        comment["body"] = body["body"]
        return self._shown(comment)

    patch_issues_comments_x = patch_pulls_comments_x

    def delete_pulls_comments_x(self, parts: Any, query: Any, body: Any) -> None:
        self._state.delete_comment(self._find(parts[0]))

    delete_issues_comments_x = delete_pulls_comments_x

    def _find(self, name: str) -> dict[str, Any]:
        said = [
            *self._state.comments,
            *(each for thread in self._state.threads for each in thread["comments"]),
        ]
        found = next((each for each in said if each["id"] == int(name)), None)
        if found is None:
            raise Refused(404, "Not Found")
        if found["author"] != self._state.viewer:
            self._state.problems.append(f"{name} is a comment of {found['author']}")
            raise Refused(403, "Resource not accessible")
        return found

    def _shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        return {"id": comment["id"], "body": comment["body"], "html_url": comment["url"], "user": _user(self._state.viewer),
                "path": "a.py"}  # fmt: skip

    def get_commits_x_check_runs(self, parts: Any, query: dict[str, str], body: Any) -> Any:
        name = query.get("check_name")
        runs = [
            run
            for run in self._state.check_runs
            if run["head_sha"] == parts[0]
            and name in (None, run["name"])
            and query.get("app_id") in (None, str(run.get("app")))
        ]
        return {"total_count": len(runs), "check_runs": [self._check(run) for run in runs]}

    def post_check_runs(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        if not self._state.may_check:
            raise Refused(403, "Resource not accessible by personal access token")
        run = {**body, "id": self._state.next_id(), "annotations": [], "app": self._app}
        self._add_notes(run, body)
        self._state.check_runs.append(run)
        return self._check(run)

    @property
    def _app(self) -> int | None:
        return self._state.app.id if self._state.app else None

    def patch_check_runs_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        run = next(each for each in self._state.check_runs if each["id"] == int(parts[0]))
        if run.get("app") != self._app:
            raise Refused(
                403,
                "Invalid app_id `4242` - check run can only be modified by the GitHub App that created it.",
            )
        self._add_notes(run, body)
        return self._check(run)

    def _add_notes(self, run: dict[str, Any], body: dict[str, Any]) -> None:
        notes = body["output"].get("annotations", [])
        if len(notes) > BATCH or len(body["output"]["summary"]) > BODY_LIMIT:
            raise Refused(422, "Invalid request.")
        run["annotations"] += notes

    def _check(self, run: dict[str, Any]) -> dict[str, Any]:
        shown = {key: run[key] for key in ("id", "name", "external_id", "status") if key in run}
        output = {"title": "t", "text": None, "annotations_count": len(run["annotations"])}
        return {
            "external_id": "",
            "status": "completed",
            "html_url": WEB,
            **shown,
            "output": output,
        }

    def get_check_runs_x_annotations(self, parts: Any, query: Any, body: Any) -> Any:
        run = next(each for each in self._state.check_runs if each["id"] == int(parts[0]))
        return [{"blob_href": WEB, "title": None, **note} for note in run["annotations"]]

    def get_commits_x_status(self, parts: Any, query: Any, body: Any) -> Any:
        mine = [each for each in self._state.statuses if each["sha"] == parts[0]]
        return {
            "state": "pending",
            "sha": parts[0],
            "statuses": [self._status(each) for each in mine],
        }

    def post_statuses_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        if len(body["description"]) > DESCRIPTION_LIMIT:
            raise Refused(422, "description is too long (maximum is 140 characters)")
        self._state.statuses.append({**body, "sha": parts[0], "id": self._state.next_id()})
        return self._status(self._state.statuses[-1])

    def _status(self, status: dict[str, Any]) -> dict[str, Any]:
        return {key: status[key] for key in ("id", "state", "context", "description")}

    def get_code_scanning_alerts(self, parts: Any, query: Any, body: Any) -> Any:
        return self._state.alerts

    def get_collaborators_x_permission(self, parts: Any, query: Any, body: Any) -> Any:
        if parts[0] not in self._state.permissions:
            raise Refused(404, "Not Found")
        return {
            "permission": self._state.permissions[parts[0]],
            "role_name": "x",
            "user": _user(parts[0]),
        }


def _user(login: str) -> dict[str, Any]:
    return {"login": login, "id": 5, "html_url": f"https://github.example/{login}"}


@cache
def _parse_query(query: str) -> DocumentNode | ExecutionResult:
    """Return the query, or what the schema says against it."""
    document = parse(query)
    errors = validate(SCHEMA, document)
    return ExecutionResult(None, errors) if errors else document


class GithubServer(ForgeServer):
    name, rest, limited, page = "GitHub", REST, LIMITED, f"{WEB}/pull/7"
    per_minute = 80

    def tell_time(self) -> float:
        return self.state.app.now() if self.state.app else super().tell_time()

    def is_signed(self, headers: Any) -> bool:
        return self.state.app or headers.get("Authorization") == f"Bearer {TOKEN}"

    def answer(
        self, method: str, target: str, headers: Any, raw: bytes
    ) -> tuple[int, dict[str, str], Any]:
        if self.state.app:
            try:
                path = target.partition("?")[0].removeprefix(self.below)
                self.state.app.admit(method, path, headers.get("Authorization", ""))
            except Refused as refused:
                return refused.status, {}, {"message": refused.message}
        return super().answer(method, target, headers, raw)

    def perform(self, key: str, parts: tuple[str, ...], query: dict[str, str], body: Any) -> Any:
        if isinstance(body, dict) and len(str(body.get("body", ""))) > BODY_LIMIT:
            raise Refused(422, "body is too long")
        if self.state.app and ("/app" in key or key.endswith("/installation")):
            left = iter(parts)
            path = re.sub(r"\{\w+\}", lambda _: next(left), key.split(" ")[1])
            return self.state.app.answer(path, body)
        return Actions(self.state).perform(key, parts, query, body)

    def answer_other(
        self, method: str, path: str, body: Any
    ) -> tuple[int, dict[str, str], Any] | None:
        if path != "/graphql":
            return None
        changes = "mutation" in body["query"]
        fault = self.next_fault(changes=changes)
        if fault and fault.status == 200:
            return 200, {}, {"errors": [{"type": "RATE_LIMITED", "message": fault.message}]}
        if fault and not fault.effect:
            return fault.status, fault.headers, {"message": fault.message}
        answer = self._resolve(body["query"], body["variables"])
        if fault:
            return fault.status, fault.headers, {"message": fault.message}
        return 200, {}, answer

    def paginate(
        self, key: str, parts: tuple[str, ...], query: dict[str, str], answer: Any
    ) -> tuple[dict[str, str], Any]:
        """30 entries unless more are asked for, and never more than 100; what is counted has its list inside."""
        inside = next((name for name in ("check_runs", "statuses") if name in answer), "")
        entries = answer[inside] if inside else answer
        size, page = min(int(query.get("per_page", 30)), 100), int(query.get("page", 1))
        shown = entries[(page - 1) * size : page * size]
        left = iter(parts)
        path = re.sub(r"\{\w+\}", lambda _: next(left), key.split(" ")[1])
        following = urlencode({**query, "page": page + 1})
        link = f'<{self.api}{path}?{following}>; rel="next"'
        headers = {"Link": link} if page * size < len(entries) else {}
        return headers, {**answer, inside: shown} if inside else shown

    def _resolve(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        self.state.reads += 1
        root = _Root(self.state)
        document = _parse_query(query)
        if isinstance(document, ExecutionResult):
            found = document
        else:
            found = execute_sync(SCHEMA, document, root_value=root, variable_values=variables)
        answer: dict[str, Any] = {"data": found.data}
        if found.errors:
            answer["errors"] = [
                {"message": each.message, **(each.extensions or {})} for each in found.errors
            ]
            if not all("FORBIDDEN" in str(each.extensions) for each in found.errors):
                self.state.problems.append(f"GraphQL: {found.errors}")
        return answer
