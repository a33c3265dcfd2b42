"""punchlist apply: bring a run's fixes onto your branch."""

import click

from punchlist.app import App
from punchlist.cli import options
from punchlist.cli.done import done
from punchlist.cli.exits import Exit
from punchlist.cli.session import session
from punchlist.errors import UsageError


@click.command()
@options.run_argument
@click.option("--squash", is_flag=True, help="All fixes as one commit.")
@options.json_option
def command(run_id: str, squash: bool, json_: bool) -> Exit:
    """Bring a run's fixes onto your branch: the one command that changes your checkout."""

    async def work(app: App) -> Exit:
        run = app.load(run_id)
        if not run.landed and run.ended:
            raise UsageError(f"run {run.id} landed no fix, so there is nothing to apply", hint=f"punchlist show {run.id}")
        if not run.landed:
            raise UsageError(f"no fix of run {run.id} has landed yet", hint=f"punchlist resume {run.id}")
        return done(await app.apply(run.id, squash=squash), json=json_)

    return session(work)
