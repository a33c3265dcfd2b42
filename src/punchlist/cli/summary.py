"""How a run ended, designed: found, fixed, filed, left and why, what was not checked, and what to type next."""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from punchlist.cli.view import NO_FIX, proof_of, state_of, why_of
from punchlist.cli.words import count, duration, headline, one_line, place
from punchlist.model.item import Item, Status, reading_order
from punchlist.model.outcome import Outcome
from punchlist.model.run import Run
from punchlist.model.severity import Severity
from punchlist.model.summary import Numbers, gaps
from punchlist.model.summary import summary as summed

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

_TOP = 5
_TOP_OF_A_REVIEW = 50
_VERDICTS = {
    Outcome.CLEAN: ("clean: nothing was found", "bold green"),
    Outcome.FIXED: ("everything found was fixed or dismissed", "bold green"),
    Outcome.LEFTOVERS: ("findings are left", "bold yellow"),
    Outcome.INCOMPLETE: ("incomplete: not everything could be looked at or done", "bold red"),
}
SEVERITIES = {Severity.CRITICAL: "bold red", Severity.MAJOR: "yellow", Severity.MINOR: "dim"}


def summary(run: Run, *, driven: bool = False) -> "Iterator[RenderableType]":
    """The parts, in reading order. `driven`: a process is at work on it."""
    yield from account(run, driven=driven)
    yield from _next(run, driven=driven)


def account(run: Run, *, driven: bool = False) -> "Iterator[RenderableType]":
    """The summary without what to type next."""
    yield _title(run, driven=driven)
    yield _tally(run)
    yield from _left(run)
    yield from _unseen(run)


def _title(run: Run, *, driven: bool) -> "Text":
    from rich.text import Text

    verdict, style = _VERDICTS[Outcome(run.ended)] if run.ended else (state_of(run, driven=driven), "bold yellow")
    name = run.started.workflow_name if run.started else ""
    head = (f"Run {run.id}", "bold"), f" · {name} · {duration(run.active)} · ", (verdict, style)
    return Text.assemble("\n", *head, f"\n{summed(run).headline}\n")


def _tally(run: Run) -> "Table":
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", min_width=11)
    table.add_column(justify="right", min_width=5)
    table.add_column(overflow="fold")
    numbers = summed(run).numbers
    table.add_row("  Found", f"{numbers.reported:,}", _found(run, numbers))
    table.add_row("  Fixed", f"{numbers.fixed:,}", _fixed(run))
    for name, number, told in (
        ("Filed", numbers.filed, _filed(run)),
        ("Dismissed", numbers.dismissed, ""),
        ("Left", numbers.left, _listed(run)),
    ):
        if number:
            table.add_row(f"  {name}", f"{number:,}", told)
    if numbers.check_runs:
        table.add_row("  Check runs", f"{numbers.check_runs:,}", _baselines(run))
    return table


def _baselines(run: Run) -> str:
    known = [f"{name}: {each.failed:,} failed before any fix" for name, each in run.baselines.items() if each.failed]
    return "; ".join(known)


def _found(run: Run, numbers: Numbers) -> str:
    spoke = ", ".join(sorted(review.reviewer for review in run.reviews.values() if not review.failed and not review.skipped))
    beside = {
        "merged": numbers.merged,
        "seen again later": numbers.again,
        "outside the change": numbers.outside,
        "not understood": numbers.refused,
        "not sorted yet": numbers.pending,
    }
    parts = [count(numbers.items, "item"), *(f"{number:,} {what}" for what, number in beside.items() if number)]
    return f"by {spoke or 'nobody'}: " + ", ".join(parts)


def _fixed(run: Run) -> str:
    kinds = Counter(proof_of(item) for item in run.having(Status.FIXED) if item.in_scope)
    return ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())


def _filed(run: Run) -> str:
    folders = Counter(str(PurePath(item.issue).parent) for item in run.having(Status.FILED) if item.issue)
    return "in " + one_line(folders.most_common(1)[0][0]) if folders else ""


def _listed(run: Run) -> str:
    by_status = Counter(item.status for item in run.left)
    return ", ".join(f"{number:,} {status}" for status, number in by_status.items())


def _left(run: Run) -> "Iterator[RenderableType]":
    """The worst of what is not fixed: filing is not fixing."""
    unfixed = sorted((item for item in run.in_scope if item.status not in (Status.FIXED, Status.DISMISSED)), key=_worst_first)
    if not unfixed:
        return
    top = _TOP if run.last_batch else _TOP_OF_A_REVIEW
    yield _heading("Not fixed, and why" if run.last_batch else "Reported, the worst first")
    said = ""
    for item in unfixed[:top]:
        yield item_line(item)
        if why := why_of(item):
            yield _reason("as above" if why == said and why != NO_FIX else why)
            said = why
    if len(unfixed) > top:
        yield _dim(f"    and {len(unfixed) - top:,} more: punchlist show {run.id}")


def _reason(why: str) -> "RenderableType":
    from rich.padding import Padding

    return Padding(_dim(one_line(why)), (0, 0, 0, 9))


def _worst_first(item: Item) -> tuple[bool, tuple[int, str, int, int]]:
    """Those somebody tried to fix first: their reasons are news."""
    return (not item.attempts or item.tries == 0, reading_order(item))


def item_line(item: Item) -> "Text":
    from rich.text import Text

    return Text.assemble(
        (f"  {item.number:>5}  ", "bold"),
        (f"{item.severity:<8}  ", SEVERITIES[item.severity]),
        (place(item.lead), "cyan"),
        f"  {headline(item.lead)}",
    )


def _unseen(run: Run) -> "Iterator[RenderableType]":
    said = [f"{gap.what}: {gap.why}" if gap.why else gap.what for gap in gaps(run)]
    if said:
        yield _heading("Not checked")
        yield from (_bullet(line) for line in said[:_TOP])
        if len(said) > _TOP:
            yield _dim(f"    and {len(said) - _TOP:,} more: punchlist status {run.id} --json")


def _next(run: Run, *, driven: bool) -> "Iterator[RenderableType]":
    commands = dict(next_commands(run, driven=driven))
    if run.landed:
        yield _heading(f"The fixes are on {run.branch} ({count(len(run.landed), 'commit')}); your checkout is as it was")
    elif commands:
        yield _heading("Next")
    yield _commands(commands)


def next_commands(run: Run, *, driven: bool = False) -> Iterator[tuple[str, str]]:
    """What to type next, and why."""
    question = run.waiting_for
    if question is not None:
        yield from ((f"punchlist answer {run.id} {choice}", text) for choice, text in question.choices.items())
    elif not run.ended and not driven:
        yield f"punchlist resume {run.id}", "go on where it stopped"
    if run.items:
        yield f"punchlist show {run.id}", "every item with its history and proof"
    if run.ended and not run.last_batch and run.left:
        yield f"punchlist fix --from {run.id}", "fix what can be fixed"
    if run.landed:
        yield f"git diff HEAD...{run.branch}", "what the fixes change"
        if run.ended:
            yield f"punchlist apply {run.id}", "bring them onto your branch"
    report = next((path for path in run.artifacts if path.endswith(".html")), "")
    if report:
        yield report, "the whole run on one page"


def _commands(commands: dict[str, str]) -> "Table":
    from rich.table import Table

    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="cyan", no_wrap=True, overflow="ignore")
    table.add_column(style="dim")
    for command, why in commands.items():
        table.add_row(f"    {command}", one_line(why))
    return table


def _heading(text: str) -> "Text":
    from rich.text import Text

    return Text(f"\n  {text}", "bold")


def _dim(text: str) -> "Text":
    from rich.text import Text

    return Text(text, "dim")


def _bullet(text: str) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(f"- {one_line(text)}"), (0, 0, 0, 4))
