"""punchlist store: where the ledger is; make, upgrade and copy it."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import click

from punchlist.app.stores import copy_runs, name_store, open_state, upgrade_store
from punchlist.cli import options
from punchlist.cli.terminal import note, print_result
from punchlist.model.ledger.timeline import pluralize
from punchlist.settings import home_folder, load_settings


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Where the ledger is: SQLite in the state folder, or PostgreSQL for many machines.

    Set `store` in your settings, PUNCHLIST_STORE or --store to postgresql://USER@HOST/NAME.
    """
    if context.invoked_subcommand is None:
        context.invoke(show)


@command.command()
@options.json_option
def show(json_: bool = False) -> None:
    """Which store is in use, and how many runs it has."""
    url, home = load_settings(None, {}).settings.store, home_folder()
    with closing(open_state(url, home, readonly=True)) as state:
        runs = len(state.store.runs())
    name = name_store(url, home)
    print_result({"store": name, "runs": runs}, [f"{name}: {pluralize(runs, 'run')}"], json=json_)


def _role_option(duty: str, what: str) -> Callable[[Any], Any]:
    return click.option(
        f"--{duty}-role",
        metavar="NAME",
        default="",
        help=f"The database role of those who {what}. Default: punchlist_{duty}.",
    )


@command.command()
@_role_option("queue", "queue runs")
@_role_option("drive", "drive them: workers")
@_role_option("serve", "serve: `punchlist serve`")
@options.json_option
def upgrade(queue_role: str, drive_role: str, serve_role: str, json_: bool) -> None:
    """Make the tables in PostgreSQL, or bring them to this version. It can be repeated.

    Three roles get the rights that they need, and no others: grant them to the users of your
    database. Names that you choose are remembered.
    """
    url = load_settings(None, {}).settings.store
    done = upgrade_store(url, queue=queue_role, drive=drive_role, serve=serve_role)
    name = name_store(url, home_folder())
    lines = [f"{name} was brought from version {done.before} to {done.after}"]
    if done.before == done.after:
        lines = [f"{name} is up to date"]
    lines += [f"role to {duty}: {role}" for duty, role in done.roles.items()]
    if done.todo:
        lines.append("this role may not do the rest: let an administrator execute")
        lines += [f"  {each}" for each in done.todo]
        lines.append("then repeat: punchlist store upgrade")
    print_result({"store": name, **done._asdict()}, lines, json=json_)


@command.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@options.json_option
def copy(source: str, target: str, json_: bool) -> None:
    """Copy all runs, line for line, so that the chain of hashes stays as it is.

    FROM and TO are `sqlite` (the state folder), `sqlite:FOLDER` or postgresql://USER@HOST/NAME.
    What TO has already stays: an interrupted copy is repeated.
    """
    home = home_folder()
    runs = entries = 0
    with (
        closing(open_state(source, home, readonly=True)) as here,
        closing(open_state(target, home)) as there,
    ):
        for copied in copy_runs(here, there):
            runs, entries = runs + 1, entries + copied.entries
            note(f"{copied.run}: {pluralize(copied.entries, 'new entry', 'new entries')}")
    document = {"runs": runs, "entries": entries}
    told = f"{pluralize(runs, 'run')} in {name_store(target, home)}, {entries} entries of them new"
    print_result(document, [told], json=json_)
