"""punchlist dismiss: say that items need no work."""

import re

import click

from punchlist.app.after.dismissals import ItemSelection, dismiss_items
from punchlist.app.gate.shared_dismissals import share_items, unshare_items
from punchlist.app.gate.shared_files import DISMISSALS
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.session import login_name, run_session
from punchlist.cli.terminal import show_done
from punchlist.errors import UsageError
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize

_NUMBERS = re.compile(r"(\d+)(?:-(\d+))?")
_FEW = 10


@click.command()
@options.required_run_argument
@click.argument("items", metavar="[ITEM...]", nargs=-1)
@options.repeatable(
    "--rule", "rules", metavar="RULE", help="All items of a rule, say S101; among ITEM... if given."
)
@options.repeatable(
    "--path", "paths", metavar="PATH", help="All items of a file or folder; among ITEM... if given."
)
@click.option("--why", default="", help="The reason, which every report shows.")
@click.option(
    "--by", default="", help="Who says so. Default: your name as git knows it, or your login name."
)
@options.flag(
    "--undo", help="Take it back: their issues are open again, and later runs take them up."
)
@options.flag(
    "--shared",
    help="In a file below .punchlist/dismissals as well, to commit: it holds in every clone.",
)
@options.json_option
def command(  # noqa: PLR0913 - one parameter per option
    run_id: str,
    items: tuple[str, ...],
    rules: tuple[str, ...],
    paths: tuple[str, ...],
    *,
    why: str,
    by: str,
    undo: bool,
    shared: bool,
    json_: bool,
) -> None:
    """Say that items need no work; later runs remember it, and list them as dismissed.

    RUN may be "last". ITEM is a number, or a range of them: 3-20 means those of them that are not
    fixed.
    """
    chosen = _parse_selection(items, rules, paths)

    async def work(session: Session) -> None:
        saying = Dismissal(by or await session.who() or login_name(), why, "")
        run, numbers = dismiss_items(session, run_id, chosen, saying, undo=undo)
        which = f"{pluralize(len(numbers), 'item')} of run {run.id}"
        if len(numbers) <= _FEW:
            which += f": {', '.join(map(str, numbers))}"
        done = "taken up again" if undo else "dismissed, and in later runs too"
        told = [f"{done}, {which}"]
        if shared:
            told.append(_share(session, run, numbers, saying, undo=undo))
        show_done(*told, json=json_)

    run_session(work)


def _share(session: Session, run: Run, numbers: list[int], saying: Dismissal, *, undo: bool) -> str:
    """Write or remove the items' files; return what is left to do."""
    root = session.required_checkout.root
    items = [run.items[number] for number in numbers]
    if undo:
        files = pluralize(unshare_items(root, items), "file")
        return f"{files} removed from {DISMISSALS}; commit that"
    share_items(root, items, saying)
    return f"{pluralize(len(items), 'file')} in {DISMISSALS}; commit that, to share it"


def _parse_selection(
    items: tuple[str, ...], rules: tuple[str, ...], paths: tuple[str, ...]
) -> ItemSelection:
    if not (items or rules or paths):
        raise UsageError(
            "which items?",
            hint="give numbers or a range (3-20), or --rule or --path; punchlist show lists them",
        )
    spans = {item: _parse_range(item) for item in items}
    return ItemSelection(
        numbers=tuple(spans[item].start for item in items if "-" not in item),
        ranges=tuple(spans[item] for item in items if "-" in item),
        rules=rules,
        paths=paths,
    )


def _parse_range(item: str) -> range:
    found = _NUMBERS.fullmatch(item)
    if found is None:
        raise UsageError(
            f'"{item}" is neither a number nor a range of them',
            hint="like this: punchlist dismiss last 3 7-20",
        )
    return range(int(found[1]), int(found[2] or found[1]) + 1)
