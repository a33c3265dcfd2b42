"""punchlist show: the items of a run, or one with its history, proof and diff."""

import click

from punchlist.app import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import reading
from punchlist.cli.show.item import detail
from punchlist.cli.show.tables import items_table
from punchlist.cli.terminal import answer, say
from punchlist.errors import UsageError
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.views.report_document import report

_STATUSES = [status.value for status in Status]


@click.command()
@options.run_argument
@click.argument("item", required=False, type=int)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(_STATUSES),
    help="Only items of this status; may be given several times.",
)
@click.option("--no-diff", is_flag=True, help="Leave the diff out.")
@options.json_option
def command(
    run_id: str, item: int | None, statuses: tuple[str, ...], no_diff: bool, json_: bool
) -> Exit:
    """The items of a run, or one with its history, proof and diff.

    `punchlist show last 7` is item 7 of the last run.
    """

    def look(session: Session) -> Exit:
        run = session.load(run_id)
        if item is None:
            return _list(run, statuses, json=json_)
        one = _found(run, item)
        if json_:
            answer(next(part for part in report(run).items if part.number == item))
        else:
            say(*detail(one, None if no_diff else run.by_item.diffs.get(item)))
        return Exit.FINE

    return reading(look)


def _list(run: Run, statuses: tuple[str, ...], *, json: bool) -> Exit:
    items = [
        item
        for item in sorted(run.items.values(), key=reading_order)
        if not statuses or item.status in statuses
    ]
    if json:
        numbers = {item.number for item in items}
        answer([part for part in report(run).items if part.number in numbers])
    elif items:
        say(items_table(items))
    else:
        say(f"Run {run.id} has no such item." if statuses else f"Run {run.id} has no items.")
    return Exit.FINE


def _found(run: Run, number: int) -> Item:
    if number not in run.items:
        last = max(run.items, default=0)
        raise UsageError(
            f"run {run.id} has no item {number}",
            hint=f"its items are 1 to {last}" if last else "it has none",
        )
    return run.items[number]
