"""Tables of items, runs, tools and settings, and the text of an audit."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from punchlist.cli.drawing import Table, Text
from punchlist.cli.show.layout import make_table
from punchlist.cli.show.leftovers import SEVERITIES
from punchlist.cli.show.progress import COLOURS
from punchlist.cli.show.words import format_headline, format_place, one_line
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.views.item_words import format_proofs, unfixed_reason
from punchlist.views.run_line import RunLine
from punchlist.views.summary import shorten_reason
from punchlist.views.words import format_age, format_duration

if TYPE_CHECKING:
    from punchlist.app.after.audit import Audit
    from punchlist.app.probe import Probe
    from punchlist.app.sandboxes import SandboxRow


def items_table(run: Run, items: Sequence[Item]) -> Table:
    table = make_table("Item", "Status", "Severity", "Where", "What")
    for item in items:
        why = format_proofs(item) if item.status is Status.FIXED else unfixed_reason(item)
        why = shorten_reason(run, why)
        what = Text(format_headline(item.lead)).append(f"\n{one_line(why)}" if why else "", "dim")
        where = f" (left out by {item.left_out})" if item.left_out else " (outside)"
        status = item.status.value + ("" if item.in_scope else where)
        table.add_row(
            str(item.number),
            Text(status, COLOURS[item.status]),
            Text(item.severity, SEVERITIES[item.severity]),
            Text(format_place(item.lead)),
            what,
        )
    return table


def runs_table(lines: Sequence[RunLine], now: float) -> Table:
    table = make_table("Run", "Result", "Started", "Took", "Repository")
    for line in lines:
        table.add_row(
            line.id,
            line.result,
            format_age(now - line.started_at),
            format_duration(line.seconds),
            one_line(line.repository.removesuffix("/.git")),
        )
    return table


def probes_table(probes: "Sequence[Probe]") -> Table:
    table = make_table("", "Name", "Version", "Note")
    for probe in probes:
        missing = ("missing", "bold red") if probe.needed else ("absent", "dim")
        word, style = ("found", "green") if probe.found else missing
        mark = Text(probe.mark or word, style)
        table.add_row(mark, probe.name, one_line(probe.version), one_line(probe.note))
    return table


def sandboxes_table(rows: "Sequence[SandboxRow]") -> Table:
    table = make_table("", "Child", "May")
    for row in rows:
        word, style = ("works", "green") if row.works else ("fails", "bold red")
        sockets = "" if row.unix_sockets else "; no unix sockets"
        told = Text(f"{row.runs}\n", "dim")
        told.append(f"read    system, tree, its own program; {row.reads}\n", "none")
        told.append(f"write   {row.writes}\nreach   {row.reaches}{sockets}\n", "none")
        told.append(f"use     {', '.join(row.limits)}", "none")
        for lack in row.lacks:
            told.append(f"\nbut     {lack}", "yellow")
        table.add_row(Text(word, style), row.kind, told)
    return table


def settings_table(rows: Sequence[tuple[str, object, str]]) -> Table:
    table = make_table("Setting", "Value", "From")
    for name, value, origin in rows:
        table.add_row(name, one_line(_format_value(value)), one_line(origin))
    return table


def _format_value(value: object) -> str:
    """Return lists joined by commas, and "(none)" for an unset value."""
    match value:
        case None | "" | [] | () | {}:
            return "(none)"
        case list() | tuple() if all(isinstance(each, str) for each in value):
            return ", ".join(value)
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def audit_text(audit: "Audit") -> Iterator[str]:
    verdict = "adds up" if audit.ok else "does NOT add up"
    yield f"Run {audit.run}: {audit.entries:,} entries, the ledger {verdict}"
    pending = audit.reported - audit.items - audit.merged - audit.seen_again
    unsorted = f" + {pending:,} not sorted yet" if pending else ""
    sums = f"{audit.items:,} items + {audit.merged:,} merged + {audit.seen_again:,} again{unsorted}"
    yield f"  reported    {audit.reported:>7,}  = {sums}"
    ends = {name: getattr(audit, name) for name in ("fixed", "filed", "dismissed", "listed")}
    yield from (f"  {name:<10}  {number:>7,}" for name, number in ends.items())
    if (still := audit.items - sum(ends.values())) > 0:
        yield f"  open        {still:>7,}  without an end so far"
    if audit.refused:
        yield f"  unreadable  {audit.refused:>7,}  entries of findings files, kept as they were"
    yield from (f"  problem: {one_line(problem)}" for problem in audit.problems)
