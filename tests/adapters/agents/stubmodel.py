"""A scripted stand-in for the models behind coding agents, on loopback: the real programs run end to end against it.

One port speaks Anthropic Messages, OpenAI Responses, Chat Completions and Gemini. A scenario is `{"rules": [RULE, ...]}`; the
first rule whose `match` fits answers:

    RULE = {"name": str, "match": {...}, "advance": "history" | "calls", "loop": bool, "steps": [STEP, ...]}

`match` may ask for `api`, `has_tools` (the main loop, not a side call for a title), `has_tool`, `model`, `system`, `text` (in the
newest user text) and `any_text` (anywhere in the request). With `history`, the default, the step played is the number of tool
round trips since the newest user text: nothing is remembered, so parallel and resumed sessions work. `calls` counts requests, for
scripts like "429 twice, then fine".

    STEP = {"blocks": [BLOCK, ...]} or one BLOCK, and optionally "delay", "usage": {"in", "out", "cached"}, "cut": n (events)
         | {"status": 429, "error": "message", "headers": {...}} | {"stream_error": "overloaded_error"} | {"hang": seconds}
    BLOCK = {"text": ...} | {"json": ...} | {"thinking": ...} | {"tool": name, "input": {...}}

Tools called @read, @write, @edit, @shell and @final are translated to what the agent offers.
"""

import gzip
import json
import ssl
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlparse

import stub_answers
import stub_requests
from stub_requests import Request
from stub_tools import blocks_of

SECRET_HEADERS = {"authorization", "x-api-key", "x-goog-api-key", "api-key"}
BODIES = {
    "/messages": stub_requests.anthropic,
    "/chat/completions": stub_requests.chat,
    "/responses": stub_requests.responses,
}


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is not worth a traceback."""


class StubModel:
    """The server; `requests` is what it was asked, newest last, and `logins` are the keys it was shown."""

    def __init__(self, scenario: dict[str, Any], tls: ssl.SSLContext | None = None) -> None:
        self.scenario = scenario
        self.requests: list[dict[str, Any]] = []
        self.logins: set[str] = set()
        self._hits: dict[str, int] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        address = f"localhost:{self._server.server_address[1]}"
        self.url = (
            f"https://{address}" if tls else f"http://{address.replace('localhost', '127.0.0.1')}"
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The requests that were played from a script."""
        return [request for request in self.requests if "api" in request]

    def pick(self, request: Request, raw: str) -> tuple[str, dict[str, Any]]:
        """The rule and the step that answer a request."""
        for number, rule in enumerate(self.scenario.get("rules", [])):
            if not _fits(rule.get("match", {}), request, raw):
                continue
            name = rule.get("name", f"rule{number}")
            with self._lock:
                call = self._hits.get(name, 0)
                self._hits[name] = call + 1
            steps = rule["steps"]
            index = call if rule.get("advance") == "calls" else request.rounds
            index = index % len(steps) if rule.get("loop") else min(index, len(steps) - 1)
            return f"{name}#{index}", steps[index]
        return "default", {"text": "ok"}

    def record(self, entry: dict[str, Any]) -> None:
        with self._lock:
            self.requests.append(entry)

    def wait(self, seconds: float) -> None:
        """A pause that ends with the server."""
        self._ended.wait(seconds)


def _fits(match: dict[str, Any], request: Request, raw: str) -> bool:
    return (
        match.get("api", request.api) == request.api
        and match.get("has_tools", bool(request.tools)) == bool(request.tools)
        and ("has_tool" not in match or match["has_tool"] in request.tools)
        and match.get("model", "") in request.model
        and match.get("system", "") in request.system
        and match.get("text", "") in request.last_user
        and match.get("any_text", "") in raw
    )


def _understood(path: str, body: dict[str, Any]) -> Request | None:
    for ending, read in BODIES.items():
        if path.endswith(ending):
            return read(body)
    if path.endswith((":generateContent", ":streamGenerateContent")):
        model, verb = path.rsplit("/", 1)[1].split(":")
        return stub_requests.gemini(body, model, stream=verb.startswith("stream"))
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: StubModel

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:  # the name is http.server's
        self._send(200, None)

    def do_GET(self) -> None:  # the name is http.server's
        self._record(rule="GET")
        if not urlparse(self.path).path.endswith("/models"):
            self._send(404, {"error": {"message": f"no GET {self.path} here"}})
            return
        names = self.owner.scenario.get("models", ["stub-model"])
        listed = [
            {"id": name, "object": "model", "type": "model", "display_name": name, "created": 0}
            for name in names
        ]
        gemini = [{"name": f"models/{name}", "displayName": name} for name in names]
        self._send(200, {"object": "list", "has_more": False, "data": listed, "models": gemini})

    def do_POST(self) -> None:  # the name is http.server's
        raw, url = self._body(), urlparse(self.path)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        if url.path.endswith(("/messages/count_tokens", ":countTokens")):
            self._record(rule="count_tokens", body=body)
            tokens = max(1, len(raw) // 4)
            self._send(200, {"input_tokens": tokens, "totalTokens": tokens})
            return
        request = _understood(url.path, body)
        if request is None:  # telemetry and the like
            self._record(rule="other", body=body)
            self._send(404, {"error": {"message": f"no POST {url.path} here"}})
            return
        name, step = self.owner.pick(request, raw.decode("utf-8", "replace"))
        tools, said = sorted(request.tools), request.last_user[:2000]
        self._record(
            api=request.api,
            rule=name,
            model=request.model,
            rounds=request.rounds,
            tools=tools,
            last_user=said,
            body=body,
        )
        try:
            self._play(
                request,
                step,
                sse=request.api != "gemini" or parse_qs(url.query).get("alt") == ["sse"],
            )
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client went away

    def _body(self) -> bytes:
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length) if length else b"".join(self._chunks())
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def _chunks(self):
        while "chunked" in (self.headers.get("transfer-encoding") or ""):
            size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
            yield self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                return

    def _record(self, **values: object) -> None:
        self.owner.logins |= {
            value for key, value in self.headers.items() if key.lower() in SECRET_HEADERS
        }
        headers = {
            key.lower(): "***" if key.lower() in SECRET_HEADERS else value
            for key, value in self.headers.items()
        }
        self.owner.record(
            {
                "time": time.time(),
                "method": self.command,
                "path": self.path,
                "headers": headers,
                **values,
            }
        )

    def _send(self, status: int, body: object, headers: dict[str, object] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        fixed = {
            "content-type": "application/json",
            "content-length": len(data),
            "request-id": stub_answers.made_id("req_"),
        }
        for key, value in {**fixed, **(headers or {})}.items():
            self.send_header(key, str(value))
        self.end_headers()
        self.wfile.write(data)

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _drop(self) -> None:
        self.close_connection = True
        with suppress(OSError):  # it may be down already
            self.connection.shutdown(2)

    def _play(self, request: Request, step: dict[str, Any], *, sse: bool) -> None:
        self.owner.wait(step.get("delay", 0))
        if "hang" in step:
            self.owner.wait(step["hang"])
            self._drop()
            return
        if "status" in step:
            error = stub_answers.error_body(
                request.api, step["status"], step.get("error", "scripted error")
            )
            self._send(step["status"], error, step.get("headers"))
            return
        usage = {"in": 1000, "out": 100, "cached": 0, **step.get("usage", {})}
        full, events = stub_answers.ANSWERS[request.api](
            request, blocks_of(step, request.tools), usage
        )
        if not request.stream:
            self._drop() if "cut" in step else self._send(200, full)
            return
        self._begin_stream("text/event-stream" if sse else "application/json")
        if not sse:  # Gemini's other way to stream: an array
            self._chunk(json.dumps([data for _, data in events]))
        elif not self._streamed(events, step):
            return
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _begin_stream(self, kind: str) -> None:
        self.send_response(200)
        fixed = {"content-type": kind, "transfer-encoding": "chunked", "cache-control": "no-cache"}
        for key, value in {**fixed, "request-id": stub_answers.made_id("req_")}.items():
            self.send_header(key, value)
        self.end_headers()

    def _streamed(self, events: stub_answers.Events, step: dict[str, Any]) -> bool:
        """Whether the stream came to its end; a cut one is dropped."""
        if "stream_error" in step:
            error = {"type": step["stream_error"], "message": "scripted stream error"}
            events = [*events[:2], ("error", {"type": "error", "error": error})]
        for index, (kind, data) in enumerate(events):
            if index >= step.get("cut", len(events)):
                self._drop()
                return False
            text = data if isinstance(data, str) else json.dumps(data)
            self._chunk((f"event: {kind}\n" if kind else "") + f"data: {text}\n\n")
            self.owner.wait(step.get("event_delay", 0))
        return True
