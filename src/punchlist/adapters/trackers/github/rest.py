"""Requests to one GitHub, one at a time and patient; the token goes to that host and to no other.

ToolError
├── Refused        the request was understood, and is not done; nothing happened
├── Lost           no answer that can be read: it may have happened
└── Unavailable    nothing can be filed there now
"""

import itertools
import re
from ipaddress import ip_address
from typing import Any, Generic, Self, TypeVar

import httpx
import msgspec
from msgspec import Struct

from punchlist.adapters.backoff import retry_delay
from punchlist.adapters.trackers.github.retry import (
    FIRST,
    Pacing,
    Patience,
    Unavailable,
    busy,
    limited,
    pause,
)
from punchlist.errors import ToolError
from punchlist.views.safe_text import safe_text

T = TypeVar("T")

_TRIES = 5
_HOPS = 3
_WORDS_LIMIT = 300
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,]*\brel="?next"?')
_UNAUTHORIZED = 401
_TOKEN = re.compile(r"[!-~]{1,1000}")


class Refused(ToolError):  # names what is, as people say it
    """Nothing happened, and asking again would not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Lost(ToolError):  # same
    """Whether it happened is unknown; `response` is there if it was one that says so."""

    def __init__(self, message: str, response: httpx.Response | None = None) -> None:
        super().__init__(message)
        self.response = response


class _Unsent(ToolError):  # same
    """The request never left."""


class _Later(ToolError):  # same
    """A limit: nothing happened, and it may be asked again."""

    def __init__(self, message: str, response: httpx.Response) -> None:
        super().__init__(message)
        self.response = response


class Call(Struct, frozen=True, kw_only=True):
    """`once`: a second one would do it twice, so what became of a lost one is for the caller to
    find out.
    """

    method: str
    path: str
    params: dict[str, str] = {}
    json: dict[str, Any] | None = None
    once: bool = False
    follow: bool = True


class Page(Struct, Generic[T], frozen=True):
    value: T
    next: str = ""
    """Where the list goes on; empty at its end."""


class _Complaint(Struct, frozen=True):
    message: str = ""


class Rest:
    """Get one with `async with`; what it raises is in the tree above."""

    def __init__(self, api: str, token: str, pacing: Pacing) -> None:
        self.api = checked(api)
        if not _TOKEN.fullmatch(token):
            raise Unavailable(
                "the token for GitHub holds blanks or letters that no token has", hint="set it anew"
            )
        self._token = token
        self._pacing = pacing
        self.patience = Patience(pacing)
        self._written = pacing.clock() - pacing.between_writes
        self._client = httpx.AsyncClient(
            headers={
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": "punchlist",
            },
            timeout=httpx.Timeout(pacing.timeout, connect=min(pacing.timeout, 10.0)),
            trust_env=not _loopback(self.api.host),  # a proxy is for the world outside
            verify=self.api.scheme == "https",
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._client.aclose()

    async def ask(self, call: Call, kind: type[T]) -> Page[T]:
        """The answer, tried for until it comes, is refused, or patience ends."""
        for tries in itertools.count():
            began = self._pacing.clock()
            wait = retry_delay(tries + 1, self._pacing.jitter(), first=FIRST)
            try:
                return _read(await self._answered(call), kind)
            except _Later as later:
                trouble: ToolError = Unavailable(str(later))
                wait = self._pause(later.response, tries)
            except _Unsent as unsent:
                trouble = Unavailable(str(unsent))
            except Lost as lost:
                trouble = lost
                wait = self._pause(lost.response, tries) if lost.response is not None else wait
            self.patience.spend(self._pacing.clock() - began)
            if tries == _TRIES - 1 or (call.once and isinstance(trouble, Lost)):
                raise trouble
            await self.patience.wait(wait, trouble)
        raise AssertionError  # itertools.count has no end

    def _pause(self, response: httpx.Response, tries: int) -> float:
        return pause(
            response.status_code,
            response.headers,
            tries,
            now=self._pacing.now(),
            jitter=self._pacing.jitter(),
        )

    async def _answered(self, call: Call) -> httpx.Response:
        """An answer that is no complaint."""
        response = await self._followed(call)
        status = response.status_code
        if httpx.codes.is_success(status):
            return response
        words = self._words(response)
        said = f"GitHub answered {status}{f': {words}' if words else ''}"
        if limited(status, response.headers, words):
            raise _Later(said, response)
        if busy(status):
            raise Lost(said, response)
        if status == _UNAUTHORIZED:
            raise Unavailable(f"{said}; the token is not accepted")
        raise Refused(said, status)

    def _words(self, response: httpx.Response) -> str:
        try:
            words = msgspec.json.decode(response.content, type=_Complaint).message
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""
        return " ".join(safe_text(words.replace(self._token, "***")).split())[:_WORDS_LIMIT]

    async def _followed(self, call: Call) -> httpx.Response:
        """The same request again where a repository has moved to, within the same host."""
        url = self._url(call.path)
        for _ in range(_HOPS):
            response = await self._sent(call, url)
            place = response.headers.get("location")
            if not (httpx.codes.is_redirect(response.status_code) and place and call.follow):
                return response
            url = self._url(place, url)
        raise Unavailable(f"{self.api.host} sends us from one address to the next")

    def _url(self, path: str, seen_at: httpx.URL | None = None) -> httpx.URL:
        try:
            url = (
                seen_at.join(path)
                if seen_at
                else httpx.URL(path if "://" in path else f"{self.api}{path}")
            )
        except httpx.InvalidURL as error:
            raise Unavailable(f"{self.api.host} sends us to an address that is none") from error
        if (url.scheme, url.host, url.port) != (
            self.api.scheme,
            self.api.host,
            self.api.port,
        ) or url.userinfo:
            raise Unavailable(
                f"{self.api.host} sends us to another host ({safe_text(url.host)}); the token does"
                " not go there"
            )
        return url

    async def _sent(self, call: Call, url: httpx.URL) -> httpx.Response:
        if call.method != "GET":
            await self._paced()
        # A place we were sent to, or the next page, has its parameters already.
        params = call.params if not url.query else None
        try:
            return await self._client.request(
                call.method,
                url,
                params=params,
                json=call.json,
                headers={"Authorization": f"Bearer {self._token}"},
            )
        except (
            httpx.ConnectError,
            httpx.ConnectTimeout,
            httpx.PoolTimeout,
            httpx.UnsupportedProtocol,
        ) as error:
            raise _Unsent(f"{self.api.host} cannot be reached: {_why(error)}") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Lost(f"{self.api.host} gave no answer: {_why(error)}") from error

    async def _paced(self) -> None:
        rest = self._written + self._pacing.between_writes - self._pacing.clock()
        if rest > 0:
            await self._pacing.sleep(rest)
        self._written = self._pacing.clock()


def checked(api: str) -> httpx.URL:
    """The address of the interface, if a token may be sent there."""
    try:
        url = httpx.URL(api.rstrip("/"))
    except httpx.InvalidURL as error:
        raise Unavailable(
            f"track.api: not an address: {safe_text(api)}", hint="such as https://api.github.com"
        ) from error
    if not url.host or url.query or url.fragment or url.userinfo:
        raise Unavailable(
            "track.api: must be an address and nothing else", hint="such as https://api.github.com"
        )
    if url.scheme != "https" and not (url.scheme == "http" and _loopback(url.host)):
        raise Unavailable(
            f"track.api: a token is not sent over {url.scheme or 'nothing'}",
            hint="use an https address",
        )
    return url


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(response: httpx.Response, kind: type[T]) -> Page[T]:
    following = _NEXT.search(response.headers.get("link", ""))
    try:
        return Page(
            msgspec.json.decode(response.content, type=kind), following[1] if following else ""
        )
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Lost(f"{response.url.host} gave an answer that cannot be read: {error}") from error


def _why(error: httpx.HTTPError) -> str:
    return safe_text(str(error)) or type(error).__name__
