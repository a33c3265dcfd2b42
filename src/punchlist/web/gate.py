"""The gate every request goes through: it checks host, origin, size, rate and token."""

import logging
import time
from collections.abc import Callable, MutableMapping
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.app.after.reports import CONTENT_TYPES
from punchlist.errors import PunchlistError, StoreAway
from punchlist.web.pages.rendering import HEADERS, is_page, render_template
from punchlist.web.pages.routes import origin_host
from punchlist.web.problem import Problem, Refused, make_problem, retry_headers
from punchlist.web.schemas import LARGEST_BODY
from punchlist.web.security.hiding import PathMasker
from punchlist.web.security.sessions import Sessions
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


class RateLimiter:
    """Token buckets by client; those not used for long are dropped."""

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take_token(self, client: str) -> float:
        """Return 0, or the seconds to wait before the next request."""
        now = self._clock()
        left, at = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        short = 1 - left
        self._left[client] = (left if short > 0 else left - 1, now)
        if len(self._left) > _CLIENTS:
            del self._left[next(iter(self._left))]
        return short / self._rate if short > 0 else 0.0


class Gate:
    """ASGI application around another. `scope["auth"]` is the visitor of the token (API),
    `scope["user"]` that of the cookie (pages); routes check their roles.
    """

    def __init__(
        self,
        inside: Callable[..., Any],
        tokens: Tokens,
        rules: Rules,
        hide: PathMasker,
        entrance: Sessions | None = None,
    ) -> None:
        self._inside = inside
        self._entrance = entrance
        self._tokens = tokens
        self._rules = rules
        self._hide = hide
        self._buckets = RateLimiter(rules.rate, rules.burst)

    async def __call__(
        self, scope: Scope, receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._inside(scope, receive, send)
            return
        sending, where = ResponseSender(send, self._hide), f"{scope['method']} {scope['path']}"
        try:
            scope["auth"] = self._admit_request(scope)
        except Refused as error:
            await _send_problem(error.to_problem(where), error.headers, scope, sending)
        except PunchlistError as error:  # the tokens cannot be read: no request is admitted
            _log.error("%s", error)
            problem = make_problem(error, where)
            await _send_problem(problem, retry_headers(error), scope, sending)
        else:
            await self._inside(scope, receive, sending)

    def _admit_request(self, scope: Scope) -> Visitor | None:
        headers = [
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in scope["headers"]
        ]
        self._check_host([value for name, value in headers if name == "host"])
        for origin in (value for name, value in headers if name == "origin"):
            self._check_origin(origin)
        _check_size(headers)
        given = [value for name, value in headers if name == "authorization"]
        visitor = self._find_visitor(given)
        scope["user"] = self._find_user(scope)
        scope["admitted"] = lambda: self._is_admitted(given, scope)
        known = visitor or scope["user"]
        client = scope.get("client") or ("", 0)
        wait = self._buckets.take_token(known.id if known else str(client[0]))
        if wait:
            seconds = str(max(1, round(wait + 0.5)))
            again = {"retry-after": seconds}
            raise Refused(429, "too many requests", f"try again in {seconds} s", headers=again)
        if given and visitor is None:
            what, hint = "this token is not known here", "punchlist serve --new-token run"
            raise Refused(401, what, hint, headers={"www-authenticate": "Bearer"})
        return visitor

    def _is_admitted(self, given: list[str], scope: Scope) -> bool:
        """Return whether the token or cookie still counts: it may end while a stream is open. Raise
        StoreAway if that cannot be told at the moment.
        """
        try:
            return (self._find_visitor(given) or self._find_user(scope)) is not None
        except StoreAway:
            raise
        except PunchlistError:
            return False

    def _find_user(self, scope: Scope) -> Visitor | None:
        return self._entrance.find_visitor(scope) if self._entrance else None

    def _check_host(self, hosts: list[str]) -> None:
        if len(hosts) != 1 or _name(hosts[0]) not in self._rules.hosts:
            raise Refused(
                421,
                "this server does not go by that name",
                "call it as it was started, or start it with --allow-host",
            )

    def _check_origin(self, origin: str) -> None:
        host = origin_host(origin)
        if not host or _name(host) not in self._rules.hosts:
            raise Refused(
                403,
                "pages from elsewhere may not use this server",
                "open the address that `punchlist serve` printed",
            )

    def _find_visitor(self, given: list[str]) -> Visitor | None:
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        return self._tokens.find_visitor(token.strip()) if scheme.lower() == "bearer" else None


class ResponseSender:
    """Adds our headers; masks the state folder's path in whole text responses."""

    def __init__(self, send: Callable[..., Any], hide: PathMasker) -> None:
        self._send = send
        self._hide = hide
        self._start: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        elif self._start is not None and message["type"] == "http.response.body":
            start, self._start = self._start, None
            await self._send_first(start, message)
        else:
            await self._send(message)

    async def _send_first(self, start: Message, message: Message) -> None:
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


def _check_size(headers: list[tuple[str, str]]) -> None:
    """Refuse bodies that are too large, or that declare two ends (request smuggling)."""
    lengths = [value for name, value in headers if name == "content-length"]
    if lengths and any(name == "transfer-encoding" for name, _ in headers):
        raise Refused(
            400,
            "the body says in two ways where it ends",
            "send its length, or send it in chunks",
            headers=_CLOSE,
        )
    if any(not value.isdecimal() or int(value) > LARGEST_BODY for value in lengths):
        raise Refused(
            413, "the body is too large", f"send {LARGEST_BODY:,} bytes at most", headers=_CLOSE
        )


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    return (name if name and port.isascii() and port.isdigit() else host).strip("[]").lower()


async def _send_problem(
    problem: Problem, more: dict[str, str], scope: Scope, send: Callable[..., Any]
) -> None:
    """Send a page to a browser, JSON to other programs."""
    page = is_page(scope["path"]) and any(
        name == b"accept" and b"text/html" in value for name, value in scope["headers"]
    )
    if page:
        body = render_template("problem.html", problem=problem).encode()
        fields = {"content-type": "text/html; charset=utf-8"}
    else:
        body = msgspec.json.encode(problem)
        fields = {"content-type": "application/json"}
    fields |= {"content-length": str(len(body)), **(HEADERS if page else {}), **more}
    headers = [(name.encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
