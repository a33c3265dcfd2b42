"""The page that holds two rounds of a run, or two runs of a repository, against each other."""

import asyncio
from collections.abc import Iterable
from typing import Annotated

from litestar import Response
from litestar.params import QueryParameter
from msgspec import Struct

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.views.issue_text import place
from punchlist.views.run_diff import Changed, Fate, by_fingerprint, by_round, changes
from punchlist.web.api.routes import AtDesk
from punchlist.web.api.runs import RunId, of_repository
from punchlist.web.pages.rendering import shown
from punchlist.web.pages.routes import Asking, page
from punchlist.web.problem import Refused
from punchlist.web.schemas import IDENTIFIER

TITLES = {
    Fate.BACK: "Come back",
    Fate.NEW: "New",
    Fate.STILL: "Still there",
    Fate.FIXED: "Fixed",
    Fate.ENDED: "Filed or dismissed",
    Fate.GONE: "Not reported any more",
    Fate.SETTLED: "Had its end before",
}
"""What still needs somebody comes first."""
_FEW = 100


class Line(Struct, frozen=True, kw_only=True):
    number: int
    title: str
    severity: Severity
    where: str
    before: Status | None
    after: Status | None
    run: str
    """Whose number it is."""


class Group(Struct, frozen=True, kw_only=True):
    """`total` are all of them; `lines` those that are shown."""

    key: str
    title: str
    total: int
    lines: tuple[Line, ...]


def compared(
    found: dict[Fate, tuple[Changed, ...]], limit: int, *, first: str, second: str
) -> tuple[Group, ...]:
    """Items as lines; `first` and `second` are the runs that they are of."""
    return tuple(
        Group(
            key=fate,
            title=title,
            total=len(found[fate]),
            lines=tuple(_lines(found[fate][:limit], first, second)),
        )
        for fate, title in TITLES.items()
    )


def _lines(some: Iterable[Changed], first: str, second: str) -> Iterable[Line]:
    for each in some:
        yield Line(
            number=each.item.number,
            title=each.item.lead.title,
            severity=each.item.severity,
            where=place(each.item.lead),
            before=each.before.status if each.before else None,
            after=each.after.status if each.after else None,
            run=second if each.after else first,
        )


@page("/runs/{run_id:str}/compare")
async def rounds(  # noqa: PLR0913, PLR0917 - one for each part of the query
    request: Asking,
    desk: AtDesk,
    run_id: RunId,
    a: Annotated[int | None, QueryParameter(ge=1, le=1000)] = None,
    b: Annotated[int | None, QueryParameter(ge=1, le=1000)] = None,
    with_: Annotated[str | None, QueryParameter(name="with", pattern=IDENTIFIER)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100_000)] = _FEW,
) -> Response[str]:
    """Rounds `a` and `b` of the run; or, `with` another one, how both ended up."""
    run = desk.run(run_id)
    repository = desk.home_of(run)
    others = [row.id for row in desk.rows(repository) if row.id != run.id]
    known = await asyncio.to_thread(
        by_round, run.id, list(desk.store.read(run.id))
    )  # others want to go on reading
    if with_:
        earlier, later = sorted(
            (of_repository(desk, with_, repository), run),
            key=lambda each: (each.started_at, each.id),
        )
        found = changes(
            by_fingerprint(earlier.items.values()), by_fingerprint(later.items.values())
        )
        first, second = earlier.id, later.id
    else:
        last = max(known)
        a, b, first, second = a or max(1, last - 1), b or last, run.id, run.id
        if a not in known or b not in known:
            raise Refused(
                404,
                f"run {run.id} has no such round",
                next_=f"it has rounds {min(known)} to {last}",
            )
        found = changes(known[a], known[b])
    return shown(
        request,
        "compare.html",
        run=run,
        repository=repository,
        rounds=sorted(known),
        others=others[:_FEW],
        a=a,
        b=b,
        other=with_ or "",
        limit=limit,
        first=first,
        second=second,
        groups=compared(found, limit, first=first, second=second),
    )


ROUTES = (rounds,)
