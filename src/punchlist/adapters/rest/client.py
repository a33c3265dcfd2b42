"""Requests to one host of a forge, one at a time, with retries; the token goes to no other host.

ToolError: RequestRefused (nothing happened), ResponseLost (it may have happened), Unavailable
(nothing can be filed now).
"""

import itertools
import re
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Any, Generic, Self, TypeVar

import httpx
import msgspec
from msgspec import Struct

from punchlist.adapters.backoff import retry_delay
from punchlist.adapters.rest.retry import (
    FIRST,
    Pacing,
    RetryBudget,
    Unavailable,
    is_rate_limited,
    is_server_error,
    parse_date,
    retry_seconds,
)
from punchlist.adapters.rest.style import ApiStyle
from punchlist.errors import ToolError
from punchlist.model.finding.guarded_text import parse_json
from punchlist.views.safe_text import safe_text

T = TypeVar("T")

_TRIES = 5
_HOPS = 3
_WORDS_LIMIT = 300
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,]*\brel="?next"?')
_UNAUTHORIZED = 401
_TOKEN = re.compile(r"[!-~]{1,1000}")
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class RequestRefused(ToolError):
    """Nothing happened, and a retry would not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class TokenRefused(Unavailable):
    """The token is not accepted."""


class ResponseLost(ToolError):
    """It is unknown whether the request was done; `response` is set if there was one."""

    def __init__(self, message: str, response: httpx.Response | None = None) -> None:
        super().__init__(message)
        self.response = response


class _RequestUnsent(ToolError):
    """The request was never sent."""


class _RateLimited(ToolError):
    """A rate limit: nothing happened, a retry is possible."""

    def __init__(self, message: str, response: httpx.Response) -> None:
        super().__init__(message)
        self.response = response


class ApiCall(Struct, frozen=True, kw_only=True):
    """`once`: not idempotent, so a lost call is not retried here."""

    method: str
    path: str
    params: dict[str, str] = {}
    json: dict[str, Any] | None = None
    once: bool = False
    follow: bool = True
    reads: bool = False
    """A POST that changes nothing, such as a query."""


class ApiPage(Struct, Generic[T], frozen=True):
    value: T
    next: str = ""
    """The URL of the next page, or ''."""
    date: float | None = None
    """The time by the clock of the server."""


class TokenRenewal(Struct, frozen=True):
    """How a token is renewed: `renew` returns another one in the place of one that was refused with
    this response, or "" if there is none. `app`: the id of the App that it is of, or 0.
    """

    renew: Callable[[str, httpx.Response], Awaitable[str]]
    app: int = 0


class _ApiError(Struct, frozen=True):
    message: Any = ""
    error: Any = ""
    errors: Any = ()


class RestClient:
    """Use with `async with`; errors are listed in the module's docstring. `renewal` is asked once
    for each request that is refused with 401.
    """

    def __init__(
        self,
        style: ApiStyle,
        api: str,
        token: str,
        pacing: Pacing,
        renewal: TokenRenewal | None = None,
    ) -> None:
        self.style = style
        self.api = check_api_url(style, api)
        self.app = renewal.app if renewal else 0
        self._token = _check_token(token, style)
        self._renewal = renewal
        self._pacing = pacing
        self.patience = RetryBudget(pacing)
        self._written = pacing.clock() - pacing.between_writes
        self._client = httpx.AsyncClient(
            headers={**style.headers, "User-Agent": "punchlist"},
            timeout=httpx.Timeout(pacing.timeout, connect=min(pacing.timeout, 10.0)),
            trust_env=not _is_loopback(self.api.host),  # a proxy is for the world outside
            verify=self.api.scheme == "https",
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._client.aclose()

    async def request(self, call: ApiCall, kind: type[T]) -> ApiPage[T]:
        """Return the parsed response; retries until it is refused or the retry budget is spent."""
        for tries in itertools.count():
            began = self._pacing.clock()
            wait = retry_delay(tries + 1, self._pacing.jitter(), first=FIRST)
            try:
                return _parse_page(await self._request_once(call), kind)
            except _RateLimited as later:
                trouble: ToolError = Unavailable(str(later))
                wait = self._retry_pause(later.response, tries)
                self._pacing.quiet_until[self.api.host] = self._pacing.clock() + wait
            except _RequestUnsent as unsent:
                trouble = Unavailable(str(unsent))
            except ResponseLost as lost:
                trouble = lost
                if lost.response is not None:
                    wait = self._retry_pause(lost.response, tries)
            self.patience.spend(self._pacing.clock() - began)
            if tries == _TRIES - 1 or (call.once and isinstance(trouble, ResponseLost)):
                raise trouble
            await self.patience.wait(wait, trouble)
        raise AssertionError  # itertools.count has no end

    def _retry_pause(self, response: httpx.Response, tries: int) -> float:
        return retry_seconds(
            response.status_code,
            response.headers,
            tries,
            now=self._pacing.now(),
            jitter=self._pacing.jitter(),
        )

    async def _request_once(self, call: ApiCall) -> httpx.Response:
        """Return a successful response; raises the error of any other."""
        response = await self._follow_redirects(call)
        if response.status_code == _UNAUTHORIZED and self._renewal is not None:
            renewed = await self._renewal.renew(self._token, response)
            if renewed:
                self._token = _check_token(renewed, self.style)
                response = await self._follow_redirects(call)
        status = response.status_code
        if httpx.codes.is_success(status):
            return response
        words = self._error_message(response)
        said = f"{self.style.name} answered {status}{f': {words}' if words else ''}"
        if is_rate_limited(status, response.headers, words):
            raise _RateLimited(said, response)
        if is_server_error(status):
            raise ResponseLost(said, response)
        if status == _UNAUTHORIZED:
            raise TokenRefused(f"{said}; the token is not accepted")
        raise RequestRefused(said, status)

    def _error_message(self, response: httpx.Response) -> str:
        try:
            error = parse_json(response.content, _ApiError)
        except msgspec.DecodeError:
            return ""
        said = error.message or error.error  # a text, or texts by field
        words = said if isinstance(said, str) else msgspec.json.encode(said).decode()
        listed = error.errors if isinstance(error.errors, list) else []
        more = (each.get("message") for each in listed if isinstance(each, dict))
        words = ": ".join([words, *(each for each in more if isinstance(each, str))])
        return " ".join(safe_text(words.replace(self._token, "***")).split())[:_WORDS_LIMIT]

    async def _follow_redirects(self, call: ApiCall) -> httpx.Response:
        """Send the request, following redirects within the same host."""
        url = self._resolve_url(call.path)
        for _ in range(_HOPS):
            response = await self._send_request(call, url)
            place = response.headers.get("location")
            if not (httpx.codes.is_redirect(response.status_code) and place and call.follow):
                return response
            url = self._resolve_url(place, url)
        raise Unavailable(f"{self.api.host} sends us from one address to the next")

    def _resolve_url(self, path: str, seen_at: httpx.URL | None = None) -> httpx.URL:
        api = self.api
        try:
            if seen_at:
                url = seen_at.join(path)
            else:
                url = httpx.URL(path if "://" in path else f"{api}{path}")
        except httpx.InvalidURL as error:
            raise Unavailable(f"{api.host} sends us to an address that is none") from error
        same = (url.scheme, url.host, url.port) == (api.scheme, api.host, api.port)
        if not same or url.userinfo:
            where = f"another host ({safe_text(url.host)})"
            raise Unavailable(f"{api.host} sends us to {where}; the token does not go there")
        return url

    async def _send_request(self, call: ApiCall, url: httpx.URL) -> httpx.Response:
        await self._heed_limit()
        if call.method != "GET" and not call.reads:
            await self._pace_writes()
        # The URL of a redirect or of the next page has its parameters already.
        params = call.params if not url.query else None
        headers = self.style.sign(self._token)
        try:
            return await self._client.request(
                call.method, url, params=params, json=call.json, headers=headers
            )
        except _UNSENT as error:
            why = f"{self.api.host} cannot be reached: {_error_text(error)}"
            raise _RequestUnsent(why) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ResponseLost(f"{self.api.host} gave no answer: {_error_text(error)}") from error

    async def _heed_limit(self) -> None:
        """Wait for the end of a limit that an earlier connection was told of."""
        rest = self._pacing.quiet_until.get(self.api.host, 0.0) - self._pacing.clock()
        if rest > 0:
            await self.patience.wait(rest, Unavailable(f"{self.api.host} asked us to wait"))

    async def _pace_writes(self) -> None:
        rest = self._written + self._pacing.between_writes - self._pacing.clock()
        if rest > 0:
            await self._pacing.sleep(rest)
        self._written = self._pacing.clock()


def check_api_url(style: ApiStyle, api: str) -> httpx.URL:
    """Return the API's URL; raises Unavailable if a token may not be sent there."""
    hint = f"such as {style.api}"
    try:
        url = httpx.URL(api.rstrip("/"))
    except httpx.InvalidURL as error:
        raise Unavailable(f"track.api: not an address: {safe_text(api)}", hint=hint) from error
    if not url.host or url.query or url.fragment or url.userinfo:
        raise Unavailable("track.api: must be an address and nothing else", hint=hint)
    if url.scheme != "https" and not (url.scheme == "http" and _is_loopback(url.host)):
        why = f"track.api: a token is not sent over {url.scheme or 'nothing'}"
        raise Unavailable(why, hint="use an https address")
    if not style.has_address(url):
        raise Unavailable(f"track.api: {url} is no address of {style.name}'s API", hint=hint)
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _parse_page(response: httpx.Response, kind: type[T]) -> ApiPage[T]:
    following = _NEXT.search(response.headers.get("link", ""))
    try:
        value = parse_json(response.content or b"null", kind)
    except msgspec.DecodeError as error:
        why = f"{response.url.host} gave an answer that cannot be read: {error}"
        raise ResponseLost(why) from error
    date = parse_date(response.headers.get("date", ""))
    return ApiPage(value, following[1] if following else "", date)


def _check_token(token: str, style: ApiStyle) -> str:
    if not _TOKEN.fullmatch(token):
        why = f"the token for {style.name} holds blanks or letters that no token has"
        raise Unavailable(why, hint="set it anew")
    return token


def _error_text(error: httpx.HTTPError) -> str:
    return safe_text(str(error)) or type(error).__name__
