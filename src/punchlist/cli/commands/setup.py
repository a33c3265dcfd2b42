"""punchlist setup: make the environment that the project's checks need."""

import click

from punchlist.app.session import Session
from punchlist.app.start.environment import plan_environment
from punchlist.cli import options
from punchlist.cli.session import with_session
from punchlist.cli.show.environment import SetupDocument, render_plan, set_up_environment
from punchlist.cli.terminal import print_result


@click.command()
@options.flag("--show", help="Only show what would be done.")
@options.flag("--yes", help="Do it without a question.")
@options.json_option
@with_session()
async def command(session: Session, show: bool, yes: bool, json_: bool) -> None:
    """Make a Python environment with what this project's files name, for its checks.

    It is made outside your checkout, for the commit that is checked out, and used by later runs
    while these files stay as they are. Nothing is installed before you allowed it.
    """
    plan = await plan_environment(session)
    done = () if show else await set_up_environment(session, plan, yes=yes, ask=not json_)
    lines = render_plan(plan) if show else done
    print_result(SetupDocument.make(plan), lines, json=json_)
