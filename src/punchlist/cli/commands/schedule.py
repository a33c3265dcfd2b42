"""punchlist schedule: queue runs by the clock."""

from contextlib import closing
from typing import Any

import click
import msgspec

from punchlist.app.session import Session
from punchlist.app.stores import open_fleet
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import run_session
from punchlist.cli.show.layout import make_table
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import print_result, show_done
from punchlist.errors import UsageError
from punchlist.ports.fleet.schedule import Schedule
from punchlist.settings import home_folder, load_settings


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Queue runs of a whole branch by the clock, every night say; workers do the rest."""
    if context.invoked_subcommand is None:
        context.invoke(show)


@command.command()
@click.argument("name")
@click.option("--cron", required=True, metavar="TIMES", help='When, as cron says it: "0 3 * * *".')
@click.option("--timezone", default="", metavar="ZONE", help="Of these times. Default: UTC.")
@click.option("--branch", default="", help="Which branch. Default: the main one.")
@click.option("--label", default="", metavar="NAME", help="Only workers with this label.")
@click.option("--workflow", default="", metavar="NAME", help="A built-in workflow.")
@options.checks_options
@options.set_option
@options.json_option
def add(name: str, json_: bool, **chosen: Any) -> Exit:
    """Queue a run of all files of a branch of this repository at these times."""
    from punchlist.app.fleet.schedules import make_schedule

    flags = options.parse_flags(chosen)
    asked = Schedule(
        name=name,
        cron=chosen["cron"],
        timezone=chosen["timezone"],
        repository="",
        source="",
        branch=chosen["branch"],
        label=chosen["label"],
        workflow=chosen["workflow"],
        settings=flags,
        allow_checks=chosen["allow"],
    )

    async def work(session: Session) -> Exit:
        with closing(open_fleet(load_settings(None, {}).settings, home_folder())) as state:
            made = await make_schedule(session, asked)
            state.schedules.add(made)
        told = f"{name}: all of {one_line(made.branch)}, at {made.cron} {made.timezone or 'UTC'}"
        show_done(told, json=json_)
        return Exit.FINE

    return run_session(work, flags)


@command.command()
@click.argument("name")
@options.json_option
def remove(name: str, json_: bool) -> None:
    """Remove a schedule; what it queued stays."""
    with closing(open_fleet(load_settings(None, {}).settings, home_folder())) as state:
        if not state.schedules.remove(name):
            raise UsageError(f'no schedule is called "{name}"', hint="punchlist schedule")
    show_done(f"{name} is removed", json=json_)


@command.command("list")
@options.json_option
def show(json_: bool = False) -> None:
    """List the schedules."""
    with closing(open_fleet(load_settings(None, {}).settings, home_folder())) as state:
        found = state.schedules.list_all()
    table = make_table("Schedule", "Times", "Branch", "Repository")
    for each in found:
        times = f"{each.cron} {each.timezone or 'UTC'}"
        where = one_line(each.repository.removesuffix("/.git"))
        table.add_row(one_line(each.name), one_line(times), one_line(each.branch), where)
    print_result(msgspec.to_builtins(found), [table if found else "No schedule."], json=json_)
