"""The summary of a run: result, unresolved items, caveats, next commands."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from punchlist.cli.drawing import Column, Part, Table, Text
from punchlist.cli.show.caveats import render_caveats
from punchlist.cli.show.layout import indent_text, render_commands, render_heading, render_next
from punchlist.cli.show.leftovers import render_unresolved
from punchlist.cli.show.words import one_line, shorten_path
from punchlist.model.checks.failure_cause import SETUP_MAKES
from punchlist.model.item.item import Status
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.item_words import format_proofs
from punchlist.views.run_state import STATE_WORDS, describe_outcome, find_state
from punchlist.views.summary import BrokenCheck, Numbers, count_items, find_broken, summarize_run
from punchlist.views.words import format_cost, format_dollars, format_duration, tokens

_STYLES = {
    RunOutcome.CLEAN: "bold green",
    RunOutcome.FIXED: "bold green",
    RunOutcome.NOTHING_FOUND: "bold",
    RunOutcome.DISMISSED: "bold",
    RunOutcome.LEFTOVERS: "bold yellow",
    RunOutcome.INCOMPLETE: "bold red",
}


def render_summary(
    run: Run, *, driven: bool = False, standing: str = "", verbose: bool = False
) -> Iterator[Part]:
    """`driven`: a process drives the run. `standing`: what became of its fixes. `verbose`: with all
    numbers, notes and commands.
    """
    yield from render_account(run, driven=driven, standing=standing, verbose=verbose)
    yield from _render_questions(run)
    if verbose:
        yield from _render_commands(run, driven=driven, standing=standing)
    else:
        yield from _render_next(run, driven=driven, standing=standing)


def render_account(
    run: Run, *, driven: bool = False, standing: str = "", verbose: bool = False
) -> Iterator[Part]:
    """Yield the summary without next commands."""
    yield _render_title(run, driven=driven)
    yield from _render_tally(_list_tally(run, standing, verbose=verbose))
    yield from render_unresolved(run, where=_format_filed(run))
    yield from render_caveats(run, verbose=verbose)


def _render_title(run: Run, *, driven: bool) -> Text:
    summary = summarize_run(run)
    verdict, style = STATE_WORDS[find_state(run, driven=driven)], "bold yellow"
    if run.ended:
        verdict, style = (
            describe_outcome(summary.outcome, summary.numbers.left_out),
            _STYLES[summary.outcome],
        )
    name = (f"Run {run.id}", "bold")
    story = f" · {one_line(run.started.story.label)}" if run.started.story.id else ""
    about = f"{story} · {run.started.workflow_name} · {format_duration(run.active)} · "
    broken = [line for each in find_broken(run) for line in _describe_broken(each)]
    warning = "".join(f"\n{line}" for line in broken)
    said = f"\n{summary.headline}"
    return Text.assemble(name, about, (verdict, style), said, (warning, "bold yellow"))


def _describe_broken(broken: BrokenCheck) -> Iterator[str]:
    """Yield one line of cause, and one of the remedy if that is not the next command."""
    yield one_line(f"{broken.what}: {broken.cause}")
    if broken.remedy and not broken.remedy.startswith(SETUP_MAKES):
        yield one_line(f"  to repair it: {broken.remedy}")


def _render_tally(rows: Iterator[tuple[str, str, str]]) -> "Iterator[Table]":
    columns = (Column(style="bold", least=7), Column(right=True), Column(overflow="fold"))
    table = Table(*columns, gap=2)
    for name, number, detail in rows:
        table.add_row(f"  {name}", number, detail)
    if not table.is_empty:
        yield table


def _list_tally(run: Run, standing: str, *, verbose: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the numbers that the headline does not have; all of them if `verbose`."""
    numbers = count_items(run)
    if verbose:
        yield "Found", f"{numbers.reported:,}", _format_found(run, numbers)
    if numbers.fixed:
        fixed = (item for item in run.find_items(Status.FIXED) if item.in_scope)
        proofs = _join_counts(Counter(map(format_proofs, fixed)))
        commits = pluralize(numbers.commits, "commit")
        where = f"; {commits} on {run.landing.branch}" if run.landing.landed else ""
        where += f", {standing}" if where and standing else ""
        yield "Fixed", f"{numbers.fixed:,}", f"{proofs}{where}"
    if verbose:
        for name, number, detail in (
            ("Filed", numbers.filed, _format_filed(run)),
            ("Dismissed", numbers.dismissed, ""),
            ("Left", numbers.left, _join_counts(Counter(item.status for item in run.left))),
            ("Check runs", numbers.check_runs, _format_baselines(run)),
        ):
            if number:
                yield name, f"{number:,}", detail
    if run.started.rounds is not None:
        used = f"{len(run.position.rounds):,}"
        yield "Rounds", used, f"of at most {run.started.rounds:,}, as asked for"
    if run.started.threshold is not None:
        approved = "the least score that approves a fix, as asked for"
        yield "Threshold", f"{run.started.threshold}", approved
    if verbose and (judged := _format_pythons(run)):
        yield "Python", "", judged
    if run.usage.agents_worked:
        cost = format_dollars(run.usage.dollars) if run.usage.dollars else "-"
        yield "Agents", cost, _format_agents(run)


def _format_agents(run: Run) -> str:
    usage = run.usage
    names = dict.fromkeys(name for players in run.started.crew.values() for name in players[:1])
    parts = [] if usage.dollars and not (usage.unpriced or usage.cut) else [format_cost(usage)]
    if usage.unpriced:
        parts.append(f"{pluralize(usage.unpriced, 'call')} of unknown cost")
    if usage.cut:
        parts.append(f"{pluralize(usage.cut, 'call')} cut off before the whole usage was reported")
    return "; ".join([*parts, tokens(usage), ", ".join(names)])


def _format_baselines(run: Run) -> str:
    checks = run.checks
    failed = {name: each.failed for name, each in checks.baselines.items() if each.failed}
    said = [f"{name}: {failed[name]:,} failed before any fix" for name in failed]
    kept = [name for name, each in checks.gates.items() if not each.unusable]
    said += [f"green as before: {', '.join(kept)}"] if kept else []
    return "; ".join(said)


def _format_pythons(run: Run) -> str:
    """Return which Python ran the checks, and where it was found."""
    ran = (check for check in run.started.checks if check.name in run.checks.baselines)
    known = {
        shorten_path(check.command[0]): check.python_from for check in ran if check.python_from
    }
    return "; ".join(f"{python} ({where})" for python, where in known.items())


def _format_found(run: Run, numbers: Numbers) -> str:
    reviews = run.reviewing.reviews.values()
    reviewers = sorted(each.reviewer for each in reviews if not each.failed and not each.skipped)
    beside = {
        "merged": numbers.merged,
        "seen again later": numbers.again,
        "outside the change": numbers.outside,
        "left out": numbers.left_out,
        "not understood": numbers.refused,
        "not sorted yet": numbers.pending,
    }
    if not reviewers and not numbers.reported and not numbers.refused:
        return "no findings"
    parts = [pluralize(numbers.items, "item")]
    parts += [f"{number:,} {what}" for what, number in beside.items() if number]
    return (f"by {', '.join(reviewers)}: " if reviewers else "") + ", ".join(parts)


def _format_filed(run: Run) -> str:
    issues = (item.issue for item in run.find_items(Status.FILED) if item.issue)
    folders = Counter(issue.rpartition("/")[0] for issue in issues)
    return f"in {shorten_path(folders.most_common(1)[0][0])}" if folders else ""


def _join_counts(parts: Counter[str] | Counter[Status]) -> str:
    """Join the counts; a single part needs no number."""
    if len(parts) == 1:
        return str(next(iter(parts)))
    return ", ".join(f"{number:,} {part}" for part, number in parts.most_common())


def _render_questions(run: Run) -> Iterator[Part]:
    question = run.waiting_for
    if question is not None:
        yield render_heading("The run asks")
        yield from map(indent_text, question.question.splitlines())
        yield render_commands(dict(question.choices))
    if run.unanswered:
        yield render_heading("An agent wants to know")
        for doubt in run.unanswered:
            yield indent_text(f"{doubt.id}  {doubt.question}")
            if doubt.context:
                yield indent_text(f"  {doubt.context}", "dim")


def _render_next(run: Run, *, driven: bool, standing: str) -> Iterator[Part]:
    command, why = next(next_commands(run, driven=driven, standing=standing), ("", ""))
    if command:
        yield render_next(command, why)


def _render_commands(run: Run, *, driven: bool, standing: str) -> Iterator[Part]:
    """Yield all commands to type next, what became of the fixes, and the report."""
    known = dict(next_commands(run, driven=driven, standing=standing))
    pages = (path for path in run.filing.artifacts if path.endswith(".html"))
    report = next((path for path in pages if Path(path).exists()), "")
    if run.landing.landed:
        known |= {} if standing else {show_diff(run): "what the fixes change"}
        fate = {"applied": "they are part of your branch", "discarded": "they were discarded"}.get(
            standing, _describe_checkout(run)
        )
        commits = pluralize(len(run.landing.commits), "commit")
        yield render_heading(f"The fixes: {commits} on {run.landing.branch}; {fate}")
    elif known or report:
        yield render_heading("Next")
    yield render_commands(known)
    if report:
        yield indent_text("The whole run on one page:", "dim")
        yield indent_text(shorten_path(report), "cyan")


def _describe_checkout(run: Run) -> str:
    if run.filing.placed:
        added = pluralize(len(run.filing.placed), "findings document is", "findings documents are")
        return f"in your checkout {added} new, and nothing else"
    return "your checkout is as it was"


def next_commands(
    run: Run, *, driven: bool = False, standing: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield commands to type next, and why, the most useful one first."""
    if run.waiting_for is not None:
        choice, *others = run.waiting_for.choices
        also = f", or with {', '.join(others)}" if others else ""
        yield f"punchlist answer {run.id} {choice}", f"answer it{also}"
    if run.unanswered:
        command = f'punchlist answer {run.id} {run.unanswered[0].id}="..."'
        yield command, "one or more answers, or --file answers.json"
    if not run.ended and not driven and not run.waits:
        yield f"punchlist resume {run.id}", "go on where it stopped"
    setup = [each for each in find_broken(run) if each.remedy.startswith(SETUP_MAKES)]
    if setup and not standing:
        yield "punchlist setup", setup[0].remedy.removeprefix("`punchlist setup` ")
    if run.ended and run.landing.landed and not standing:
        where = "merge the fixes into your branch" if not run.started.change.uncommitted else ""
        where = where or "write the fixes into your files"
        yield f"punchlist apply {run.id}", f"{where}; {_describe_checkout(run)}"
    if run.ended and not run.last_batch and run.left:
        yield f"punchlist fix --from {run.id}", "fix what can be fixed"
    if run.items:
        yield f"punchlist show {run.id}", "every item, its history and proof"
    elif run.ended and run_outcome(run) is RunOutcome.INCOMPLETE:
        yield f"punchlist status {run.id} -v", "everything that was not checked"


def show_diff(run: Run) -> str:
    """Return git's command for what the fixes change: beside what was looked at, if that is not in
    a commit of the user's.
    """
    change, branch = run.started.change, run.landing.branch
    return (
        f"git diff {change.head[:12]} {branch}"
        if change.uncommitted
        else f"git diff HEAD...{branch}"
    )


def render_stop(run: Run) -> Iterator[str]:
    """Yield three lines after Ctrl-C: what is done, what is open, how to resume."""
    numbers = count_items(run)
    ends = {"fixed": numbers.fixed, "filed": numbers.filed, "dismissed": numbers.dismissed}
    done = ", ".join(f"{number:,} {end}" for end, number in ends.items() if number)
    still = [pluralize(numbers.left, "item")] if numbers.left else []
    if numbers.pending:
        still.append(f"{pluralize(numbers.pending, 'finding')} not sorted yet")
    yield f"stopped after {format_duration(run.active)}; done: {done or 'nothing yet'}"
    yield f"  still open: {', '.join(still) or 'no item so far'}"
    yield f"  `punchlist resume {run.id}` goes on"
