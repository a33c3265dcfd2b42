"""Read-only tools: runs, items and evidence."""

from msgspec import convert
from msgspec.structs import replace

from punchlist.app.access import Role
from punchlist.app.after.second_look import describe_checks
from punchlist.errors import UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import (
    EvidencePage,
    ItemDetail,
    ItemList,
    ListedRepository,
    ListedRun,
    RunList,
    RunStatus,
)
from punchlist.mcp.session import Caller, McpSession
from punchlist.mcp.tool import McpTool
from punchlist.mcp.views import (
    build_detail,
    build_status,
    collect_evidence,
    is_proven,
    summarize_item,
)
from punchlist.model.item.item import Item, reading_order
from punchlist.model.ledger.run import Run
from punchlist.views.item_filter import ItemFilter, matches_filter

_PROVEN = "a user merges it with `punchlist apply`; so does apply_run, where the role is admin"
_UNPROVEN = "what you fixed by hand and committed: look_again says whether it is seen again"


async def list_runs(desk: McpSession, wish: wishes.ListRunsInput, asker: Caller) -> RunList:
    chosen = [desk.find_repository(wish.repository)] if wish.repository else desk.repositories
    names = {each.git_dir: each.name for each in chosen}
    rows = desk.rows_of(chosen)
    lines = (
        convert(
            replace(desk.line(row), repository=names[row.repository]),
            ListedRun,
            from_attributes=True,
        )
        for row in rows[wish.offset : wish.offset + wish.limit]
    )
    served = tuple(ListedRepository(id=each.id, name=each.name) for each in desk.repositories)
    return RunList(total=len(rows), runs=tuple(lines), repositories=served)


async def run_status(desk: McpSession, wish: wishes.RunStatusInput, asker: Caller) -> RunStatus:
    run = desk.find_run(wish.run)
    known = wish.after or run.seq
    run = await desk.wait_until(run, wish.wait_seconds, asker, lambda run: run.seq > known)
    return load_status(desk, run, since=wish.after)


def load_status(desk: McpSession, run: Run, since: int = 0) -> RunStatus:
    story = (
        [moment for moment in run.timeline if moment.at > _entry_time(desk, run, since)]
        if since
        else None
    )
    told = build_status(
        run,
        desk.repository_of(run).name,
        desk.run_state(run),
        len(desk.tasks.list_open(run)),
        story,
    )
    broke = desk.driving.failure_reason(run.id)
    return (
        replace(told, trouble=(*told.trouble, f"the driving broke off: {broke}")) if broke else told
    )


def _entry_time(desk: McpSession, run: Run, seq: int) -> float:
    """Return when a line of the ledger was written."""
    entry = next(iter(desk.store.read(run.id, seq - 1)), None)
    return entry.at if entry is not None else run.last_at


async def list_items(desk: McpSession, wish: wishes.ListItemsInput, asker: Caller) -> ItemList:
    run = desk.find_run(wish.run)
    wanted = ItemFilter(
        status=wish.status,
        severity=wish.severity,
        path=wish.path,
        text=wish.text,
        in_scope=wish.in_scope,
    )
    found = [
        item
        for item in sorted(run.items.values(), key=reading_order)
        if matches_filter(item, wanted)
    ]
    page = found[wish.offset : wish.offset + wish.limit]
    return ItemList(run=run.id, total=len(found), items=tuple(map(summarize_item, page)))


async def show_item(desk: McpSession, wish: wishes.ItemInput, asker: Caller) -> ItemDetail:
    run = desk.find_run(wish.run)
    return build_detail(get_item(run, wish.item), run)


async def ask_for_proof(desk: McpSession, wish: wishes.ItemsInput, asker: Caller) -> EvidencePage:
    run = desk.find_run(wish.run)
    items = [get_item(run, number) for number in wish.items]
    told = build_status(run, "", desk.run_state(run), 0)
    unproven = not all(map(is_proven, items))
    return EvidencePage(
        run=run.id,
        items=tuple(collect_evidence(item, run) for item in items),
        checks=tuple(describe_checks(run)),
        not_checked=told.not_checked,
        next=_UNPROVEN if unproven else _PROVEN,
    )


def get_item(run: Run, number: int) -> Item:
    if number not in run.items:
        last = max(run.items, default=0)
        raise UsageError(
            f"run {run.id} has no item {number}",
            hint=f"its items are 1 to {last}" if last else "it has none yet",
        )
    return run.items[number]


TOOLS = (
    McpTool(
        name="list_runs",
        title="List runs",
        about="The runs of the repositories served here, newest first, and how each stands.",
        takes=wishes.ListRunsInput,
        gives=RunList,
        do=list_runs,
        role=Role.READ,
    ),
    McpTool(
        name="run_status",
        title="Follow a run",
        about=(
            "How a run stands, what happened, what it waits for and what to do next. With `after`"
            " and `wait_seconds` it waits for news and tells only these; progress is notified"
            " meanwhile."
        ),
        takes=wishes.RunStatusInput,
        gives=RunStatus,
        do=run_status,
        role=Role.READ,
    ),
    McpTool(
        name="list_items",
        title="List items",
        about=(
            "The items of a run, worst first, page by page; filters by status, severity, path and"
            " text."
        ),
        takes=wishes.ListItemsInput,
        gives=ItemList,
        do=list_items,
        role=Role.READ,
    ),
    McpTool(
        name="show_item",
        title="Show an item",
        about=(
            "One item: what was reported, with the code; every attempt with its reason; its proofs;"
            " the last change tried."
        ),
        takes=wishes.ItemInput,
        gives=ItemDetail,
        do=show_item,
        role=Role.READ,
    ),
    McpTool(
        name="ask_for_proof",
        title="Ask for proof",
        about=(
            "The evidence that punchlist itself has for items: kinds of proof, what was run and"
            " seen, the commit. Without a proof an item is not fixed, whatever an agent says."
        ),
        takes=wishes.ItemsInput,
        gives=EvidencePage,
        do=ask_for_proof,
        role=Role.READ,
    ),
)
