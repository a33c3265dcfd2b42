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
from punchlist.views.item_list import find_item

_RANGE = re.compile(r"(\d+)-(\d+)")
_FEW = 10


@click.command()
@options.run_argument
@options.items_argument
@options.repeatable(
    "--rule", "rules", metavar="RULE", help="All items of a rule, say S101; among ITEM... if given."
)
@options.repeatable(
    "--path", "paths", metavar="PATH", help="All items of a file or folder; among ITEM... if given."
)
@click.option("--why", "--reason", "-m", "why", default="", help="The reason; reports show it.")
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
def command(
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

    Without RUN it is the last one. ITEM is a number, a part of an id, or a range of numbers: 3-20
    means those of them that are not fixed.
    """
    _require_items(items, rules, paths)

    async def work(session: Session) -> None:
        chosen = _parse_selection(session.load(run_id) if items else None, items, rules, paths)
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


def _require_items(*given: tuple[str, ...]) -> None:
    if not any(given):
        raise UsageError(
            "which items?",
            hint="give numbers or a range (3-20), or --rule or --path; `punchlist show` lists them",
        )


def _parse_selection(
    run: Run | None, items: tuple[str, ...], rules: tuple[str, ...], paths: tuple[str, ...]
) -> ItemSelection:
    spans = {item: _RANGE.fullmatch(item) for item in items}
    single = [item for item, found in spans.items() if not found]
    return ItemSelection(
        numbers=tuple(find_item(run, item) for item in single if run is not None),
        ranges=tuple(range(int(found[1]), int(found[2]) + 1) for found in spans.values() if found),
        rules=rules,
        paths=paths,
    )
