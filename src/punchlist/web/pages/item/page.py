"""The page of one item: what was found, what was tried, what proves it, and what a person may say
of it.
"""

from bisect import bisect_left

from litestar import Response
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.item.todo import Todo
from punchlist.model.ledger.events import Baselined, Reproduced
from punchlist.model.ledger.run import Run
from punchlist.views.escaping import web_address
from punchlist.views.html_view import Code, Row, excerpt, groups
from punchlist.views.plan_forms import code
from punchlist.web.api.artifacts import names
from punchlist.web.api.read import Number
from punchlist.web.api.routes import AtDesk
from punchlist.web.api.runs import RunId
from punchlist.web.pages.item.attempts import Effort, efforts
from punchlist.web.pages.rendering import shown
from punchlist.web.pages.routes import Asking, page
from punchlist.web.problem import Refused


class Judge(Struct, frozen=True, kw_only=True):
    """A check that stands behind a proof: what is started, and what it said of the base."""

    name: str
    command: str
    baseline: Baselined | None


class ItemView(Struct, frozen=True, kw_only=True):
    """`row` is the item as the report has it. `before` and `after` are its neighbours in reading
    order, or zero.
    """

    row: Row
    code: str
    status: Status
    in_scope: bool
    excerpt: Code | None
    efforts: tuple[Effort, ...]
    judges: tuple[Judge, ...]
    doubts: tuple[Doubt, ...]
    todo: Todo | None
    reproduction: Reproduced | None
    issue_url: str
    before: int
    after: int
    can_dismiss: bool
    can_restore: bool


def item_view(run: Run, number: int, *, driven: bool) -> ItemView:
    """While somebody drives the run, nothing may be said of its items."""
    item = run.items[number]
    (group,) = groups(replace(run, items={number: item}))
    lead = next((finding for finding in item.findings if finding.code), None)
    before, after = neighbours(run, item)
    return ItemView(
        row=group.rows[0],
        code=code(number),
        status=item.status,
        in_scope=item.in_scope,
        excerpt=Code(lead.spot.path, tuple(excerpt(lead))) if lead else None,
        efforts=efforts(run, number),
        judges=_judges(run),
        doubts=tuple(doubt for doubt in run.asking.doubts.values() if doubt.item == number),
        todo=run.by_item.todos.get(number),
        reproduction=run.by_item.reproductions.get(number),
        issue_url=web_address(item.issue),
        before=before,
        after=after,
        can_dismiss=not driven
        and item.status not in (Status.FIXED, Status.DISMISSED, Status.CLAIMED),
        can_restore=not driven and item.status is Status.DISMISSED,
    )


def neighbours(run: Run, item: Item) -> tuple[int, int]:
    order = sorted(map(reading_order, run.items.values()))
    at = bisect_left(order, reading_order(item))
    return order[at - 1][-1] if at else 0, order[at + 1][-1] if at + 1 < len(order) else 0


def _judges(run: Run) -> tuple[Judge, ...]:
    checks = run.started.checks
    return tuple(
        Judge(
            name=check.name,
            command=" ".join(check.command),
            baseline=run.checks.baselines.get(check.name),
        )
        for check in checks
    )


@page("/runs/{run_id:str}/items/{number:int}")
async def item(request: Asking, desk: AtDesk, run_id: RunId, number: Number) -> Response[str]:
    run = desk.run(run_id)
    if number not in run.items:
        raise Refused(
            404, f"run {run.id} has no item {number}", next_="go back to the run, and pick another"
        )
    view = item_view(run, number, driven=desk.driven(run.id))
    kept = frozenset(each.name for each in names(desk.home, run.id))
    return shown(request, "item.html", run=run, repository=desk.home_of(run), view=view, kept=kept)


ROUTES = (item,)
