"""GitHub's pull requests on loopback: stateful, held to GitHub's own schemas (github_rest.json, github.graphql), with its limits and
faults. What a schema refuses is a problem, and `problems` must stay empty.
"""

import json
import re
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from graphql import build_schema, graphql_sync
from jsonschema import Draft202012Validator

HERE = Path(__file__).parent
REST = json.loads((HERE / "github_rest.json").read_text())
SCHEMA = build_schema((HERE / "github.graphql").read_text())
TOKEN = "dummy-token-for-loopback"
WEB = "https://github.example/acme/shop"
BODY_LIMIT = 65_536
BATCH = 50


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{\w+\\}", "([^/]+)", re.escape(path)))


ROUTES = [(key.split(" ")[0], _pattern(key.split(" ")[1]), key) for key in REST]
ROUTES.sort(key=lambda route: route[2].count("{"))


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Fault:
    """How a request that changes something goes wrong; `effect`: it was done all the same."""

    status: int = 502
    effect: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "Bad Gateway"


LIMITED = Fault(
    403, headers={"Retry-After": "1"}, message="You have exceeded a secondary rate limit."
)
LOST = Fault(502, effect=True)


@dataclass
class PullsState:
    """The state. Lists leave out what is younger than `lag` reads."""

    head: str = "h" * 40
    base: str = "b" * 40
    fork: bool = False
    viewer: str = "punchy"
    hunks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    threads: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    check_runs: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    notes: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    alerts: list[dict[str, Any]] = field(default_factory=list)
    permissions: dict[str, str] = field(default_factory=dict)
    may_check: bool = True
    may_resolve: bool = True
    lag: int = 0
    faults: list[Fault | None] = field(default_factory=list)
    """What happens to the next requests that change something."""
    writes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hold_after: int = 0
    """The answer to this write, counted from 1, is held back until `release`."""
    held: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    reads: int = 0
    ids: int = 1000
    lock: threading.RLock = field(default_factory=threading.RLock)

    def next_id(self) -> int:
        self.ids += 1
        return self.ids

    def add_comment(self, body: str, author: str, *, bot: bool = False) -> dict[str, Any]:
        number = self.next_id()
        return {"id": number, "body": body, "author": author, "bot": bot, "born": self.reads,
                "url": f"{WEB}/pull/7#discussion_r{number}"}  # fmt: skip

    def add_thread(
        self,
        path: str,
        line: int | None,
        body: str,
        author: str,
        *,
        bot: bool = False,
        first: int | None = None,
    ):
        thread = {"id": f"PRRT_{self.next_id()}", "path": path, "line": line, "first": first, "resolved": "",
                  "comments": [self.add_comment(body, author, bot=bot)], "born": self.reads}  # fmt: skip
        self.threads.append(thread)
        return thread

    def reply(self, thread: dict[str, Any], body: str, author: str) -> None:
        thread["comments"].append(self.add_comment(body, author))

    def visible(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            each for each in entries if each["born"] + self.lag <= self.reads or each["born"] == 0
        ]

    def own_threads(self) -> list[dict[str, Any]]:
        return [each for each in self.threads if each["comments"][0]["author"] == self.viewer]

    # GraphQL: objects that graphql-core reads fields of

    def resolve(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        self.reads += 1
        found = graphql_sync(SCHEMA, query, root_value=_Root(self), variable_values=variables)
        answer: dict[str, Any] = {"data": found.data}
        if found.errors:
            answer["errors"] = [
                {"message": each.message, **(each.extensions or {})} for each in found.errors
            ]
            if not all("FORBIDDEN" in str(each.extensions) for each in found.errors):
                self.problems.append(f"GraphQL: {found.errors}")
        return answer


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
    def __init__(self, state: PullsState) -> None:
        self._state = state

    def viewer(self, info: Any) -> _Fields:
        return _Fields(login=self._state.viewer)

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
        if not self._state.may_resolve:
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
        author = _Fields(login=comment["author"], __typename="Bot" if comment["bot"] else "User")
        return _Fields(
            fullDatabaseId=str(comment["id"]), body=comment["body"], url=comment["url"], author=author,
            viewerDidAuthor=comment["author"] == self._state.viewer, state=comment.get("state", "COMMENTED"),
        )  # fmt: skip


SCHEMA.get_type("Actor").resolve_type = lambda value, *_: value.__dict__["__typename"]  # type: ignore[union-attr]
SCHEMA.get_type("Node").resolve_type = lambda value, *_: value.__dict__["__typename"]  # type: ignore[union-attr]


class Actions:
    """What each REST operation does; by its name in github_rest.json."""

    def __init__(self, state: PullsState) -> None:
        self._state = state

    def perform(self, key: str, parts: tuple[str, ...], query: dict[str, str], body: Any) -> Any:
        method, path = key.split(" ")
        name = re.sub(r"\{\w+\}", "x", path.removeprefix("/repos/{owner}/{repo}/"))
        return getattr(self, f"{method.lower()}_{re.sub(r'[^a-zA-Z]+', '_', name)}")(
            parts[2:], query, body
        )

    def get_pulls(self, parts: Any, query: dict[str, str], body: Any) -> Any:
        return [self._pull()] if query["head"] == "acme:topic" else []

    def get_pulls_x(self, parts: Any, query: Any, body: Any) -> Any:
        if parts[0] != "7":
            raise Refused(404, "Not Found")
        return self._pull()

    def _pull(self) -> dict[str, Any]:
        state = self._state
        theirs = "someone/shop" if state.fork else "acme/shop"
        return {
            "number": 7, "html_url": f"{WEB}/pull/7", "state": "open", "title": "A change", "user": _user("ann"), "id": 70,
            "body": None,
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
        self._state.comments.append(self._state.add_comment(body["body"], self._state.viewer))
        return self._shown(self._state.comments[-1])

    def patch_pulls_comments_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        comment = self._find(parts[0])
        comment["body"] = body["body"]
        return self._shown(comment)

    patch_issues_comments_x = patch_pulls_comments_x

    def delete_pulls_comments_x(self, parts: Any, query: Any, body: Any) -> None:
        gone, state = self._find(parts[0]), self._state
        for thread in state.threads:
            thread["comments"] = [each for each in thread["comments"] if each is not gone]
        state.threads[:] = [thread for thread in state.threads if thread["comments"]]
        state.comments[:] = [each for each in state.comments if each is not gone]

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
            if run["head_sha"] == parts[0] and name in (None, run["name"])
        ]
        return {"total_count": len(runs), "check_runs": [self._check(run) for run in runs]}

    def post_check_runs(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        if not self._state.may_check:
            raise Refused(403, "Resource not accessible by personal access token")
        run = {**body, "id": self._state.next_id(), "annotations": []}
        self._add_notes(run, body)
        self._state.check_runs.append(run)
        return self._check(run)

    def patch_check_runs_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        run = next(each for each in self._state.check_runs if each["id"] == int(parts[0]))
        self._add_notes(run, body)
        return self._check(run)

    def _add_notes(self, run: dict[str, Any], body: dict[str, Any]) -> None:
        notes = body["output"].get("annotations", [])
        if len(notes) > BATCH or len(body["output"]["summary"]) > BODY_LIMIT - 1:
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


class PullsStandin:
    """The server; use with `with`."""

    def __init__(self, state: PullsState) -> None:
        self.state = state
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # headers and body in one packet
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                pass

            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(length)
                state = outer.state
                with state.lock:
                    before = len(state.writes)
                    status, headers, answer = outer.answer(
                        self.command, self.path, self.headers, raw
                    )
                    reached = before < len(state.writes) == state.hold_after
                if reached:
                    state.held.set()
                    state.release.wait(60)
                content = b"" if answer is None else json.dumps(answer).encode()
                with suppress(ConnectionError):
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                    self.wfile.flush()

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_any  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.api = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(
        self, method: str, target: str, headers: Any, raw: bytes
    ) -> tuple[int, dict[str, str], Any]:
        state = self.state
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {}, {"message": "Bad credentials"}
        url = urlsplit(target)
        body = json.loads(raw) if raw else None
        if url.path == "/graphql":
            changes = "mutation" in body["query"]
            if changes and (fault := self._next_fault()):
                return fault.status, fault.headers, {"message": fault.message}
            return 200, {}, state.resolve(body["query"], body["variables"])
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        for verb, pattern, key in ROUTES:
            found = pattern.fullmatch(url.path)
            if verb == method and found:
                parts = tuple(map(unquote, found.groups()))
                return self._perform(key, parts, query, body)
        state.problems.append(f"no such operation: {method} {target}")
        return 404, {}, {"message": "Not Found"}

    def _perform(
        self, key: str, parts: tuple[str, ...], query: dict[str, str], body: Any
    ) -> tuple[int, dict[str, str], Any]:
        state, spec = self.state, REST[key]
        changes = not key.startswith("GET")
        unknown = query.keys() - set(spec["query"])
        if unknown:
            state.problems.append(f"{key}: unknown parameters {unknown}")
        self._check(f"{key} asked", spec["body"], body)
        if isinstance(body, dict) and len(str(body.get("body", ""))) > BODY_LIMIT:
            return 422, {}, {"message": "body is too long"}
        fault = self._next_fault() if changes else None
        if fault and not fault.effect:
            return fault.status, fault.headers, {"message": fault.message}
        try:
            answer = Actions(state).perform(key, parts, query, body)
        except Refused as refused:
            return refused.status, {}, {"message": str(refused)}
        if changes:
            state.writes.append(key)
        self._check(f"{key} answered", spec["answer"], answer)
        if fault:
            return fault.status, fault.headers, {"message": fault.message}
        return spec["status"], {}, answer

    def _next_fault(self) -> Fault | None:
        return self.state.faults.pop(0) if self.state.faults else None

    def _check(self, what: str, schema: Any, value: Any) -> None:
        if schema is not None and value is not None:
            for error in Draft202012Validator(schema).iter_errors(value):
                self.state.problems.append(f"{what}: {error.json_path}: {error.message[:300]}")
