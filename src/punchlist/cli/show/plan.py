"""What a run would do, for --dry-run."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from punchlist.app.session import Session
from punchlist.app.start.request import Prepared
from punchlist.cli.drawing import Part
from punchlist.cli.show.layout import make_grid, render_bullets, render_heading
from punchlist.cli.show.words import format_check, format_code, one_line, shorten_path
from punchlist.model.checks.check import Check
from punchlist.model.ledger.timeline import pluralize
from punchlist.model.patch.change import WHOLE, Change, ScopeKind
from punchlist.views import words
from punchlist.workflow.language import Do, Repeat, StopWhen

if TYPE_CHECKING:
    from punchlist.app.start.dry_run import Prompt

_ALLOWED = {
    True: "allowed",
    False: "not to be run",
    None: "not allowed yet: --yes, or `punchlist allow`",
}


class PlanDocument(Struct, frozen=True, kw_only=True):
    kind: ScopeKind
    base: str
    head: str
    files: tuple[str, ...]
    workflow: str
    steps: tuple[str, ...]
    reviewers: tuple[str, ...]
    findings: dict[str, str]
    checks: tuple[Check, ...]
    checks_allowed: bool | None
    notes: tuple[str, ...]
    crew: dict[str, tuple[str, ...]]
    prompts: "tuple[Prompt, ...]"
    """What agents would be asked first."""
    would_start: tuple[str, ...] = ()
    """The agents that would be started, in order, if every round finds something."""


def plan_document(ready: Prepared, prompts: "Sequence[Prompt]" = ()) -> PlanDocument:
    change = ready.change
    from punchlist.app.start.dry_run import list_agent_calls

    return PlanDocument(
        kind=change.kind,
        base=change.base,
        head=change.head,
        files=tuple(change.files) or change.paths,
        workflow=ready.workflow.name,
        steps=tuple(step.strip() for step in _list_steps(ready, verbose=True)),
        reviewers=ready.reviewers,
        findings=ready.documents,
        checks=ready.checks,
        checks_allowed=ready.checks_allowed,
        notes=ready.notes,
        crew=ready.crew,
        prompts=tuple(prompts),
        would_start=tuple(list_agent_calls(ready)),
    )


def plan_text(
    ready: Prepared, files: int, prompts: "Sequence[Prompt]" = (), *, verbose: bool = False
) -> Iterator[Part]:
    """`files`: how many are in scope. `verbose`: with the options of every step."""
    yield "This would be done; nothing was started, nothing was written.\n"
    table = make_grid()
    for name, text in _make_rows(ready, files, verbose=verbose):
        table.add_row(f"  {name:<10}", text)
    yield table
    if ready.notes:
        yield render_heading("Note")
        yield render_bullets(*ready.notes)
    from punchlist.app.start.dry_run import list_agent_calls

    if calls := list_agent_calls(ready):
        yield render_heading("Agents, if every round finds something")
        yield render_bullets(*(f"[DRY-RUN] Would start {call}" for call in calls))
    for prompt in prompts:
        yield render_heading(f"What the {prompt.role} would be asked")
        yield prompt.text


def _make_rows(ready: Prepared, files: int, *, verbose: bool) -> Iterator[tuple[str, str]]:
    everything = f": {pluralize(files, 'file')}" if ready.change.kind is ScopeKind.ALL else ""
    yield "Scope", f"{describe_scope(ready.change)}{everything}"
    yield "Reviewers", ", ".join(ready.reviewers) or "none"
    for each in (each for each in ready.configurations if each.code or each.refused):
        state = f"{format_code(each)}: {_ALLOWED[each.allowed or None]}"
        yield "", f"{each.analyzer} would not look: {each.refused}" if each.refused else state
    for role, names in ready.crew.items():
        yield "Agents", f"{role}: {', then '.join(names)}"
    yield from (("Findings", shorten_path(path)) for path in ready.documents.values())
    none = "none were found: fixes would be unverified"
    none = none if ready.seeks_checks else "not looked for: the workflow runs none"
    yield "Checks", _ALLOWED[ready.checks_allowed] if ready.checks else none
    yield from (("", format_check(check)) for check in ready.checks)
    yield "Workflow", f"{ready.workflow.name}: {one_line(ready.workflow.about)}"
    yield from (("", step) for step in _list_steps(ready, verbose=verbose))


async def count_files(session: Session, change: Change) -> int:
    if change.kind is not ScopeKind.ALL or session.checkout is None:
        return len(change.files)
    listing = await (await session.workshop()).list_tree(change.head)
    return sum(change.covers(path, None, None) for path in listing)


def describe_scope(change: Change) -> str:
    head = change.head[:10]
    if change.kind is ScopeKind.ALL:
        below = f" below {', '.join(change.paths)}" if change.paths else ""
        return f"everything{below} {'on disk' if change.on_disk else f'at {head}'}"
    if change.on_disk:
        return f"{words.describe_scope(change)}: {_describe_extent(change)}"
    against = f" against {change.base_name}" if change.base_name else ""
    return f"{change.kind}{against} at {head}: {_describe_extent(change)}"


def _describe_extent(change: Change) -> str:
    """Return how much changed; lines of new files are not counted."""
    partly = [ranges for ranges in change.files.values() if WHOLE not in ranges]
    whole = len(change.files) - len(partly)
    lines = sum(each.last - each.first + 1 for ranges in partly for each in ranges)
    parts = []
    if partly or not whole:
        parts.append(f"{pluralize(lines, 'line')} in {pluralize(len(partly), 'file')}")
    if whole:
        parts.append(f"{pluralize(whole, 'file')} as a whole")
    return ", ".join(parts)


def _list_steps(ready: Prepared, *, verbose: bool) -> Iterator[str]:
    for step in ready.workflow.steps:
        yield from _render_step(step, verbose=verbose)


def _render_step(step: Do | Repeat | StopWhen, *, verbose: bool) -> Iterator[str]:
    match step:
        case Do():
            options = to_builtins(step.options) if verbose else {}
            listed = " ".join(f"{key}={value}" for key, value in options.items())
            yield f"{step.verb}  {listed}" if options else step.verb
        case Repeat():
            yield f"repeat, at most {pluralize(step.rounds, 'round')}:"
            for inner in step.steps:
                yield from (f"  {line}" for line in _render_step(inner, verbose=verbose))
        case StopWhen():
            yield f"stop when {step.until}"
