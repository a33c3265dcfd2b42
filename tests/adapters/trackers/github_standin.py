"""GitHub on loopback, as far as filing sees it: issues, labels and search with a memory, and every bad habit of the real one."""

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self
from urllib.parse import parse_qs, unquote, urlsplit

from forge_state import Refused

BODY_LIMIT = 65_536
TOKEN = "dummy-token-for-loopback"


class Clock:
    """Time that passes when somebody waits, and a little with every request."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def __call__(self) -> float:
        return self.now


@dataclass
class Fault:
    """`kind`: how one request goes wrong. `effect`: whether it was done all the same."""

    kind: str
    effect: bool = False
    seconds: float = 0


FAULTS = {
    "server error": Fault("status 500"),
    "bad gateway": Fault("status 502"),
    "bad gateway after the effect": Fault("status 502", effect=True),
    "gateway timeout after the effect": Fault("status 504", effect=True),
    "hung up": Fault("hang up"),
    "hung up after the effect": Fault("hang up", effect=True),
    "cut answer": Fault("cut", effect=True),
    "not JSON": Fault("garbage", effect=True),
    "wrong JSON": Fault("wrong", effect=True),
    "primary limit": Fault("limit", seconds=20),
    "secondary limit": Fault("secondary", seconds=10),
    "secondary limit without a time": Fault("secondary"),
    "too many requests": Fault("too many", seconds=5),
}


@dataclass
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    at: float


@dataclass
class Github:
    """The state. Lists show what is older than `list_lag`, search what is older than `search_lag`; numbers show all."""

    clock: Callable[[], float]
    repository: str = "acme/shop"
    list_lag: float = 0
    search_lag: float = 60
    token: str = TOKEN
    app: Any = None
    """The App (github_app.py) that files, in the place of the token's user."""
    login: str = "ada"
    association: str = "OWNER"
    person: bool = True
    may_label: bool = True
    may_file: bool = True
    has_issues: bool = True
    archived: bool = False
    former: str = ""
    """A name the repository had: requests for it are sent on."""
    elsewhere: str = ""
    """A host that everything is sent on to."""
    page: int = 100
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    odd: dict[int, int] = field(default_factory=dict)
    """Numbers that are no issues, and the status they answer with."""
    index: dict[int, dict[str, Any]] | None = None
    """What search sees instead of the issues."""
    labels: dict[str, str] = field(default_factory=dict)
    writing: list[Fault | None] = field(default_factory=list)
    """What happens to the next requests to file or change an issue, in order."""
    reading: list[Fault | None] = field(default_factory=list)
    """What happens to the next other requests, in order."""
    rule: Callable[[Asked], Fault | None] = lambda asked: None
    """What happens to any request that has nothing else coming."""
    asked: list[Asked] = field(default_factory=list)
    late: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    """Requests that were given up by the client, and are done when their time comes."""
    limited_until: float = 0
    early: int = 0
    """Requests that came before a limit was over."""
    gate: threading.Barrier | None = None
    """Holds requests that file until so many are there."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    host: ClassVar[str] = "https://github.example"
    below: ClassVar[str] = ""
    """The path of the API."""
    folder: ClassVar[str] = "issues"

    @property
    def routes(self) -> type["Routes"]:
        return Routes

    def add(self, content: dict[str, Any], **more: Any) -> dict[str, Any]:
        number = max([0, *self.issues, *self.odd]) + 1
        labels = content.get("labels", []) if self.may_label else []
        for label in labels:
            self.labels.setdefault(label, "ededed")
        self.issues[number] = {
            "number": number,
            "html_url": f"{self.host}/{self.repository}/{self.folder}/{number}",
            "title": content["title"],
            "body": content.get("body"),
            "labels": [{"name": label} for label in labels],
            "state": "open",
            "state_reason": None,
            "user": {"login": self.login, "type": "User" if self.person else "Bot"},
            "author_association": self.association,
            "born": self.clock(),
            **more,
        }
        return self.issues[number]

    def arrive(self) -> None:
        """Does what was late, in the order of time: numbers and times of issues rise together."""
        due = sorted(
            ((at, content) for at, content in self.late if at <= self.clock()),
            key=lambda each: each[0],
        )
        self.late = [(at, content) for at, content in self.late if at > self.clock()]
        for at, content in due:
            self.add(content, born=at)

    @property
    def open(self) -> list[dict[str, Any]]:
        return [issue for issue in self.issues.values() if issue["state"] == "open"]

    def fingerprints(self) -> list[str]:
        """Of the open issues, as their texts show them."""
        return [
            re.findall(r"punchlist:fingerprint (\S+)", issue["body"])[-1] for issue in self.open
        ]

    def writes(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.method != "GET"]


class Answer(Exception):  # how a route ends
    def __init__(
        self, status: int, value: Any = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status)
        self.status, self.value, self.headers = status, value, headers or {}


class Routes:
    """What each request does to the state."""

    def __init__(self, github: Github, asked: Asked, content: dict[str, Any] | None) -> None:
        self.github, self.asked, self.content = github, asked, content or {}

    def is_signed(self) -> bool:
        return self.asked.headers.get("authorization") == f"Bearer {self.github.token}"

    def answer_app(self) -> Answer | None:
        """Answer what the App asks as itself, or what it is not allowed; None for all else."""
        app, asked = self.github.app, self.asked
        try:
            app.admit(asked.method, asked.path, asked.headers.get("authorization", ""))
            itself = asked.path.startswith("/app") or asked.path.endswith("/installation")
            return Answer(200, app.answer(asked.path, self.content)) if itself else None
        except Refused as refused:
            return Answer(refused.status, {"message": refused.message})

    def answer(self) -> Answer:
        if self.github.app and (answer := self.answer_app()):
            return answer
        if not self.github.app and not self.is_signed():
            return Answer(401, {"message": "Bad credentials"})
        if self.github.elsewhere:
            return Answer(
                307, {"message": "Moved"}, {"Location": f"{self.github.elsewhere}{self.asked.path}"}
            )
        try:
            for pattern, route in self.TABLE:
                if found := re.fullmatch(pattern, f"{self.asked.method} {self.asked.path}"):
                    route(self, *found.groups())
        except Answer as answer:
            return answer
        return Answer(404, {"message": "Not Found"})

    def user(self) -> None:
        if not self.github.person:
            raise Answer(403, {"message": "Resource not accessible by integration"})
        raise Answer(200, {"login": self.github.login, "type": "User"})

    def within(self, below: str) -> str:
        """The rest of the path below the repository, which has two addresses, and a third one after a new name."""
        for start in (f"/repos/{self.github.repository}", "/repositories/1"):
            if below == start or below.startswith(f"{start}/"):
                return below.removeprefix(start)
        if self.github.former and below.startswith(f"/repos/{self.github.former}"):
            rest = below.removeprefix(f"/repos/{self.github.former}")
            raise Answer(
                301 if self.asked.method == "GET" else 307,
                {"message": "Moved"},
                {"Location": f"/repositories/1{rest}"},
            )
        raise Answer(404, {"message": "Not Found"})

    def repo(self, path: str) -> None:
        below = self.within(path)
        for pattern, route in self.BELOW:
            if found := re.fullmatch(pattern, f"{self.asked.method} {below}"):
                route(self, *found.groups())

    def about(self) -> None:
        github = self.github
        raise Answer(
            200,
            {
                "full_name": github.repository,
                "has_issues": github.has_issues,
                "archived": github.archived,
            },
        )

    def listed(self) -> None:
        query, github = self.asked.query, self.github
        wanted = set(filter(None, query.get("labels", "").split(",")))
        shown = [
            issue
            for issue in github.issues.values()
            if issue["born"] <= github.clock() - github.list_lag
            and wanted <= {label["name"] for label in issue["labels"]}
            and query.get("state", "open") in ("all", issue["state"])
        ]
        shown.sort(
            key=lambda issue: issue["number"], reverse=query.get("direction", "desc") == "desc"
        )
        size, page = min(int(query.get("per_page", 30)), github.page), int(query.get("page", 1))
        more = len(shown) > page * size
        parts = "&".join(
            f"{name}={value}" for name, value in {**query, "page": str(page + 1)}.items()
        )
        address = f"http://{self.asked.headers['host']}/repositories/1/issues?{parts}"
        headers = {"Link": f'<{address}>; rel="next", <{address}>; rel="last"'} if more else {}
        raise Answer(200, shown[(page - 1) * size : page * size], headers)

    def search(self) -> None:
        github, query = self.github, self.asked.query
        words = re.search(r'"([^"]+)"', query["q"])[1]
        assert f"repo:{github.repository}" in query["q"]
        found = [
            issue
            for issue in (github.issues if github.index is None else github.index).values()
            if issue["born"] <= github.clock() - github.search_lag
            and words in (issue["body"] or "")
        ]
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        raise Answer(
            200, {"total_count": len(found), "items": found[(page - 1) * size : page * size]}
        )

    def read(self, number: str) -> None:
        if int(number) in self.github.odd:
            headers = (
                {"Location": "/repositories/2/issues/1"}
                if self.github.odd[int(number)] == 301
                else {}
            )
            raise Answer(self.github.odd[int(number)], {"message": "Gone"}, headers)
        if int(number) not in self.github.issues:
            raise Answer(404, {"message": "Not Found"})
        raise Answer(200, self.github.issues[int(number)])

    def create(self) -> None:
        github = self.github
        if not github.has_issues:
            raise Answer(410, {"message": "Issues are disabled for this repo"})
        if not github.may_file:
            raise Answer(403, {"message": "Resource not accessible by personal access token"})
        if len(self.content.get("body") or "") > BODY_LIMIT or len(self.content["title"]) > 256:
            raise Answer(
                422,
                {"message": "Validation Failed", "errors": [{"code": "custom", "field": "body"}]},
            )
        if "[REFUSED]" in (self.content.get("body") or ""):
            raise Answer(422, {"message": "Validation Failed"})
        raise Answer(201, github.add(self.content))

    def change(self, number: str) -> None:
        issue = self.github.issues.get(int(number))
        if issue is None or issue.get("locked"):
            raise Answer(404 if issue is None else 403, {"message": "Not for you"})
        changes = {
            name: value
            for name, value in self.content.items()
            if name in ("state", "state_reason", "body", "title")
        }
        if changes.get("state") == "open":
            changes["state_reason"] = "reopened"
        issue.update(changes)
        raise Answer(200, issue)

    def get_label(self, name: str) -> None:
        if unquote(name) not in self.github.labels:
            raise Answer(404, {"message": "Not Found"})
        raise Answer(200, {"name": unquote(name)})

    def make_label(self) -> None:
        name = self.content["name"]
        if not self.github.may_label:
            raise Answer(403, {"message": "Must have push access to repository"})
        if name in self.github.labels:
            raise Answer(
                422, {"message": "Validation Failed", "errors": [{"code": "already_exists"}]}
            )
        self.github.labels[name] = self.content["color"]
        raise Answer(201, {"name": name})

    @staticmethod
    def limit(fault: Fault, at: float) -> tuple[int, dict[str, str], str]:
        """Status, headers and words of a limit."""
        words = {
            "limit": "API rate limit exceeded",
            "secondary": "You have exceeded a secondary rate limit.",
        }
        headers = {}
        if fault.kind == "limit":
            reset = str(int(at + fault.seconds))
            headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
        elif fault.seconds:
            headers = {"retry-after": str(int(fault.seconds))}
        return 429 if fault.kind == "too many" else 403, headers, words.get(fault.kind, "Slow down")

    BELOW = (
        (r"GET ", about),
        (r"GET /issues", listed),
        (r"POST /issues", create),
        (r"GET /issues/(\d+)", read),
        (r"PATCH /issues/(\d+)", change),
        (r"GET /labels/([^/]+)", get_label),
        (r"POST /labels", make_label),
    )
    TABLE = (
        (r"GET /user", user),
        (r"GET /search/issues", search),
        (r"\w+ (/repos(?:itories)?/.*)", repo),
    )


class Listening(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: "Standin"

    def log_message(self, *words: object) -> None:
        pass

    def respond(self) -> None:
        parts = urlsplit(self.path)
        query = {
            name: values[-1]
            for name, values in parse_qs(parts.query, keep_blank_values=True).items()
        }
        length = int(self.headers.get("content-length", 0))
        raw = self.rfile.read(length)
        if len(raw) < length:
            raise ConnectionResetError("whoever asked was killed in the middle of it")
        github = self.server.github
        asked = Asked(
            self.command,
            parts.path,
            query,
            {k.lower(): v for k, v in self.headers.items()},
            github.clock(),
        )
        filing = asked.method == "POST" and parts.path.endswith("/issues")
        if filing and github.gate is not None:
            with suppress(threading.BrokenBarrierError):
                github.gate.wait(2)
        with github.lock:
            github.arrive()
            github.asked.append(asked)
            github.early += github.clock() < github.limited_until
            plan = (
                github.writing
                if asked.method != "GET" and "/issues" in asked.path
                else github.reading
            )
            fault = (plan.pop(0) if plan else None) or github.rule(asked)
            if fault and fault.kind == "late" and filing:
                github.late.append((github.clock() + fault.seconds, json.loads(raw)))
            if fault and not fault.effect:
                answer = Answer(200, {})
            else:
                answer = github.routes(github, asked, json.loads(raw) if raw else None).answer()
            content = json.dumps(answer.value).encode()
        self.spoil(fault, answer, content) if fault else self.send(answer, content)

    do_GET = do_POST = do_PATCH = do_PUT = respond  # noqa: N815  # the names are http.server's

    def spoil(self, fault: Fault, answer: Answer, content: bytes) -> None:
        github, (kind, _, status) = self.server.github, fault.kind.partition(" ")
        if kind == "echo":
            self.send(Answer(422), json.dumps({"message": f"what is {github.token}?"}).encode())
        elif kind == "status":
            self.send(Answer(int(status)), b"<html>Unicorn!</html>")
        elif kind == "cut":
            self.send(answer, content[: len(content) // 2], length=len(content) + 10)
            self.close_connection = True
        elif kind in ("garbage", "wrong"):
            self.send(answer, b'{"number": 1' if kind == "garbage" else b'{"number": "one"}')
        elif kind == "slow":
            time.sleep(fault.seconds)
            self.send(answer, content)
        elif fault.kind in ("limit", "secondary", "too many"):
            github.limited_until = max(github.limited_until, github.clock() + fault.seconds)
            self.send(*self.limit(fault))
        else:
            self.close_connection = True
            self.connection.close()

    def limit(self, fault: Fault) -> tuple[Answer, bytes]:
        at = self.server.github.clock()
        status, headers, words = self.server.github.routes.limit(fault, at)
        headers = {"Date": formatdate(at, usegmt=True), **headers}
        return Answer(status, None, headers), json.dumps({"message": words}).encode()

    def send(self, answer: Answer, content: bytes, length: int | None = None) -> None:
        try:
            self.send_response_only(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content) if length is None else length))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()
        except OSError:
            self.close_connection = True  # the client was killed, or has given up


class Standin(ThreadingHTTPServer):
    """The server; `github` may be replaced between tests."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, github: Github) -> None:
        super().__init__(("127.0.0.1", 0), Listening)
        self.github = github
        self.mistakes: list[BaseException | None] = []
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.shutdown()
        self.server_close()
        assert self.mistakes == []

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that broke is an everyday thing here; a mistake of the stand-in's own is not."""
        if not isinstance(error := sys.exception(), OSError):
            self.mistakes.append(error)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{self.github.below}"
