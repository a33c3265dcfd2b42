"""Tokens of an App for one repository: made of its key, kept in memory, renewed when refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar

import httpx
from msgspec import Struct

from punchlist.adapters.rest.client import (
    ApiCall,
    RequestRefused,
    RestClient,
    TokenRefused,
    TokenRenewal,
)
from punchlist.adapters.rest.github_app.app_key import AppKey
from punchlist.adapters.rest.github_app.permissions import (
    ANSWERING,
    AppPermission,
    choose_permissions,
)
from punchlist.adapters.rest.retry import GONE, NotThere, Pacing, Unavailable, parse_date
from punchlist.adapters.rest.style import ApiStyle
from punchlist.errors import ToolError

T = TypeVar("T")

_MARGIN = 300.0
"""Seconds that a token must last when it is given to a request, or to git."""
_HOUR = 3600.0
_SAME_TIME = 5.0
"""Seconds by which two looks at the server's clock may differ without meaning anything."""
_FORBIDDEN = 403


class AppAccount(Struct, frozen=True, kw_only=True):
    """The App itself. Its comments are of the user `SLUG[bot]`."""

    id: int
    name: str
    html_url: str
    slug: str = ""


class Installation(Struct, frozen=True, kw_only=True):
    """The App in one account. What is granted may be less than what the App asks for."""

    id: int
    app_id: int
    html_url: str
    permissions: dict[str, str] = {}
    suspended_at: str | None = None


class _MadeToken(Struct, frozen=True):
    token: str
    expires_at: str

    def __repr__(self) -> str:
        return f"_MadeToken(until {self.expires_at})"


class _KeptToken(Struct, frozen=True):
    """`until`: when it ends, by the clock of this machine."""

    token: str
    until: float
    app: int

    def __repr__(self) -> str:
        return f"_KeptToken(until {self.until:.0f})"


class _Memory(Struct, frozen=True):
    """What all connections of this process share."""

    tokens: dict[tuple[Any, ...], _KeptToken] = {}
    ahead: dict[str, float] = {}
    """By API: how many seconds its clock is ahead of ours, if that matters."""


_MEMORY = _Memory()


class AppPlace(Struct, frozen=True, kw_only=True):
    """Where an App is at work: a repository (OWNER/NAME), and what is needed there."""

    style: ApiStyle
    api: str
    repository: str = ""
    needed: tuple[AppPermission, ...] = ANSWERING


class AppAccess:
    """Access to a repository as an App. Raises Unavailable, or NotThere if it is not installed."""

    def __init__(self, key: AppKey, place: AppPlace, pacing: Pacing) -> None:
        self._key = key
        self._style = place.style
        self._api = place.api
        self._pacing = pacing
        self._repository = place.repository
        self._needed = place.needed
        self._name = (place.api, key, place.repository.casefold(), place.needed)

    async def read_token(self) -> tuple[str, int]:
        """Return a token that lasts for a while, and the id of the App."""
        kept = _MEMORY.tokens.get(self._name)
        if kept is None or kept.until < self._pacing.now() + _MARGIN:
            kept = await self._make_token()
        return kept.token, kept.app

    async def renew(self, refused: str, response: httpx.Response) -> str:
        """Return another token than the refused one: that of another connection, or a new one."""
        kept = _MEMORY.tokens.get(self._name)
        if kept is not None and kept.token == refused:
            del _MEMORY.tokens[self._name]
        return (await self.read_token())[0]

    async def read_app(self) -> AppAccount:
        """Return the App; this shows that its key works."""
        async with self._connect() as rest:
            return await self._read_app(rest)

    async def find_installation(self) -> Installation:
        """Return the installation on the repository."""
        async with self._connect() as rest:
            return await self._find_installation(rest)

    @property
    def seconds_ahead(self) -> float:
        """By how many seconds GitHub's clock is ahead of ours; 0 if the difference is harmless."""
        return _MEMORY.ahead.get(self._api, 0.0)

    async def _make_token(self) -> _KeptToken:
        async with self._connect() as rest:
            installation = await self._find_installation(rest)
            if installation.suspended_at:
                raise self._tell_suspended(installation)
            content = {
                "repositories": [self._repository.partition("/")[2]],
                "permissions": choose_permissions(self._needed, installation.permissions),
            }
            path = f"/app/installations/{installation.id}/access_tokens"
            try:
                call = ApiCall(method="POST", path=path, json=content)
                made = await rest.request(call, _MadeToken)
            except RequestRefused as refused:
                if refused.status == _FORBIDDEN and "suspended" in str(refused):
                    raise self._tell_suspended(installation) from refused
                why = f"the App gets no token for {self._repository}: {refused}"
                hint = "was the repository renamed? git remote set-url origin, or track.repository"
                raise Unavailable(why, hint=hint) from refused
        now = self._pacing.now()
        until = now + _count_seconds(made.value.expires_at, made.date or now)
        kept = _KeptToken(made.value.token, until, installation.app_id)
        _MEMORY.tokens[self._name] = kept
        return kept

    async def _find_installation(self, rest: RestClient) -> Installation:
        try:
            return await _get(rest, f"/repos/{self._repository}/installation", Installation)
        except RequestRefused as refused:
            if refused.status not in GONE:
                raise Unavailable(f"{self._repository}: {refused}") from refused
            app = await self._read_app(rest)
            why = f"the App {app.name} is not installed on {self._repository}"
            hint = f"install it there: {app.html_url}/installations/new"
            raise NotThere(why, hint=hint) from refused

    async def _read_app(self, rest: RestClient) -> AppAccount:
        try:
            return await _get(rest, "/app", AppAccount)
        except RequestRefused as refused:
            raise self._tell_refused(refused) from refused

    def _tell_refused(self, refused: ToolError) -> Unavailable:
        why = f"{self._style.name} does not accept the key of the App {self._key.issuer}"
        hint = f"is track.app the id of the App that the key in {self._key.source} is of?"
        return Unavailable(f"{why}: {refused}", hint=hint)

    def _tell_suspended(self, installation: Installation) -> Unavailable:
        why = f"the App is suspended on {self._repository}"
        return Unavailable(why, hint=f"an owner can lift that: {installation.html_url}")

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[RestClient]:
        """Lend a connection as the App itself."""
        renewal = TokenRenewal(self._correct_clock)
        client = RestClient(self._style, self._api, self._sign(), self._pacing, renewal)
        try:
            async with client as rest:
                yield rest
        except TokenRefused as refused:
            raise self._tell_refused(refused) from refused

    def _sign(self) -> str:
        return self._key.sign_jwt(self._pacing.now() + self.seconds_ahead)

    async def _correct_clock(self, refused: str, response: httpx.Response) -> str:
        """Return a JSON Web Token with GitHub's time, if our clock may be why it was refused."""
        date = parse_date(response.headers.get("date", ""))
        if date is None or abs(date - self._pacing.now() - self.seconds_ahead) < _SAME_TIME:
            return ""
        _MEMORY.ahead[self._api] = date - self._pacing.now()
        return self._sign()


async def _get(rest: RestClient, path: str, kind: type[T]) -> T:
    return (await rest.request(ApiCall(method="GET", path=path), kind)).value


def _count_seconds(expires_at: str, now: float) -> float:
    try:
        return datetime.fromisoformat(expires_at).timestamp() - now
    except ValueError:
        return _HOUR
