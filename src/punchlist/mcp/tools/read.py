"""Read-only tools: runs, items and evidence."""

from msgspec import convert
from msgspec.structs import replace

from punchlist.app.access import Role
from punchlist.app.after.second_look import describe_checks
from punchlist.app.repositories import find_owner
from punchlist.errors import UsageError
from punchlist.mcp import inputs
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
from punchlist.model.item.item import Item
from punchlist.model.ledger.run import Run
from punchlist.views.item_list import ItemFilter, filter_items
from punchlist.views.summary import find_gaps

_PROVEN = "a user merges it with `punchlist apply`; so does apply_run, where the role is admin"
_UNPROVEN = "what you fixed by hand and committed: look_again says whether it is seen again"


async def list_runs(app: McpSession, args: inputs.ListRunsInput, caller: Caller) -> RunList:
    """The runs of the repositories served here, newest first, and how each stands."""
    chosen = [app.find_repository(args.repository)] if args.repository else app.repositories
    rows = app.rows_of(chosen)
    shown = rows[args.offset : args.offset + args.limit]
    owners = (find_owner(chosen, row.repository, row.identity) for row in shown)
    lines = (
        replace(app.line(row), repository=owner.name)
        for row, owner in zip(shown, owners, strict=True)
        if owner
    )
    runs = convert(tuple(lines), tuple[ListedRun, ...], from_attributes=True)
    served = tuple(ListedRepository(id=each.id, name=each.name) for each in app.repositories)
    return RunList(total=len(rows), runs=runs, repositories=served)


async def run_status(app: McpSession, args: inputs.RunStatusInput, caller: Caller) -> RunStatus:
    """How a run stands, what happened, what it waits for and what to do next. With `after` and
    `wait_seconds` it waits for news and tells only these; progress is notified meanwhile.
    """
    run = app.find_run(args.run)
    known = args.after or run.seq
    run = await app.wait_until(run, args.wait_seconds, caller, lambda run: run.seq > known)
    return load_status(app, run, since=args.after)


def load_status(app: McpSession, run: Run, since: int = 0) -> RunStatus:
    story = None
    if since:
        begin = _entry_time(app, run, since)
        story = [moment for moment in run.timeline if moment.at > begin]
    tasks = len(app.tasks.list_open(run))
    status = build_status(run, app.repository_of(run).name, app.run_state(run), tasks, story)
    broke = app.driving.failure_reason(run.id)
    if not broke:
        return status
    return replace(status, trouble=(*status.trouble, f"the driving broke off: {broke}"))


def _entry_time(app: McpSession, run: Run, seq: int) -> float:
    """Return when a line of the ledger was written."""
    entry = next(iter(app.store.read(run.id, seq - 1)), None)
    return entry.at if entry is not None else run.last_at


async def list_items(app: McpSession, args: inputs.ListItemsInput, caller: Caller) -> ItemList:
    """The items of a run, worst first, page by page; filters by status, severity, path and text."""
    run = app.find_run(args.run)
    found = filter_items(run, convert(args, ItemFilter, from_attributes=True))
    page = found[args.offset : args.offset + args.limit]
    return ItemList(run=run.id, total=len(found), items=tuple(map(summarize_item, page)))


async def show_item(app: McpSession, args: inputs.ItemInput, caller: Caller) -> ItemDetail:
    """One item: what was reported, with the code; every attempt with its reason; its proofs; the
    last change tried.
    """
    run = app.find_run(args.run)
    return build_detail(get_item(run, args.item), run)


async def ask_for_proof(app: McpSession, args: inputs.ItemsInput, caller: Caller) -> EvidencePage:
    """The evidence that punchlist itself has for items: kinds of proof, what was run and seen, the
    commit. Without a proof an item is not fixed, whatever an agent says.
    """
    run = app.find_run(args.run)
    items = [get_item(run, number) for number in args.items]
    return EvidencePage(
        run=run.id,
        items=tuple(collect_evidence(item, run) for item in items),
        checks=tuple(describe_checks(run)),
        not_checked=tuple(find_gaps(run)),
        next=_PROVEN if all(map(is_proven, items)) else _UNPROVEN,
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
    McpTool(list_runs, "List runs", Role.READ),
    McpTool(run_status, "Follow a run", Role.READ),
    McpTool(list_items, "List items", Role.READ),
    McpTool(show_item, "Show an item", Role.READ),
    McpTool(ask_for_proof, "Ask for proof", Role.READ),
)
