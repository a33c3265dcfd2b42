"""The page that compares two rounds of a run, or two runs of a repository."""

import asyncio
from typing import Annotated

from litestar import Response
from litestar.params import QueryParameter
from msgspec import Struct

from punchlist.views.issue_text import format_place
from punchlist.views.run_diff import (
    ItemChange,
    ItemFate,
    compare_items,
    index_fingerprints,
    items_by_round,
)
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.api.runs import RunId, require_run
from punchlist.web.pages.rendering import render_page
from punchlist.web.pages.routes import page
from punchlist.web.problem import Refused
from punchlist.web.schemas import IDENTIFIER

TITLES = {
    ItemFate.BACK: "Come back",
    ItemFate.NEW: "New",
    ItemFate.STILL: "Still there",
    ItemFate.FIXED: "Fixed",
    ItemFate.ENDED: "Filed or dismissed",
    ItemFate.GONE: "Not reported any more",
    ItemFate.SETTLED: "Had its end before",
}
"""What still needs work comes first."""
_FEW = 100


class CompareRow(Struct, frozen=True):
    """`run` is the one that the item's number belongs to."""

    change: ItemChange
    where: str
    run: str


class CompareGroup(Struct, frozen=True, kw_only=True):
    """`total`: number of all items; `lines`: those shown."""

    key: str
    title: str
    total: int
    lines: tuple[CompareRow, ...]


def group_changes(
    found: dict[ItemFate, tuple[ItemChange, ...]], limit: int, *, first: str, second: str
) -> tuple[CompareGroup, ...]:
    return tuple(
        CompareGroup(
            key=fate,
            title=title,
            total=len(found[fate]),
            lines=tuple(
                CompareRow(each, format_place(each.item.lead), second if each.after else first)
                for each in found[fate][:limit]
            ),
        )
        for fate, title in TITLES.items()
    )


@page("/runs/{run_id:str}/compare")
async def rounds(  # noqa: PLR0913, PLR0917 - one for each part of the query
    request: AnyRequest,
    app: App,
    run_id: RunId,
    a: Annotated[int | None, QueryParameter(ge=1, le=1000)] = None,
    b: Annotated[int | None, QueryParameter(ge=1, le=1000)] = None,
    with_: Annotated[str | None, QueryParameter(name="with", pattern=IDENTIFIER)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100_000)] = _FEW,
) -> Response[str]:
    """Compare rounds `a` and `b` of the run; or, `with` another run, how both ended."""
    run = app.find_run(run_id)
    repository = app.repository_of(run)
    others = [row.id for row in app.list_rows(repository) if row.id != run.id]
    # In a thread, so that other requests go on.
    known = await asyncio.to_thread(items_by_round, run.id, list(app.store.read(run.id)))
    if with_:
        both = (require_run(app, with_, repository), run)
        earlier, later = sorted(both, key=lambda each: (each.started_at, each.id))
        found = compare_items(
            index_fingerprints(earlier.items.values()), index_fingerprints(later.items.values())
        )
        first, second = earlier.id, later.id
    else:
        last = max(known)
        a, b, first, second = a or max(1, last - 1), b or last, run.id, run.id
        if a not in known or b not in known:
            raise Refused(
                404, f"run {run.id} has no such round", f"it has rounds {min(known)} to {last}"
            )
        found = compare_items(known[a], known[b])
    return render_page(
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
        groups=group_changes(found, limit, first=first, second=second),
    )


ROUTES = (rounds,)
