"""What stand-ins for forges share: a server on loopback with a state, faults, and a table of operations that holds every request and
every answer to the forge's schema. What a schema refuses is a problem, and `problems` must stay empty.
"""

import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import parse_qs, unquote, urlsplit

from jsonschema import Draft202012Validator

HERE = Path(__file__).parent
TOKEN = "dummy-token-for-loopback"


class Refused(Exception):
    def __init__(self, status: int, message: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Fault:
    """How a request that changes something goes wrong; `effect`: it was done all the same."""

    status: int = 502
    effect: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "Bad Gateway"
    kill: bool = False
    """The process that asks is killed before it has the answer."""


LOST = Fault(502, effect=True)


@dataclass
class ForgeState:
    """The state. Lists leave out what is younger than `lag` reads."""

    head: str = "h" * 40
    base: str = "b" * 40
    fork: bool = False
    viewer: str = "punchy"
    page: str = ""
    """The address of the pull request."""
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
    may_push: bool = False
    """The author of a fork lets others push to the branch."""
    diffs: dict[str, str] = field(default_factory=dict)
    """By path, where lines are looked at exactly: the diff."""
    push_resolves: bool = False
    """A push resolves the threads whose lines it changes."""
    pipelines: list[dict[str, Any]] = field(default_factory=list)
    busy: int = 0
    """How many commit statuses are refused because another request changes the same."""
    project: str = ""
    """The repository of the last request, where a forge has several."""
    lag: int = 0
    faults: list[Fault | None] = field(default_factory=list)
    """What happens to the next requests that change something."""
    read_faults: list[Fault | None] = field(default_factory=list)
    """What happens to the next requests that change nothing."""
    denied: int = 0
    """What a token that may not comment is told, such as 404; 0: it may."""
    written: list[float] = field(default_factory=list)
    """When requests changed something, by the clock."""
    writes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hold_after: int = 0
    """The answer to this write, counted from 1, is held back until `release`."""
    held: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    watch: Callable[[], object] = lambda: None
    """Called after each request."""
    kill: Callable[[], object] = lambda: None
    dying: bool = False
    clock: Callable[[], float] | None = None
    """With it no request may come before Retry-After is over."""
    limited_until: float = 0.0
    reads: int = 0
    ids: int = 1000
    lock: threading.RLock = field(default_factory=threading.RLock)

    def next_id(self) -> int:
        self.ids += 1
        return self.ids

    def add_comment(self, body: str, author: str, *, bot: bool = False) -> dict[str, Any]:
        number = self.next_id()
        return {"id": number, "body": body, "author": author, "bot": bot, "born": self.reads,
                "url": f"{self.page}#note_{number}"}  # fmt: skip

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
        thread = {"id": f"{self.next_id():040x}", "path": path, "line": line, "first": first, "resolved": "",
                  "comments": [self.add_comment(body, author, bot=bot)], "born": self.reads}  # fmt: skip
        self.threads.append(thread)
        return thread

    def reply(self, thread: dict[str, Any], body: str, author: str) -> None:
        thread["comments"].append(self.add_comment(body, author))

    def delete_comment(self, gone: dict[str, Any]) -> None:
        for thread in self.threads:
            thread["comments"] = [each for each in thread["comments"] if each is not gone]
        self.threads[:] = [thread for thread in self.threads if thread["comments"]]
        self.comments[:] = [each for each in self.comments if each is not gone]

    def visible(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            each for each in entries if each["born"] + self.lag <= self.reads or each["born"] == 0
        ]

    def concluded(self) -> list[tuple[str, str]]:
        """Our checks: the commit and what came of it, in GitHub's words."""
        ours = [
            (run["head_sha"], run["conclusion"])
            for run in self.check_runs
            if run["name"] == "punchlist"
        ]
        return [*ours, *((each["sha"], self.status_word(each)) for each in self.statuses)]

    @staticmethod
    def status_word(status: dict[str, Any]) -> str:
        neutral = str(status.get("description")).startswith("neutral")
        return "neutral" if neutral else {"failed": "failure"}.get(status["state"], status["state"])

    def own_threads(self) -> list[dict[str, Any]]:
        return [each for each in self.threads if each["comments"][0]["author"] == self.viewer]


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{\w+\\}", "([^/]+)", re.escape(path)))


class ForgeServer:
    """The server; use with `with`. A forge's own is a subclass."""

    name: ClassVar[str] = ""
    rest: ClassVar[dict[str, Any]] = {}
    """By operation, such as `GET /projects/{id}`: parameters of the query, schema of the body, status, schema of the answer."""
    below: ClassVar[str] = ""
    """The path that all operations are below."""
    limited: ClassVar[Fault] = Fault(429, headers={"Retry-After": "1"}, message="Too Many Requests")
    per_minute: ClassVar[int] = 0
    """How many requests may change something in a minute, if there is such a limit."""
    page: ClassVar[str] = ""

    def is_signed(self, headers: Any) -> bool:
        raise NotImplementedError

    def perform(self, key: str, parts: tuple[str, ...], query: dict[str, str], body: Any) -> Any:
        """Do an operation; return its answer, or raise Refused."""
        raise NotImplementedError

    def answer_other(
        self, method: str, path: str, body: Any
    ) -> tuple[int, dict[str, str], Any] | None:
        """Answer what is no operation of the table, or return None."""
        return None

    def __init__(self) -> None:
        self.state = self.fresh()
        self.routes = [(key.split(" ")[0], _pattern(key.split(" ")[1]), key) for key in self.rest]
        self.routes.sort(key=lambda route: route[2].count("{"))
        self._validators: dict[int, Draft202012Validator] = {}
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
                    state.watch()
                    dying, state.dying = state.dying, False
                if dying:
                    state.kill()
                    state.release.wait(60)
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
        self.api = f"http://127.0.0.1:{self._server.server_address[1]}{self.below}"

    def fresh(self, **values: Any) -> ForgeState:
        """Begin with another state."""
        self.state = ForgeState(page=self.page, **values)
        return self.state

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
        if not self.is_signed(headers):
            return 401, {}, {"message": "401 Unauthorized"}
        if state.clock and state.clock() < state.limited_until:
            state.problems.append(f"{method} {target}: asked before Retry-After was over")
        url = urlsplit(target)
        body = json.loads(raw) if raw else None
        if (other := self.answer_other(method, url.path, body)) is not None:
            return other
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        for verb, pattern, key in self.routes:
            found = pattern.fullmatch(url.path.removeprefix(self.below))
            if verb == method and found and url.path.startswith(self.below):
                return self._perform(key, tuple(map(unquote, found.groups())), query, body)
        state.problems.append(f"no such operation: {method} {target}")
        return 404, {}, {"message": "Not Found"}

    def _perform(
        self, key: str, parts: tuple[str, ...], query: dict[str, str], body: Any
    ) -> tuple[int, dict[str, str], Any]:
        state, spec = self.state, self.rest[key]
        changes = not key.startswith("GET")
        unknown = query.keys() - set(spec["query"])
        if unknown:
            state.problems.append(f"{key}: unknown parameters {unknown}")
        self._check(f"{key} asked", spec["body"], body)
        fault = self.next_fault(changes=changes)
        if fault and not fault.effect:
            return fault.status, fault.headers, {"message": fault.message}
        try:
            self._check_token(key)
            answer = self.perform(key, parts, query, body)
        except Refused as refused:
            return refused.status, {}, {"message": refused.message}
        if changes:
            state.writes.append(key)
        self._check(f"{key} answered", spec["answer"], answer)
        if fault:
            return fault.status, fault.headers, {"message": fault.message}
        if not changes and (
            isinstance(answer, list) or "check_runs" in answer or "statuses" in answer
        ):
            return spec["status"], *self.paginate(key, parts, query, answer)
        return spec["status"], {}, answer

    def _check_token(self, key: str) -> None:
        """Refuse comments of a token that may not write them."""
        comments = not (key.startswith("GET") or "status" in key or "check-runs" in key)
        if comments and self.state.denied:
            words = {404: "Not Found", 403: "Forbidden"}[self.state.denied]
            raise Refused(self.state.denied, words)

    def paginate(
        self, key: str, parts: tuple[str, ...], query: dict[str, str], answer: list[Any]
    ) -> tuple[dict[str, str], list[Any]]:
        """Return headers and the page of a list that is asked for; all of it, unless the forge has pages."""
        return {}, answer

    def next_fault(self, *, changes: bool) -> Fault | None:
        """Return what goes wrong with a request; count it if it changes something."""
        state = self.state
        if changes and state.clock:
            now = state.clock()
            state.written = [each for each in state.written if each > now - 60] + [now]
            if self.per_minute and len(state.written) > self.per_minute:
                state.problems.append(f"more than {self.per_minute} changes in a minute")
        faults = state.faults if changes else state.read_faults
        fault = faults.pop(0) if faults else None
        if fault and state.clock and "Retry-After" in fault.headers:
            state.limited_until = state.clock() + float(fault.headers["Retry-After"])
        state.dying = fault is not None and fault.kill
        return fault

    def _check(self, what: str, schema: Any, value: Any) -> None:
        if schema is not None and value is not None:
            known = self._validators.setdefault(id(schema), Draft202012Validator(schema))
            for error in known.iter_errors(value):
                self.state.problems.append(f"{what}: {error.json_path}: {error.message[:300]}")
