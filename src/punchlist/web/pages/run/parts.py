"""The parts of a run's page: each made of the fold and of what the address asks for, and kept while
both are the same.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import sha256
from typing import Any

from markupsafe import Markup
from msgspec import Struct

from punchlist.model.ledger.run import Run
from punchlist.ports.store import Store
from punchlist.web.pages.rendering import rendered
from punchlist.web.pages.run import views as views_run
from punchlist.web.pages.run.board import Filters, asked_for, board, filters_of, pages_of
from punchlist.web.pages.run.questions import panel
from punchlist.web.pages.run.spending import Spending
from punchlist.web.pages.words import number
from punchlist.web.security.tokens import Visitor
from punchlist.web.state import Desk

_KEPT = 48


class Part(Struct, frozen=True):
    """A piece of the page. `mark` says what it holds: one that is the same need not be put in place
    again.
    """

    name: str
    mark: str
    html: Markup


class Look(Struct, frozen=True, kw_only=True):
    """Somebody's look at a run: how it stands, what is under way, and what the address asks for."""

    run: Run
    head: views_run.Head
    flight: views_run.Flight
    filters: Filters
    query: dict[str, Any]
    """What of the address is understood, but for the page of the timeline."""
    turn: int
    now: float


class Shelf:
    """What many looks at a run have in common is made once: a large board takes longer than all
    else on the page.
    """

    def __init__(self, store: Store) -> None:
        self.spending = Spending(store)
        self._kept: OrderedDict[Hashable, Part] = OrderedDict()

    def part(self, key: Hashable, make: Callable[[], Part]) -> Part:
        found = self._kept.pop(key, None) or make()
        self._kept[key] = found
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found


def look(desk: Desk, run_id: str, query: dict[str, str]) -> Look:
    run = desk.run(run_id)
    driven, here = desk.driven(run.id), desk.driving.drives(run.id)
    filters = filters_of(query)
    return Look(
        run=run,
        head=views_run.head(
            run,
            desk.home_of(run),
            desk.state(run),
            elsewhere=driven and not here,
            broke=desk.driving.broke(run.id),
        ),
        flight=views_run.flight(
            run, desk.driving.under_way(run.id), desk.driving.talk.after(run.id, 0), driven=driven
        ),
        filters=filters,
        query={
            **asked_for(filters),
            **{status.value: page for status, page in pages_of(query).items()},
        },
        turn=number(query.get("t", "")),
        now=time.time(),
    )


def parts(here: Look, visitor: Visitor, shelf: Shelf) -> dict[str, Part]:
    """In the order of the page."""

    def made(name: str, template: str, **values: Any) -> Part:
        html = rendered(
            template,
            visitor=visitor,
            run=here.run,
            head=here.head,
            now=here.now,
            query=here.query,
            **values,
        )
        return Part(name, sha256(html.encode()).hexdigest()[:12], Markup(html))  # noqa: S704 - rendered by a template of ours

    def kept(name: str, template: str, view: Callable[[], dict[str, Any]]) -> Part:
        """Of these no role sees more than another."""
        key = (name, here.run.id, here.run.seq, here.head.state, here.turn, *here.query.items())
        return shelf.part(key, lambda: made(name, template, **view()))

    pages = pages_of({name: str(value) for name, value in here.query.items()})
    found = (
        made("head", "run_head.html"),
        made("questions", "questions.html", panel=panel(here.run)),
        made("flight", "run_flight.html", flight=here.flight),
        kept("board", "run_board.html", lambda: {"board": board(here.run, here.filters, pages)}),
        kept(
            "timeline",
            "run_timeline.html",
            lambda: {"timeline": views_run.timeline(here.run, here.turn)},
        ),
        kept("ground", "run_ground.html", lambda: _ground(here.run, shelf)),
    )
    return {part.name: part for part in found}


def _ground(run: Run, shelf: Shelf) -> dict[str, Any]:
    return {"ground": views_run.ground(run), "spending": shelf.spending.of(run.id)}
