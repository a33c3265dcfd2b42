"""punchlist answer: answer the question a run waits with, and go on."""

from typing import Any

import click

from punchlist.app import App
from punchlist.cli import options
from punchlist.cli.drive import driven, told
from punchlist.cli.exits import Exit
from punchlist.cli.login import login
from punchlist.cli.session import session


@click.command()
@click.argument("run_id", metavar="RUN", callback=options.a_run)
@click.argument("choice")
@click.option("--by", default="", help="Who answers. Default: your login name.")
@click.option("--no-resume", is_flag=True, help="Only record the answer.")
@options.output_options
def command(run_id: str, choice: str, **chosen: Any) -> Exit:
    """Answer the question a run waits with, and go on.

    `punchlist status` shows the question and its choices.
    """
    output = options.output(chosen)

    async def work(app: App) -> Exit:
        run = await app.answer(run_id, choice, chosen["by"] or login())
        if chosen["no_resume"]:
            return told(run, output)
        return await driven(lambda view: app.resume(run.id, view), output)

    return session(work)
