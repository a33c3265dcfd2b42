"""The tool that looks again at items fixed outside of a run."""

from msgspec.structs import replace

from punchlist.app.after import second_look as again
from punchlist.app.after.hidden_findings import HiddenFindings, find_hidden
from punchlist.errors import UsageError
from punchlist.mcp import inputs
from punchlist.mcp.outputs import SecondLook
from punchlist.mcp.session import Caller, McpSession
from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools.read import get_item
from punchlist.model.ledger.run import Run


async def look_again(app: McpSession, args: inputs.LookAgainInput, caller: Caller) -> SecondLook:
    """For what was fixed outside of a run and committed: the analyzers look at the present commit
    again, and the checks run if they are allowed. Says of each item whether it is still there, not
    seen again by those who reported it, or unknown; it never says fixed.
    """
    run = app.find_run(args.run)
    for number in args.items:
        get_item(run, number)
    look = await _find_look(app, args, run)
    look = await app.wait_until(look, args.wait_seconds, caller, lambda run: bool(run.ended))
    change = look.started.change
    result = SecondLook(
        run=run.id,
        look=look.id,
        over=False,
        commit=change.head,
        verdicts=(),
        checks=(),
        notes=change.notes,
        next=f'look_again with look: "{look.id}" tells what came of it',
    )
    if not look.ended:
        return result
    verdicts = again.judge_items(run, args.items, look, HiddenFindings())
    unseen = [each.number for each in verdicts if each.seen is not again.ItemPresence.STILL_THERE]
    if unseen:
        async with app.session_of(run.id) as session:
            hidden = await find_hidden(session, run, unseen, look)
        verdicts = again.judge_items(run, args.items, look, hidden)
    return replace(
        result,
        over=True,
        verdicts=verdicts,
        checks=tuple(again.describe_checks(look)),
        next="what is gone was not seen again, no more; a run with a fixer proves a fix",
    )


async def _find_look(app: McpSession, args: inputs.LookAgainInput, run: Run) -> Run:
    if args.look:
        look = app.find_run(args.look)
        if not again.is_look(look, run):
            raise UsageError(
                f"run {look.id} is no second look at these items",
                hint="leave `look` out to begin one",
            )
        return look
    repository = app.repository_of(run)
    async with app.session_of(run.id) as session:
        request = await again.make_request(session, run, args.items)
    return await app.start_run(repository, request, {})


TOOLS = (McpTool(look_again, "Look again"),)
