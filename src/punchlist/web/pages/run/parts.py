"""Render the parts of a run's page; those that are the same for all are cached."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import sha256
from typing import Any

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import asdict

from punchlist.app.access import Role
from punchlist.model.ledger.run import Run
from punchlist.ports.store import Store
from punchlist.views.run_state import State
from punchlist.web.pages.rendering import render_template
from punchlist.web.pages.run import views as views_run
from punchlist.web.pages.run.board import Filters, build_board, parse_filters, parse_pages
from punchlist.web.pages.run.questions import build_panel
from punchlist.web.pages.run.spending import SpendingCache
from punchlist.web.pages.run.table import ItemLayout, Layout, build_table_view, parse_layout
from punchlist.web.pages.words import parse_page
from punchlist.web.security.tokens import Visitor
from punchlist.web.state import WebSession

_KEPT = 48


class PagePart(Struct, frozen=True):
    """`mark`: a hash of the HTML; an equal part is not replaced in the browser."""

    name: str
    mark: str
    html: Markup


class RunPageView(Struct, frozen=True, kw_only=True):
    run: Run
    head: views_run.RunHead
    flight: views_run.Activity
    filters: Filters
    layout: Layout
    query: dict[str, Any]
    """What of the address is understood, but for the page of the timeline."""
    turn: int
    now: float


class PartCache:
    """Cache of parts that many requests share: a large board is slow to render."""

    def __init__(self, store: Store) -> None:
        self.spending = SpendingCache(store)
        self._kept: OrderedDict[Hashable, PagePart] = OrderedDict()

    def get_part(self, key: Hashable, make: Callable[[], PagePart]) -> PagePart:
        found = self._kept.pop(key, None) or make()
        self._kept[key] = found
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found


def load_view(
    app: WebSession, run_id: str, query: dict[str, str], remembered: str = ""
) -> RunPageView:
    """Return all that the page shows; `remembered` is the cookie with the user's usual layout."""
    run = app.find_run(run_id)
    driven, here = app.is_driven(run.id), app.driving.is_driving(run.id)
    filters = parse_filters(query)
    layout = parse_layout(query, remembered, ended=bool(run.ended))
    return RunPageView(
        run=run,
        head=views_run.build_head(
            run,
            app.repository_of(run),
            app.run_state(run),
            elsewhere=driven and not here,
            broke=app.driving.failure_reason(run.id),
        ),
        flight=views_run.build_activity(
            run,
            app.driving.active_actions(run.id),
            app.driving.talk.list_after(run.id, 0),
            driven=driven,
        ),
        filters=filters,
        layout=layout,
        query={
            **asdict(filters),
            **layout.query,
            **{status.value: page for status, page in parse_pages(query).items()},
        },
        turn=parse_page(query.get("t", "")),
        now=time.time(),
    )


def render_parts(here: RunPageView, visitor: Visitor, cache: PartCache) -> dict[str, PagePart]:

    def render_part(name: str, template: str, **values: Any) -> PagePart:
        html = render_template(
            template,
            visitor=visitor,
            run=here.run,
            head=here.head,
            now=here.now,
            query=here.query,
            **values,
        )
        return PagePart(name, sha256(html.encode()).hexdigest()[:12], Markup(html))  # noqa: S704 - rendered by a template of ours

    def cache_part(
        name: str, template: str, view: Callable[[], dict[str, Any]], *more: Hashable
    ) -> PagePart:
        """Return a cached part; it looks the same for all users to whom `more` applies."""
        known = (here.run.id, here.run.seq, here.head.state, here.turn, *here.query.items())
        key = (name, *known, *more)
        return cache.get_part(key, lambda: render_part(name, template, **view()))

    found = (
        render_part("head", "run_head.html"),
        render_part("questions", "questions.html", panel=build_panel(here.run)),
        render_part("flight", "run_flight.html", flight=here.flight),
        _cache_items(here, visitor, cache_part),
        cache_part(
            "timeline",
            "run_timeline.html",
            lambda: {"timeline": views_run.build_timeline(here.run, here.turn)},
        ),
        cache_part("ground", "run_ground.html", lambda: _ground_values(here.run, cache)),
    )
    return {part.name: part for part in found}


def _cache_items(
    here: RunPageView, visitor: Visitor, cache_part: Callable[..., PagePart]
) -> PagePart:
    """Return the items as a table or as a board; users who may dismiss get boxes to tick."""
    if here.layout.view is ItemLayout.TABLE:
        acts = visitor.role.includes(Role.RUN) and here.head.state is not State.UNDER_WAY
        return cache_part("board", "run_table.html", lambda: _table_values(here, acts=acts), acts)
    pages = parse_pages({name: str(value) for name, value in here.query.items()})
    return cache_part(
        "board",
        "run_board.html",
        lambda: {"board": build_board(here.run, here.filters, pages, here.layout.query)},
    )


def _table_values(here: RunPageView, *, acts: bool) -> dict[str, Any]:
    shown = build_table_view(here.run, here.filters, here.layout, here.query)
    return {"view": shown, "acts": acts, "layout": here.layout}


def _ground_values(run: Run, cache: PartCache) -> dict[str, Any]:
    return {"ground": views_run.build_basis(run), "spending": cache.spending.load_lines(run.id)}
