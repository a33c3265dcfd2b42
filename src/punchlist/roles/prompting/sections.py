"""Builds the sections of a prompt: items with history, diff, conventions, checks,
questions, plans.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Attempt, Fact, Item, reading_order
from punchlist.model.item.todo import Todo
from punchlist.ports.roles import Background, RoleTask
from punchlist.roles.prompting.budget import PromptPiece, Section
from punchlist.roles.prompting.diff_parts import DiffPart, sort_by_nearness, split_diff
from punchlist.roles.prompting.fencing import clean_attribute, clean_text, fence_text, shorten_text
from punchlist.views.issue_text import format_place
from punchlist.views.plans.plan_forms import item_code

_DETAIL = 4000
_CODE = 2000
_EVIDENCE = 4000
_ATTEMPTS = 6
_CONVENTION = 20_000
_SPECIFICATION = 60_000

_SAID = {
    Fact.SAID_FIXED: "it was said to be fixed",
    Fact.SAID_DEFERRED: "it was deferred",
    Fact.SAID_BLOCKED: "it was said to be blocked",
    Fact.EXCUSE_REFUSED: "an excuse was given, and that was not accepted",
    Fact.CONTESTED: "it was contested, and nobody agreed",
    Fact.REJECTED: "the fix was rejected",
    Fact.SEEN_AGAIN: "it was seen again after a fix",
}
"""What of an item's history is worth telling whoever tries next."""


def build_items(task_items: Iterable[Item], limit: int, *, history: bool) -> Section:
    """Return all items, most severe first, each at most an eighth of the limit; without
    `history` as if new.
    """
    most = max(limit // 8, 400)
    ordered = sorted(task_items, key=reading_order)
    return Section(
        "items",
        tuple(
            PromptPiece(item_code(item.number), _render_item(item, most, history=history))
            for item in ordered
        ),
        0.5,
    )


def _render_item(item: Item, most: int, *, history: bool) -> str:
    told = fence_text(
        f"finding {item_code(item.number)}", shorten_text(_render_finding(item), most)
    )
    blocks = [f"### {item_code(item.number)} ({item.severity})", told]
    earlier = [attempt for attempt in item.attempts if attempt.fact in _SAID] if history else []
    if earlier:
        blocks += [
            f"Earlier attempts at {item_code(item.number)}; do not repeat what did not work:",
            _render_history(item, earlier, most),
        ]
    return "\n".join(blocks)


def _render_finding(item: Item) -> str:
    lead = item.current
    lines = [f"file: {format_place(lead)}", f"title: {lead.title}"]
    fields = (
        ("rule", lead.rule),
        ("category", lead.category),
        ("reported by", ", ".join(_list_sources(item))),
    )
    lines += [f"{name}: {value}" for name, value in fields if value]
    for finding in item.sighted[:4]:
        if finding.detail and finding.detail != lead.title:
            lines.append(f"detail: {shorten_text(finding.detail, _DETAIL)}")
        if finding.suggestion:
            lines.append(f"suggested: {shorten_text(finding.suggestion, _CODE)}")
    if lead.code:
        lines.append(f"code:\n{shorten_text(lead.code, _CODE)}")
    return "\n".join(lines)


def _list_sources(item: Item) -> list[str]:
    return list(dict.fromkeys(finding.source for finding in item.findings))


def _render_history(item: Item, attempts: Sequence[Attempt], most: int) -> str:
    left = len(attempts) - _ATTEMPTS
    lines = [f"({left} earlier ones are not shown)"] if left > 0 else []
    for attempt in attempts[-_ATTEMPTS:]:
        lines.append(
            f"- round {attempt.round}:"
            f" {_SAID[attempt.fact]}{f' (by {attempt.by})' if attempt.by else ''}: {attempt.why}"
        )
        # Only what we saw ourselves: the failing command and what it printed.
        if attempt.evidence and attempt.fact in (Fact.REJECTED, Fact.SEEN_AGAIN):
            lines.append(shorten_text(attempt.evidence, _EVIDENCE))
    return fence_text(f"history of {item_code(item.number)}", shorten_text("\n".join(lines), most))


def build_diff(told: Background, share: float, paths: Iterable[str] | None = None) -> Section:
    """Return the change under review, hunk by hunk, of these files or of all."""
    wanted = None if paths is None else frozenset(paths)
    shown = [part for part in split_diff(told.diff) if wanted is None or part.path in wanted]
    return Section("diff", _fence_hunks(shown), share)


def build_near_diff(told: Background, task_items: Iterable[Item], share: float) -> Section:
    """Return the hunks in the items' files, nearest to the items first."""
    spots: dict[str, list[int]] = {}
    for item in task_items:
        spots.setdefault(item.current.spot.path, []).append(item.current.spot.line or 0)
    return Section("diff", _fence_hunks(sort_by_nearness(split_diff(told.diff), spots)), share)


def _fence_hunks(found: Iterable[DiffPart]) -> tuple[PromptPiece, ...]:
    return tuple(
        PromptPiece(part.path, fence_text(f"diff of {part.path}", part.text)) for part in found
    )


def build_files(name: str, texts: Mapping[str, str], share: float) -> Section:
    """Return whole files as data: conventions, specifications."""
    limit = _SPECIFICATION if name == "specification" else _CONVENTION
    return Section(
        name,
        tuple(
            PromptPiece(path, fence_text(path, shorten_text(text, limit)))
            for path, text in texts.items()
        ),
        share,
    )


def build_answers(doubts: Iterable[Doubt], share: float) -> Section:
    """Return the questions with the user's binding answers."""
    lines = [
        PromptPiece(
            doubt.id,
            fence_text(f"question {doubt.id}", f"{doubt.question}\n{doubt.context}".strip())
            + f"\nAnswer: {clean_text(doubt.answer)}",
        )
        for doubt in doubts
        if doubt.answer
    ]
    return Section("answers", tuple(lines), share)


def build_todos(found: Mapping[int, Todo], share: float) -> Section:
    """Return the plan of each item, which the user may have edited."""
    return Section(
        "todos",
        tuple(
            PromptPiece(item_code(number), _render_todo(todo))
            for number, todo in sorted(found.items())
        ),
        share,
    )


def _render_todo(todo: Todo) -> str:
    related = [
        f"{each.path} ({each.reason})" if each.reason else each.path for each in todo.related
    ]
    fields = (
        ("approach", (str(todo.approach),)),
        ("steps", todo.steps),
        ("files", todo.files),
        ("related files", tuple(related)),
        ("existing patterns", todo.patterns),
        ("risks", todo.risks),
        ("verification", (todo.verification,) if todo.verification else ()),
    )
    lines = [
        f"{name}:\n" + "\n".join(f"- {value}" for value in values)
        for name, values in fields
        if values
    ]
    return f"### Plan for {item_code(todo.item)}\n" + fence_text(
        f"plan {item_code(todo.item)}", "\n".join(lines)
    )


def render_groups(task: RoleTask) -> str:
    """Return which items can be fixed in parallel, by their codes; '' if there is
    only one group.
    """
    if len(task.batches) < 2:  # one group is no grouping
        return ""
    return "\n".join(
        f"- group {at}: {', '.join(map(item_code, batch.items))}"
        f" ({', '.join(f'`{clean_text(path)}`' for path in batch.paths)})"
        for at, batch in enumerate(task.batches, 1)
    )


def render_checks(told: Background) -> str:
    """Return the check commands, one per line."""
    return "\n".join(f"- `{clean_text(shlex.join(command))}`" for command in told.checks)


def build_values(told: Background) -> dict[str, str]:
    """Return the values that every prompt may use beside its sections."""
    names = {"base": clean_attribute(told.base), "branch": clean_attribute(told.branch)}
    return {**names, "checks": render_checks(told), "notes": clean_text(told.notes).strip()}
