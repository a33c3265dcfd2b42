"""The items of a run as a board: one column per status, paged and filtered."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from punchlist.model.finding.finding import Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.item.proof import ProofClass, strongest_proof
from punchlist.model.ledger.run import Run
from punchlist.views.issue_text import format_place
from punchlist.views.item_list import ItemFilter, matches_filter
from punchlist.views.tables.paging import fit_page
from punchlist.web.pages.words import link, parse_page

PAGE = 50
"""Cards of a column at a time."""
_UNPROVEN = "none"
PROOFS = (*ProofClass, _UNPROVEN)
_ENDS = 2
SCOPES = {"inside": True, "outside": False}
Choice = Annotated[str, Meta(max_length=40)]
Text = Annotated[str, Meta(max_length=200)]


class Filters(Struct, frozen=True, kw_only=True):
    """Filters from the query string; values that are not understood are ignored."""

    q: Text = ""
    severity: Choice = ""
    status: Choice = ""
    path: Text = ""
    scope: Choice = ""
    proof: Choice = ""

    @property
    def any(self) -> bool:
        return any(msgspec.structs.astuple(self))

    @property
    def wanted(self) -> ItemFilter:
        return ItemFilter(
            status=tuple(each for each in Status if each == self.status),
            severity=tuple(each for each in Severity if each == self.severity),
            path=self.path,
            text=self.q,
            in_scope=SCOPES.get(self.scope),
        )


class Card(Struct, frozen=True, kw_only=True):
    number: int
    title: str
    rule: str
    severity: Severity
    where: str
    near: str
    """The end of `where`."""
    in_scope: bool
    proof: str
    """The strongest it has."""
    score: int | None
    tries: int
    batch: int | None
    flagged: bool
    asked: bool
    """An agent's question about it is not answered yet."""


class Column(Struct, frozen=True, kw_only=True):
    status: Status
    total: int
    cards: tuple[Card, ...]
    page: int
    pages: int
    earlier: str
    """Address of the page before this one, or ""."""
    later: str
    first: int
    last: int


class BoardView(Struct, frozen=True, kw_only=True):
    columns: tuple[Column, ...]
    """One for each status, also for those that no item has."""
    found: int
    total: int
    filters: Filters


def parse_filters(query: dict[str, str]) -> Filters:
    known = {name: query[name].strip()[:200] for name in Filters.__struct_fields__ if name in query}
    try:
        return msgspec.convert(known, Filters)
    except msgspec.ValidationError:
        return Filters()


def parse_pages(query: dict[str, str]) -> dict[Status, int]:
    """Return the page number of each column: `open=2`."""
    return {status: page for status in Status if (page := parse_page(query.get(status, ""))) > 1}


def select_items(run: Run, filters: Filters) -> Iterator[Item]:
    wanted = filters.wanted
    for item in run.items.values():
        if matches_filter(item, wanted) and _has_proof(item, filters.proof):
            yield item


def build_board(
    run: Run, filters: Filters, pages: dict[Status, int], kept: dict[str, Any] | None = None
) -> BoardView:
    """Return the columns; links to other pages keep `kept` in their query, too."""
    found: dict[Status, list[Item]] = {status: [] for status in Status}
    for item in select_items(run, filters):
        found[item.status].append(item)
    benched = {
        number: batch.number for batch in run.work.batches.values() for number in batch.items
    }
    asked = frozenset(doubt.item for doubt in run.unanswered)
    here = _BoardContext(run, {**asdict(filters), **(kept or {})}, pages, benched, asked)
    return BoardView(
        columns=tuple(_build_column(status, items, here) for status, items in found.items()),
        found=sum(map(len, found.values())),
        total=len(run.items),
        filters=filters,
    )


class _BoardContext(Struct, frozen=True):
    run: Run
    query: dict[str, Any]
    pages: dict[Status, int]
    benched: dict[int, int]
    asked: frozenset[int]


def _has_proof(item: Item, wanted: str) -> bool:
    if not wanted:
        return True
    if wanted == _UNPROVEN:
        return not item.proofs
    return any(proof.kind == wanted for proof in item.proofs)


def _build_column(status: Status, items: list[Item], here: _BoardContext) -> Column:
    page, pages = fit_page(here.pages.get(status, 1), len(items), PAGE)
    first = (page - 1) * PAGE
    shown = sorted(items, key=reading_order)[first : first + PAGE]
    return Column(
        status=status,
        total=len(items),
        cards=tuple(_build_card(item, here) for item in shown),
        page=page,
        pages=pages,
        earlier=_page_link(status, page - 1, here) if page > 1 else "",
        later=_page_link(status, page + 1, here) if page < pages else "",
        first=first + 1,
        last=first + len(shown),
    )


def _page_link(status: Status, page: int, here: _BoardContext) -> str:
    pages = {
        key.value: number for key, number in {**here.pages, status: page}.items() if number > 1
    }
    return link("", **here.query, **pages) or "?"


def _build_card(item: Item, here: _BoardContext) -> Card:
    best, score = strongest_proof(item.proofs), here.run.by_item.scores.get(item.number)
    return Card(
        number=item.number,
        title=item.lead.title,
        rule=item.lead.rule,
        severity=item.severity,
        where=format_place(item.lead),
        near=_shorten_place(item.lead.spot),
        in_scope=item.in_scope,
        proof=best.kind.value if best else "",
        score=score.score if score else None,
        tries=item.tries,
        batch=here.benched.get(item.number)
        if item.status in (Status.OPEN, Status.CLAIMED, Status.DEFERRED)
        else None,
        flagged=bool(item.flags),
        asked=item.number in here.asked,
    )


def _shorten_place(spot: Spot) -> str:
    parts = spot.path.split("/")
    begin = "…/" if len(parts) > _ENDS else ""
    line = f":{spot.line}" if spot.line else ""
    return begin + "/".join(parts[-_ENDS:]) + line
