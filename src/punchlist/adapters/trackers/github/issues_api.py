"""The issues of one GitHub repository: the few requests that filing needs, with typed answers."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from punchlist.adapters.trackers.github.rest import Call, Lost, Refused, Rest
from punchlist.adapters.trackers.github.retry import Unavailable

_PAGE = "100"
_PAGES = 300
_SEARCHED = 1000
"""GitHub shows no more results of one search."""
_ELSEWHERE = frozenset({301, 302, 307, 308, 410})
"""What a number answers whose issue was moved away or deleted."""
_FREE = 404
_COLORS = {"critical": "b60205", "major": "d93f0b", "minor": "fbca04"}
_PLAIN = "c5def5"
MARKER = "punchlist:fingerprint"


class Author(Struct, frozen=True):
    login: str = ""
    type: str = ""


class Issue(Struct, frozen=True, kw_only=True):
    """An issue as GitHub tells it; a pull request is one, too."""

    number: int
    html_url: str
    state: str
    state_reason: str | None = None
    body: str | None = None
    user: Author | None = None
    author_association: str = ""
    pull_request: dict[str, Any] | None = None

    @property
    def open(self) -> bool:
        return self.state == "open"


class Reading(Struct, frozen=True):
    """What a number leads to; one that is `taken` without an issue had one."""

    issue: Issue | None = None
    taken: bool = True


class Draft(Struct, frozen=True):
    title: str
    body: str
    labels: tuple[str, ...]


class _Repository(Struct, frozen=True):
    full_name: str
    has_issues: bool = True
    archived: bool = False


class _Found(Struct, frozen=True):
    total_count: int
    items: list[Issue]


class _Named(Struct, frozen=True):
    name: str


class Issues:
    """`repository` is OWNER/NAME; what it is called today is found out by `open`."""

    def __init__(self, rest: Rest, repository: str) -> None:
        self._rest = rest
        self._repository = repository

    @classmethod
    async def open(cls, rest: Rest, repository: str) -> "Issues":
        """The repository where it is now: one that was renamed sends us on."""
        try:
            found = (
                await rest.ask(Call(method="GET", path=f"/repos/{repository}"), _Repository)
            ).value
        except Refused as refused:
            raise Unavailable(
                f"{repository}: {refused}; does it exist, and may the token see it?"
            ) from refused
        if not found.has_issues or found.archived:
            why = "is archived" if found.archived else "has its issues switched off"
            raise Unavailable(f"{found.full_name} {why} on GitHub")
        return cls(rest, found.full_name)

    async def viewer(self) -> str:
        """Whose token it is; empty for one that belongs to no person, such as that of a job."""
        try:
            return (await self._rest.ask(Call(method="GET", path="/user"), Author)).value.login
        except Refused:
            return ""

    async def labelled(self, labels: Sequence[str]) -> list[Issue]:
        """All issues that have these labels, open or closed, oldest first; of all there are, where
        no label is named.
        """
        wanted = {"labels": ",".join(labels)} if labels else {}
        params = {
            "state": "all",
            "sort": "created",
            "direction": "asc",
            "per_page": _PAGE,
            **wanted,
        }
        return [issue async for page in self._pages(self._path("issues"), params) for issue in page]

    async def newest(self) -> list[Issue]:
        params = {"state": "all", "sort": "created", "direction": "desc", "per_page": _PAGE}
        return (
            await self._rest.ask(
                Call(method="GET", path=self._path("issues"), params=params), list[Issue]
            )
        ).value

    async def read(self, number: int) -> Reading:
        """An issue by its number, which is never late as lists are."""
        try:
            call = Call(method="GET", path=self._path(f"issues/{number}"), follow=False)
            return Reading((await self._rest.ask(call, Issue)).value)
        except Refused as refused:
            if refused.status not in _ELSEWHERE | {_FREE}:
                raise
            return Reading(taken=refused.status != _FREE)

    async def search(self, words: str) -> tuple[list[Issue], bool]:
        """Issues with these words in their text, and whether that is all there are. The index is
        minutes behind.
        """
        query = f'repo:{self._repository} is:issue in:body "{words}"'
        found: list[Issue] = []
        for page in range(1, _SEARCHED // int(_PAGE) + 1):
            params = {"q": query, "per_page": _PAGE, "page": str(page)}
            answer = (
                await self._rest.ask(
                    Call(method="GET", path="/search/issues", params=params), _Found
                )
            ).value
            found += answer.items
            if not answer.items or len(found) >= answer.total_count:
                return found, True
        return found, False

    async def create(self, draft: Draft) -> Issue:
        """Raises Lost where it is unknown whether there is one now."""
        content: dict[str, Any] = {
            "title": draft.title,
            "body": draft.body,
            "labels": list(draft.labels),
        }
        call = Call(method="POST", path=self._path("issues"), json=content, once=True)
        return (await self._rest.ask(call, Issue)).value

    async def change(self, number: int, **fields: str) -> Issue:
        call = Call(method="PATCH", path=self._path(f"issues/{number}"), json=dict(fields))
        return (await self._rest.ask(call, Issue)).value

    async def label(self, name: str) -> None:
        """Makes a label if it is missing. Who may not do that files without it, and GitHub makes it
        or leaves it out.
        """
        path = self._path("labels")
        with suppress(Refused, Lost):
            try:
                await self._rest.ask(
                    Call(method="GET", path=f"{path}/{quote(name, safe='')}"), _Named
                )
            except Refused:
                content = {
                    "name": name,
                    "color": _COLORS.get(name, _PLAIN),
                    "description": "Filed by punchlist",
                }
                await self._rest.ask(Call(method="POST", path=path, json=content), _Named)

    async def _pages(self, path: str, params: dict[str, str]) -> AsyncIterator[list[Issue]]:
        """A list that does not end is not believed: what is not in the part we saw may be in the
        rest.
        """
        for _ in range(_PAGES):
            page = await self._rest.ask(Call(method="GET", path=path, params=params), list[Issue])
            yield page.value
            if not page.next:
                return
            path, params = page.next, {}
        raise Unavailable(
            f"{self._repository} has more than {_PAGES} pages of issues; they cannot all be"
            " looked at"
        )

    def _path(self, below: str) -> str:
        return f"/repos/{self._repository}/{below}"
