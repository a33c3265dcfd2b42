"""What stand-ins for forges share: a server on loopback with a state, faults, and a table of operations that holds every request and
every answer to the forge's schema. What a schema refuses is a problem, and `problems` must stay empty.
"""

import json
import re
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import parse_qs, unquote, urlsplit

from forge_state import Fault, ForgeState, Refused
from jsonschema import Draft202012Validator

HERE = Path(__file__).parent
TOKEN = "dummy-token-for-loopback"


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

            def date_time_string(self, timestamp: float | None = None) -> str:
                return super().date_time_string(outer.tell_time())

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

    def tell_time(self) -> float:
        """Return the time by the clock of the forge."""
        return time.time()

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
        if state.clock and (rest := state.limited_until - state.clock()) > 0:
            if state.processes == 1:
                state.problems.append(f"{method} {target}: asked before Retry-After was over")
            else:
                return 429, {"Retry-After": f"{rest:.0f}"}, {"message": "Too Many Requests"}
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
            errors = [{"message": each} for each in refused.details]
            told = {"message": refused.message} | ({"errors": errors} if errors else {})
            return refused.status, {}, told
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
                if state.processes == 1:
                    state.problems.append(f"more than {self.per_minute} changes in a minute")
                state.faults.insert(0, Fault(429, headers={"Retry-After": "60"}))
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
