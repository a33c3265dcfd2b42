"""The tools that only look: runs, items, and what stands behind them."""

from msgspec import convert
from msgspec.structs import replace

from punchlist.app.access import Role
from punchlist.app.after.second_look import checks
from punchlist.errors import UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import (
    EvidencePage,
    ItemPage,
    ItemWhole,
    RepositoryLine,
    RunLine,
    RunNow,
    RunPage,
)
from punchlist.mcp.session import Asker, Desk
from punchlist.mcp.tool import Tool
from punchlist.mcp.views import evidence, is_proven, item_line, item_whole, run_now
from punchlist.model.item.item import Item, reading_order
from punchlist.model.ledger.run import Run
from punchlist.views.item_filter import Wanted, fits

_PROVEN = "a user merges it with `punchlist apply`; so does apply_run, where the role is admin"
_UNPROVEN = "what you fixed by hand and committed: look_again says whether it is seen again"


async def list_runs(desk: Desk, wish: wishes.Listing, asker: Asker) -> RunPage:
    chosen = [desk.repository(wish.repository)] if wish.repository else desk.repositories
    names = {each.git_dir: each.name for each in chosen}
    rows = desk.rows_of(chosen)
    lines = (
        convert(
            replace(desk.line(row), repository=names[row.repository]), RunLine, from_attributes=True
        )
        for row in rows[wish.offset : wish.offset + wish.limit]
    )
    served = tuple(RepositoryLine(id=each.id, name=each.name) for each in desk.repositories)
    return RunPage(total=len(rows), runs=tuple(lines), repositories=served)


async def run_status(desk: Desk, wish: wishes.Following, asker: Asker) -> RunNow:
    run = desk.run(wish.run)
    known = wish.after or run.seq
    run = await desk.waited(run, wish.wait_seconds, asker, lambda run: run.seq > known)
    return shown(desk, run, since=wish.after)


def shown(desk: Desk, run: Run, since: int = 0) -> RunNow:
    story = (
        [moment for moment in run.timeline if moment.at > _at(desk, run, since)] if since else None
    )
    told = run_now(run, desk.home_of(run).name, desk.state(run), len(desk.tasks.open(run)), story)
    broke = desk.driving.broke(run.id)
    return (
        replace(told, trouble=(*told.trouble, f"the driving broke off: {broke}")) if broke else told
    )


def _at(desk: Desk, run: Run, seq: int) -> float:
    """When a line of the ledger was written."""
    entry = next(iter(desk.store.read(run.id, seq - 1)), None)
    return entry.at if entry is not None else run.last_at


async def list_items(desk: Desk, wish: wishes.Items, asker: Asker) -> ItemPage:
    run = desk.run(wish.run)
    wanted = Wanted(
        status=wish.status,
        severity=wish.severity,
        path=wish.path,
        text=wish.text,
        in_scope=wish.in_scope,
    )
    found = [item for item in sorted(run.items.values(), key=reading_order) if fits(item, wanted)]
    page = found[wish.offset : wish.offset + wish.limit]
    return ItemPage(run=run.id, total=len(found), items=tuple(map(item_line, page)))


async def show_item(desk: Desk, wish: wishes.OneItem, asker: Asker) -> ItemWhole:
    run = desk.run(wish.run)
    return item_whole(item_of(run, wish.item), run)


async def ask_for_proof(desk: Desk, wish: wishes.Some, asker: Asker) -> EvidencePage:
    run = desk.run(wish.run)
    items = [item_of(run, number) for number in wish.items]
    told = run_now(run, "", desk.state(run), 0)
    unproven = not all(map(is_proven, items))
    return EvidencePage(
        run=run.id,
        items=tuple(evidence(item, run) for item in items),
        checks=tuple(checks(run)),
        not_checked=told.not_checked,
        next=_UNPROVEN if unproven else _PROVEN,
    )


def item_of(run: Run, number: int) -> Item:
    if number not in run.items:
        last = max(run.items, default=0)
        raise UsageError(
            f"run {run.id} has no item {number}",
            hint=f"its items are 1 to {last}" if last else "it has none yet",
        )
    return run.items[number]


TOOLS = (
    Tool(
        name="list_runs",
        title="List runs",
        about="The runs of the repositories served here, newest first, and how each stands.",
        takes=wishes.Listing,
        gives=RunPage,
        do=list_runs,
        role=Role.READ,
    ),
    Tool(
        name="run_status",
        title="Follow a run",
        about=(
            "How a run stands, what happened, what it waits for and what to do next. With `after`"
            " and `wait_seconds` it waits for news and tells only these; progress is notified"
            " meanwhile."
        ),
        takes=wishes.Following,
        gives=RunNow,
        do=run_status,
        role=Role.READ,
    ),
    Tool(
        name="list_items",
        title="List items",
        about=(
            "The items of a run, worst first, page by page; filters by status, severity, path and"
            " text."
        ),
        takes=wishes.Items,
        gives=ItemPage,
        do=list_items,
        role=Role.READ,
    ),
    Tool(
        name="show_item",
        title="Show an item",
        about=(
            "One item: what was reported, with the code; every attempt with its reason; its proofs;"
            " the last change tried."
        ),
        takes=wishes.OneItem,
        gives=ItemWhole,
        do=show_item,
        role=Role.READ,
    ),
    Tool(
        name="ask_for_proof",
        title="Ask for proof",
        about=(
            "The evidence that punchlist itself has for items: kinds of proof, what was run and"
            " seen, the commit. Without a proof an item is not fixed, whatever an agent says."
        ),
        takes=wishes.Some,
        gives=EvidencePage,
        do=ask_for_proof,
        role=Role.READ,
    ),
)
