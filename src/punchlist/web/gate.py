"""The gate every request goes through: whose name it calls, where it comes from, how often, and who
it is.
"""

import logging
import time
from collections.abc import Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from punchlist.app.report_formats import CONTENT_TYPES
from punchlist.errors import PunchlistError
from punchlist.web.pages.rendering import HEADERS, is_page, rendered
from punchlist.web.problem import Problem, Refused, problem_of
from punchlist.web.schemas import LARGEST_BODY
from punchlist.web.security.hiding import Hiding
from punchlist.web.security.sessions import Entrance
from punchlist.web.security.tokens import Tokens, Visitor

_log = logging.getLogger("punchlist")
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
_CLIENTS = 4096
_PLAIN = ("application/json", "text/", *CONTENT_TYPES)
_CLOSE = {"connection": "close"}
_SHUT_IN = (
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    b"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox allow-scripts"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", _SHUT_IN),
)


class Rules(Struct, frozen=True):
    """`hosts` are the names, without ports, under which the server may be called. `rate` requests a
    second, `burst` at once.
    """

    hosts: frozenset[str]
    rate: float = 100
    burst: float = 1000


class Buckets:
    """How often each client may still come; who has not come for long is forgotten."""

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, client: str) -> float:
        """Zero, or the seconds after which another try is worth it."""
        now = self._clock()
        left, at = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        short = 1 - left
        self._left[client] = (left if short > 0 else left - 1, now)
        if len(self._left) > _CLIENTS:
            del self._left[next(iter(self._left))]
        return short / self._rate if short > 0 else 0.0


class Gate:
    """An ASGI application around another. Whose token it is is in `scope["auth"]`, whose cookie in
    `scope["user"]`: the API goes by the one, pages by the other. What they may is for the routes to
    say.
    """

    def __init__(
        self,
        inside: Callable[..., Any],
        tokens: Tokens,
        rules: Rules,
        hide: Hiding,
        entrance: Entrance | None = None,
    ) -> None:
        self._inside = inside
        self._entrance = entrance
        self._tokens = tokens
        self._rules = rules
        self._hide = hide
        self._buckets = Buckets(rules.rate, rules.burst)

    async def __call__(
        self, scope: Scope, receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._inside(scope, receive, send)
            return
        sending, where = Sending(send, self._hide), f"{scope['method']} {scope['path']}"
        try:
            scope["auth"] = self._admitted(scope)
        except Refused as error:
            await _told(error.problem(where), error.headers, scope, sending)
        except PunchlistError as error:  # who may come in cannot be read, and so nobody does
            _log.error("%s", error)
            await _told(problem_of(error, where), {}, scope, sending)
        else:
            await self._inside(scope, receive, sending)

    def _admitted(self, scope: Scope) -> Visitor | None:
        headers = [
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in scope["headers"]
        ]
        self._right_host([value for name, value in headers if name == "host"])
        for origin in (value for name, value in headers if name == "origin"):
            self._right_origin(origin)
        _right_size(headers)
        given = [value for name, value in headers if name == "authorization"]
        visitor = self._known(given)
        scope["user"] = self._entrance.visitor(scope) if self._entrance else None
        scope["welcome"] = lambda: self._welcome(given, scope)
        known = visitor or scope["user"]
        client = scope.get("client") or ("", 0)
        wait = self._buckets.wait(known.id if known else str(client[0]))
        if wait:
            seconds = str(max(1, round(wait + 0.5)))
            raise Refused(
                429,
                "too many requests",
                next_=f"try again in {seconds} s",
                headers={"retry-after": seconds},
            )
        if given and visitor is None:
            unknown = {"www-authenticate": "Bearer"}
            raise Refused(
                401,
                "this token is not known here",
                next_="punchlist serve --new-token run",
                headers=unknown,
            )
        return visitor

    def _welcome(self, given: list[str], scope: Scope) -> bool:
        """Whether whoever was let in would be let in now: a stream goes on for days, and a token
        may be dropped meanwhile.
        """
        try:
            return (
                self._known(given) or (self._entrance and self._entrance.visitor(scope))
            ) is not None
        except PunchlistError:
            return False

    def _right_host(self, hosts: list[str]) -> None:
        if len(hosts) != 1 or _name(hosts[0]) not in self._rules.hosts:
            raise Refused(
                421,
                "this server does not go by that name",
                next_="call it as it was started, or start it with --allow-host",
            )

    def _right_origin(self, origin: str) -> None:
        parts = _split(origin)
        if (
            parts is None
            or parts.scheme not in ("http", "https")
            or _name(parts.netloc) not in self._rules.hosts
        ):
            raise Refused(
                403,
                "pages from elsewhere may not use this server",
                next_="open the address that `punchlist serve` printed",
            )

    def _known(self, given: list[str]) -> Visitor | None:
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        return self._tokens.visitor(token.strip()) if scheme.lower() == "bearer" else None


class Sending:
    """Sends an answer on with our headers; whole answers in plain text lose the state folder's path
    on the way.
    """

    def __init__(self, send: Callable[..., Any], hide: Hiding) -> None:
        self._send = send
        self._hide = hide
        self._start: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        elif self._start is not None and message["type"] == "http.response.body":
            start, self._start = self._start, None
            await self._first(start, message)
        else:
            await self._send(message)

    async def _first(self, start: Message, message: Message) -> None:
        headers = [(name.lower(), value) for name, value in start["headers"]]
        kind = next(
            (value.decode("latin-1") for name, value in headers if name == b"content-type"), ""
        )
        headers += [each for each in _HEADERS if each[0] not in dict(headers)]
        if kind.startswith(_PLAIN) and not message.get("more_body") and message.get("body"):
            body = self._hide(message["body"])
            headers = [
                (name, str(len(body)).encode() if name == b"content-length" else value)
                for name, value in headers
            ]
            message = {**message, "body": body}
        await self._send({**start, "headers": headers})
        await self._send(message)


def _right_size(headers: list[tuple[str, str]]) -> None:
    """What says in two ways where it ends could be read as two requests; what says that it is too
    large is not waited for.
    """
    lengths = [value for name, value in headers if name == "content-length"]
    if lengths and any(name == "transfer-encoding" for name, _ in headers):
        raise Refused(
            400,
            "the body says in two ways where it ends",
            next_="send its length, or send it in chunks",
            headers=_CLOSE,
        )
    if any(not value.isdecimal() or int(value) > LARGEST_BODY for value in lengths):
        raise Refused(
            413,
            "the body is too large",
            next_=f"send {LARGEST_BODY:,} bytes at most",
            headers=_CLOSE,
        )


def _split(origin: str) -> Any:
    try:
        return urlsplit(origin)
    except ValueError:
        return None


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    return (name if name and port.isascii() and port.isdigit() else host).strip("[]").lower()


async def _told(
    problem: Problem, more: dict[str, str], scope: Scope, send: Callable[..., Any]
) -> None:
    """In the shape that whoever asks can read: a page for people, JSON for programs."""
    page = is_page(scope["path"]) and any(
        name == b"accept" and b"text/html" in value for name, value in scope["headers"]
    )
    body = (
        rendered("problem.html", problem=problem).encode() if page else msgspec.json.encode(problem)
    )
    kind = b"text/html; charset=utf-8" if page else b"application/json"
    said = {
        name.encode(): value.encode()
        for name, value in {**(HEADERS if page else {}), **more}.items()
    }
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *said.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
