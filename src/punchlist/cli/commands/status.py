"""punchlist status: how a run stands."""

import click

from punchlist.adapters.store.lease import holder
from punchlist.app import App
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import session
from punchlist.cli.show.json import document
from punchlist.cli.show.summary import summary
from punchlist.cli.terminal import answer, raw, say


@click.command()
@options.run_argument
@options.json_option
@click.option(
    "--events", is_flag=True, help="JSON lines on stdout: every entry of the ledger so far."
)
def command(run_id: str, json_: bool, events: bool) -> Exit:
    """How a run stands: the summary, or the question it waits with. The exit code is 0 whatever the
    outcome is.
    """

    async def look(app: App) -> Exit:
        if events:
            raw(app.export(run_id))
            return Exit.FINE
        run = app.load(run_id)
        driven = holder(app.home, run.id) is not None
        if json_:
            answer(document(run, driven=driven))
        else:
            say(*summary(run, driven=driven, standing=await app.standing(run)))
        return Exit.FINE

    return session(look, repository=None, readonly=True)
