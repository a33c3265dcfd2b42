"""punchlist dismiss: say that items need no work."""

import click

from punchlist.app import App
from punchlist.cli import options
from punchlist.cli.done import done
from punchlist.cli.exits import Exit
from punchlist.cli.login import login
from punchlist.cli.session import session
from punchlist.model.events import Dismissal


@click.command()
@click.argument("run_id", metavar="RUN", callback=options.a_run)
@click.argument("items", metavar="ITEM...", type=int, nargs=-1, required=True)
@click.option("--why", default="", help="The reason, which every report shows.")
@click.option("--by", default="", help="Who says so. Default: your login name.")
@click.option("--undo", is_flag=True, help="Later runs take these up again.")
@options.json_option
def command(run_id: str, items: tuple[int, ...], why: str, by: str, undo: bool, json_: bool) -> Exit:  # noqa: PLR0913, PLR0917 - one parameter per option
    """Say that items need no work; later runs remember it, and list them as dismissed.

    RUN may be "last".
    """

    async def work(app: App) -> Exit:
        run = app.dismiss(run_id, items, Dismissal(by or login(), why, ""), undo=undo)
        numbers = ", ".join(str(number) for number in items)
        if undo:
            return done(f"later runs take up again what was dismissed: {numbers} of run {run.id}", json=json_)
        return done(f"dismissed in run {run.id}, and in later ones: {numbers}", json=json_)

    return session(work)
