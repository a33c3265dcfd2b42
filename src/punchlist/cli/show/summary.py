"""How a run ended, designed: found, fixed, filed, left and why, what was not checked, and what to
type next.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from punchlist.cli.show.caveats import caveats
from punchlist.cli.show.layout import commands, heading, indented
from punchlist.cli.show.leftovers import leftovers
from punchlist.cli.show.words import homely
from punchlist.model.item.item import Status
from punchlist.model.ledger.outcome import Outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import amount
from punchlist.views.item_words import proof_of
from punchlist.views.run_state import OUTCOME_WORDS, STATE_WORDS, find_state
from punchlist.views.summary import Numbers
from punchlist.views.summary import summary as summed
from punchlist.views.words import dollars, duration, tokens

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

_STYLES = {
    Outcome.CLEAN: "bold green",
    Outcome.FIXED: "bold green",
    Outcome.DISMISSED: "bold",
    Outcome.LEFTOVERS: "bold yellow",
    Outcome.INCOMPLETE: "bold red",
}


def summary(run: Run, *, driven: bool = False, standing: str = "") -> "Iterator[RenderableType]":
    """The parts, in reading order. `driven`: a process is at work on it. `standing`: what became of
    its fixes.
    """
    yield from account(run, driven=driven)
    yield from _asked(run)
    yield from _next(run, driven=driven, standing=standing)


def account(run: Run, *, driven: bool = False) -> "Iterator[RenderableType]":
    """The summary without what to type next."""
    yield _title(run, driven=driven)
    yield _tally(run)
    yield from leftovers(run)
    yield from caveats(run)


def _title(run: Run, *, driven: bool) -> "Text":
    from rich.text import Text

    told = summed(run)
    verdict, style = STATE_WORDS[find_state(run, driven=driven)], "bold yellow"
    if run.ended:
        verdict, style = ": ".join(OUTCOME_WORDS[told.outcome]), _STYLES[told.outcome]
    name = run.started.workflow_name
    head = (f"Run {run.id}", "bold"), f" · {name} · {duration(run.active)} · ", (verdict, style)
    return Text.assemble("\n", *head, f"\n{told.headline}\n")


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
    if run.usage.input_tokens or run.usage.output_tokens or run.usage.dollars:
        table.add_row("  Agents", dollars(run.usage.dollars), _tokens(run))
    return table


def _tokens(run: Run) -> str:
    names = dict.fromkeys(name for players in run.started.crew.values() for name in players[:1])
    return f"{tokens(run.usage)}; {', '.join(names)}"


def _baselines(run: Run) -> str:
    known = [
        f"{name}: {each.failed:,} failed before any fix"
        for name, each in run.checks.baselines.items()
        if each.failed
    ]
    return "; ".join(known)


def _found(run: Run, numbers: Numbers) -> str:
    spoke = ", ".join(
        sorted(
            review.reviewer
            for review in run.reviewing.reviews.values()
            if not review.failed and not review.skipped
        )
    )
    beside = {
        "merged": numbers.merged,
        "seen again later": numbers.again,
        "outside the change": numbers.outside,
        "not understood": numbers.refused,
        "not sorted yet": numbers.pending,
    }
    parts = [
        amount(numbers.items, "item"),
        *(f"{number:,} {what}" for what, number in beside.items() if number),
    ]
    if not spoke and not numbers.reported and not numbers.refused:
        return "no findings"
    return (f"by {spoke}: " if spoke else "") + ", ".join(parts)


def _fixed(run: Run) -> str:
    return _split(Counter(proof_of(item) for item in run.having(Status.FIXED) if item.in_scope))


def _filed(run: Run) -> str:
    folders = Counter(
        item.issue.rpartition("/")[0] for item in run.having(Status.FILED) if item.issue
    )
    return "in " + homely(folders.most_common(1)[0][0]) if folders else ""


def _listed(run: Run) -> str:
    return _split(Counter(item.status for item in run.left))


def _split(parts: Counter[str] | Counter[Status]) -> str:
    """The sum stands in front, so one part alone needs no number."""
    if len(parts) == 1:
        return str(next(iter(parts)))
    return ", ".join(f"{number:,} {part}" for part, number in parts.most_common())


def _asked(run: Run) -> "Iterator[RenderableType]":
    question = run.waiting_for
    if question is not None:
        yield heading("The run asks")
        yield indented(question.question)
        yield commands(
            {
                f"punchlist answer {run.id} {choice}": text
                for choice, text in question.choices.items()
            }
        )
    if run.unanswered:
        yield heading("An agent wants to know")
        for doubt in run.unanswered:
            yield indented(f"{doubt.id}  {doubt.question}")
            if doubt.context:
                yield indented(f"  {doubt.context}", "dim")
        yield commands(
            {
                f'punchlist answer {run.id} {run.unanswered[0].id}="..."': (
                    "one or more answers, or --file answers.json"
                )
            }
        )


def _next(run: Run, *, driven: bool, standing: str) -> "Iterator[RenderableType]":
    known = dict(next_commands(run, driven=driven, standing=standing))
    report = next(
        (path for path in run.filing.artifacts if path.endswith(".html") and Path(path).exists()),
        "",
    )
    if run.landing.landed:
        fate = {"applied": "they are part of your branch", "discarded": "they were discarded"}.get(
            standing, "your checkout is as it was"
        )
        commits = amount(len(run.landing.landed), "commit")
        yield heading(f"The fixes: {commits} on {run.landing.branch}; {fate}")
    elif known or report:
        yield heading("Next")
    yield commands(known)
    if report:
        yield indented("The whole run on one page:", "dim")
        yield indented(homely(report), "cyan")


def next_commands(
    run: Run, *, driven: bool = False, standing: str = ""
) -> Iterator[tuple[str, str]]:
    """What to type next, and why; an answer that is waited for stands with its question."""
    if not run.ended and not driven and not run.waits:
        yield f"punchlist resume {run.id}", "go on where it stopped"
    if run.items:
        yield f"punchlist show {run.id}", "every item, its history and proof"
    if run.ended and not run.last_batch and run.left:
        yield f"punchlist fix --from {run.id}", "fix what can be fixed"
    if run.landing.landed and not standing:
        yield f"git diff HEAD...{run.landing.branch}", "what the fixes change"
        if run.ended:
            yield f"punchlist apply {run.id}", "merge them into your branch"


def stopped(run: Run) -> Iterator[str]:
    """Three lines for somebody who pressed Ctrl-C: what is done, what is open, how to go on."""
    numbers = summed(run).numbers
    ends = {"fixed": numbers.fixed, "filed": numbers.filed, "dismissed": numbers.dismissed}
    done = ", ".join(f"{number:,} {end}" for end, number in ends.items() if number)
    still = [amount(numbers.left, "item")] if numbers.left else []
    pending = [f"{amount(numbers.pending, 'finding')} not sorted yet"] if numbers.pending else []
    yield f"stopped after {duration(run.active)}; done: {done or 'nothing yet'}"
    yield f"  still open: {', '.join([*still, *pending]) or 'no item so far'}"
    yield f"  `punchlist resume {run.id}` goes on"
