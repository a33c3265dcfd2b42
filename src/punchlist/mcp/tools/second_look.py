"""The tool that looks again at items which somebody fixed outside of any run."""

from punchlist.app.after import second_look as again
from punchlist.errors import UsageError
from punchlist.mcp import inputs as wishes
from punchlist.mcp.outputs import Looked
from punchlist.mcp.session import Asker, Desk
from punchlist.mcp.tool import Tool
from punchlist.mcp.tools.read import item_of
from punchlist.model.ledger.run import Run


async def look_again(desk: Desk, wish: wishes.Again, asker: Asker) -> Looked:
    run = desk.run(wish.run)
    for number in wish.items:
        item_of(run, number)
    look = await desk.waited(
        await _looking(desk, wish, run), wish.wait_seconds, asker, lambda run: bool(run.ended)
    )
    over = bool(look.ended)
    change = look.started.change
    return Looked(
        run=run.id,
        look=look.id,
        over=over,
        commit=change.head,
        verdicts=(
            again.verdicts(run, wish.items, look, await _hush(desk, wish, run, look))
            if over
            else ()
        ),
        checks=tuple(again.checks(look)) if over else (),
        notes=change.notes,
        next=(
            "what is gone was not seen again, no more; a run with a fixer proves a fix"
            if over
            else f'look_again with look: "{look.id}" tells what came of it'
        ),
    )


async def _hush(desk: Desk, wish: wishes.Again, run: Run, look: Run) -> again.Hush:
    async with desk.session_of(run.id) as session:
        return await again.hush(session, run, wish.items, look)


async def _looking(desk: Desk, wish: wishes.Again, run: Run) -> Run:
    """The look that was named, or a new one."""
    if wish.look:
        look = desk.run(wish.look)
        if not again.is_look(look, run):
            raise UsageError(
                f"run {look.id} is no second look at these items",
                hint="leave `look` out to begin one",
            )
        return look
    repository = desk.home_of(run)
    async with desk.session_of(run.id) as session:
        request = await again.request(session, run, wish.items)
    return await desk.begin(repository, request, {})


TOOLS = (
    Tool(
        name="look_again",
        title="Look again",
        about=(
            "For what was fixed outside of a run and committed: the analyzers look at the present"
            " commit again, and the checks run if they are allowed. Says of each item whether it is"
            " still there, not seen again by those who reported it, or unknown; it never says"
            " fixed."
        ),
        takes=wishes.Again,
        gives=Looked,
        do=look_again,
    ),
)
