"""The worst unresolved items of a run, each with its reason."""

from collections.abc import Iterator, Sequence

from punchlist.cli.drawing import Part, Table, Text
from punchlist.cli.show.layout import indent_text, make_grid, render_heading
from punchlist.cli.show.words import format_headline, format_place, one_line
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.item_words import ACCEPTED, NO_FIX, unfixed_reason
from punchlist.views.summary import shorten_reason

_TOP = 10
_WIDEST_PLACE = 40
"""A longer place does not move the titles of all others to the right."""
SEVERITIES = {Severity.CRITICAL: "bold red", Severity.MAJOR: "yellow", Severity.MINOR: "dim"}


def render_unresolved(run: Run, *, where: str) -> Iterator[Part]:
    """Render the items that are not fixed; filed ones are among them, and accepted ones follow.
    `where`: in which folder they were filed.
    """
    done = (Status.FIXED, Status.DISMISSED)
    unfixed = sorted((item for item in run.in_scope if item.status not in done), key=_sort_key)
    unfixed_words = f"Not fixed, and why; filed {where}" if where else "Not fixed, and why"
    heading = unfixed_words if run.last_batch else "Reported, the worst first"
    accepted = sorted(filter(_is_accepted, run.find_items(Status.DISMISSED)), key=reading_order)
    for title, items in ((heading, unfixed), ("Accepted, and not fixed", accepted)):
        if items:
            yield render_heading(title)
            yield render_items(run, items[:_TOP])
        if len(items) > _TOP:
            yield indent_text(f"and {pluralize(len(items) - _TOP, 'more item')}", "dim")


def _is_accepted(item: Item) -> bool:
    """Return whether the user accepted it as it is when a loop asked."""
    return item.attempts[-1].why.startswith(ACCEPTED)


def render_items(run: Run, items: Sequence[Item]) -> Table:
    """Render a line and a reason for each item; a repeated reason is not shown again."""
    table = make_grid()
    widths = (len(format_place(item.lead)) for item in items)
    width = max((width for width in widths if width <= _WIDEST_PLACE), default=0)
    first: dict[str, int] = {}
    for item in items:
        severity = (f"{item.severity:<8} ", SEVERITIES[item.severity])
        place = (f"{format_place(item.lead):<{width}}", "cyan")
        text = Text.assemble(place, f"  {format_headline(item.lead)}")
        why = one_line(shorten_reason(run, unfixed_reason(item)))
        if why == NO_FIX:
            text.append(f" ({why})", "dim")
        elif why:
            said = first.setdefault(why, item.number)
            text.append(f"\n{why}" if said == item.number else f" (as item {said})", "dim")
        table.add_row(Text.assemble((f"  {item.number:>5}  ", "bold"), severity), text)
    return table


def _sort_key(item: Item) -> tuple[bool, tuple[int, str, int, int]]:
    """Sort items with attempts first: their reasons are new."""
    return (not item.attempts or item.tries == 0, reading_order(item))
