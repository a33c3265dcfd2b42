"""The page of one item: findings, attempts, proofs, and buttons to dismiss or restore."""

from bisect import bisect_left

from litestar import Response
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.views.html_view import Code, Row, excerpt_lines, group_items
from punchlist.views.plans.plan_forms import issue_code
from punchlist.views.report_document import CheckPart, list_checks
from punchlist.views.tables.item_table import can_dismiss
from punchlist.web.api.artifacts import list_artifacts
from punchlist.web.api.read import Number
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.api.runs import RunId
from punchlist.web.pages.item.attempts import AttemptView, list_attempts
from punchlist.web.pages.rendering import render_page
from punchlist.web.pages.routes import page
from punchlist.web.problem import Refused


class ItemView(Struct, frozen=True, kw_only=True):
    """`row`: the item as in the report; `before`, `after`: neighbours in reading order, or 0."""

    row: Row
    code: str
    status: Status
    in_scope: bool
    excerpt: Code | None
    efforts: tuple[AttemptView, ...]
    judges: tuple[CheckPart, ...]
    doubts: tuple[Doubt, ...]
    before: int
    after: int
    can_dismiss: bool
    can_restore: bool


def build_view(run: Run, number: int, *, driven: bool) -> ItemView:
    """Build the view; while the run is driven, items cannot be dismissed or restored."""
    item = run.items[number]
    (group,) = group_items(replace(run, items={number: item}))
    lead = next((finding for finding in item.findings if finding.code), None)
    before, after = find_neighbours(run, item)
    return ItemView(
        row=group.rows[0],
        code=issue_code(run, number),
        status=item.status,
        in_scope=item.in_scope,
        excerpt=Code(lead.spot.path, tuple(excerpt_lines(lead))) if lead else None,
        efforts=list_attempts(run, number),
        judges=list_checks(run),
        doubts=tuple(doubt for doubt in run.asking.doubts.values() if doubt.item == number),
        before=before,
        after=after,
        can_dismiss=not driven and can_dismiss(item),
        can_restore=not driven and item.status is Status.DISMISSED,
    )


def find_neighbours(run: Run, item: Item) -> tuple[int, int]:
    order = sorted(map(reading_order, run.items.values()))
    at = bisect_left(order, reading_order(item))
    return order[at - 1][-1] if at else 0, order[at + 1][-1] if at + 1 < len(order) else 0


@page("/runs/{run_id:str}/items/{number:int}")
async def item(request: AnyRequest, app: App, run_id: RunId, number: Number) -> Response[str]:
    run = app.find_run(run_id)
    if number not in run.items:
        raise Refused(
            404, f"run {run.id} has no item {number}", "go back to the run, and pick another"
        )
    view = build_view(run, number, driven=app.is_driven(run.id))
    listed = await list_artifacts(app.session.artifacts(run.id))
    kept = frozenset(each.name for each in listed)
    return render_page(
        request, "item.html", run=run, repository=app.repository_of(run), view=view, kept=kept
    )


ROUTES = (item,)
