"""punchlist show: the items of a run, or one with its history, proof and diff."""

import click

from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.run_driver import follow_run
from punchlist.cli.session import with_session
from punchlist.cli.show.item import render_item
from punchlist.cli.show.tables import items_table
from punchlist.cli.terminal import print_json, say
from punchlist.model.item.item import Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.item_list import find_item
from punchlist.views.item_words import find_notes
from punchlist.views.report_document import make_report


@click.command()
@options.run_argument
@options.item_argument
@options.repeatable(
    "--status",
    "statuses",
    type=click.Choice([status.value for status in Status]),
    help="Only items of this status; may be given several times.",
)
@options.flag("--follow", help="The run in the terminal view, live, as `punchlist watch`.")
@options.flag("--left-out", help="Only what options, settings or the baseline leave out.")
@options.rows_option
@options.flag("--no-diff", help="Leave the diff out.")
@options.json_option
@with_session(repository=None, readonly=True)
async def command(
    session: Session,
    run_id: str,
    item: str | None,
    statuses: tuple[str, ...],
    *,
    follow: bool,
    left_out: bool,
    limit: int,
    no_diff: bool,
    json_: bool,
) -> Exit:
    """The items of a run, or one with its history, proof and diff.

    `punchlist show 7` is item 7 of the last run. RUN and ITEM may be any part of an id that no
    other has.
    """
    run = session.load(run_id)
    if follow:
        return await follow_run(session, run.id)
    if item is None:
        _list_items(run, statuses, left_out=left_out, limit=limit, json=json_)
        return Exit.FINE
    number = find_item(run, item)
    if json_:
        print_json(next(part for part in make_report(run).items if part.number == number))
    else:
        diff = None if no_diff else run.by_item.diffs.get(number)
        notes = find_notes(run, run.items[number])
        say(*render_item(run.items[number], diff, run.landing.landed, notes=notes))
    return Exit.FINE


def _list_items(
    run: Run, statuses: tuple[str, ...], *, left_out: bool, limit: int, json: bool
) -> None:
    """List the items. On a terminal, those that are left out are only counted if not asked for."""
    ordered = sorted(run.items.values(), key=reading_order)
    wanted = [item for item in ordered if not statuses or item.status in statuses]
    items = [item for item in wanted if bool(item.left_out) == left_out]
    if json:
        numbers = {item.number for item in (items if left_out else wanted)}
        print_json([part for part in make_report(run).items if part.number in numbers])
        return
    if items:
        say(items_table(run, items[: limit or None]))
        if 0 < limit < len(items):
            say(f"{pluralize(len(items) - limit, 'more item')}: punchlist show {run.id} -n 0")
    else:
        none = "no such item" if statuses or left_out else "no items"
        say(f"Run {run.id} has {none}.")
    if hidden := 0 if left_out else len(wanted) - len(items):
        say(f"{pluralize(hidden, 'more item is', 'more items are')} left out: --left-out")
