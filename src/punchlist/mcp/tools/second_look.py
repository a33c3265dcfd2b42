"""The tool that looks again at items fixed outside of a run."""

from punchlist.app.after import second_look as again
from punchlist.errors import UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import SecondLook
from punchlist.mcp.session import Caller, McpSession
from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools.read import get_item
from punchlist.model.ledger.run import Run


async def look_again(desk: McpSession, wish: wishes.LookAgainInput, asker: Caller) -> SecondLook:
    run = desk.find_run(wish.run)
    for number in wish.items:
        get_item(run, number)
    look = await desk.wait_until(
        await _find_look(desk, wish, run), wish.wait_seconds, asker, lambda run: bool(run.ended)
    )
    over = bool(look.ended)
    change = look.started.change
    return SecondLook(
        run=run.id,
        look=look.id,
        over=over,
        commit=change.head,
        verdicts=(
            again.judge_items(
                run, wish.items, look, await _find_suppressions(desk, wish, run, look)
            )
            if over
            else ()
        ),
        checks=tuple(again.describe_checks(look)) if over else (),
        notes=change.notes,
        next=(
            "what is gone was not seen again, no more; a run with a fixer proves a fix"
            if over
            else f'look_again with look: "{look.id}" tells what came of it'
        ),
    )


async def _find_suppressions(
    desk: McpSession, wish: wishes.LookAgainInput, run: Run, look: Run
) -> again.NewSuppressions:
    async with desk.session_of(run.id) as session:
        return await again.find_suppressions(session, run, wish.items, look)


async def _find_look(desk: McpSession, wish: wishes.LookAgainInput, run: Run) -> Run:
    if wish.look:
        look = desk.find_run(wish.look)
        if not again.is_look(look, run):
            raise UsageError(
                f"run {look.id} is no second look at these items",
                hint="leave `look` out to begin one",
            )
        return look
    repository = desk.repository_of(run)
    async with desk.session_of(run.id) as session:
        request = await again.make_request(session, run, wish.items)
    return await desk.start_run(repository, request, {})


TOOLS = (
    McpTool(
        name="look_again",
        title="Look again",
        about=(
            "For what was fixed outside of a run and committed: the analyzers look at the present"
            " commit again, and the checks run if they are allowed. Says of each item whether it is"
            " still there, not seen again by those who reported it, or unknown; it never says"
            " fixed."
        ),
        takes=wishes.LookAgainInput,
        gives=SecondLook,
        do=look_again,
    ),
)
