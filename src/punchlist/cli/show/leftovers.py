"""The worst of what a run did not fix, each with its reason."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from punchlist.cli.show.layout import grid, heading, indented
from punchlist.cli.show.words import headline, one_line, place
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.views.item_words import NO_FIX, why_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

_TOP = 10
_WIDEST_PLACE = 40
"""A longer one does not push the titles of all others to the right."""
SEVERITIES = {Severity.CRITICAL: "bold red", Severity.MAJOR: "yellow", Severity.MINOR: "dim"}


def leftovers(run: Run) -> "Iterator[RenderableType]":
    """Filing is not fixing, so what was filed is among them."""
    unfixed = sorted(
        (item for item in run.in_scope if item.status not in (Status.FIXED, Status.DISMISSED)),
        key=_worst_first,
    )
    if not unfixed:
        return
    yield heading("Not fixed, and why" if run.last_batch else "Reported, the worst first")
    yield items_grid(unfixed[:_TOP])
    if len(unfixed) > _TOP:
        yield indented(f"and {len(unfixed) - _TOP:,} more: punchlist show {run.id}", "dim")


def items_grid(items: Sequence[Item]) -> "Table":
    """A line each, and its reason below; a reason that was just given is not told again."""
    table = grid()
    width = max(
        (len(place(item.lead)) for item in items if len(place(item.lead)) <= _WIDEST_PLACE),
        default=0,
    )
    said = ""
    for item in items:
        why = one_line(why_of(item))
        table.add_row(
            _front(item), _told(item, width, "as above" if why == said and why != NO_FIX else why)
        )
        said = why
    return table


def _front(item: Item) -> "Text":
    from rich.text import Text

    return Text.assemble(
        (f"  {item.number:>5}  ", "bold"), (f"{item.severity:<8} ", SEVERITIES[item.severity])
    )


def _told(item: Item, width: int, why: str) -> "Text":
    from rich.text import Text

    text = Text.assemble((f"{place(item.lead):<{width}}", "cyan"), f"  {headline(item.lead)}")
    if why:
        text.append(f" ({why})" if why == NO_FIX else f"\n{why}", "dim")
    return text


def _worst_first(item: Item) -> tuple[bool, tuple[int, str, int, int]]:
    """Those somebody tried to fix first: their reasons are news."""
    return (not item.attempts or item.tries == 0, reading_order(item))
