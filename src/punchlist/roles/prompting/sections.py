"""What a role is told, as sections: items with their history, the change, conventions, checks,
questions and plans.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Attempt, Fact, Item, reading_order
from punchlist.model.item.todo import Todo
from punchlist.ports.roles import Background, Task
from punchlist.roles.prompting.budget import Piece, Section
from punchlist.roles.prompting.diff_parts import Part, by_nearness, parts
from punchlist.roles.prompting.fencing import attribute, clean, fenced, shortened
from punchlist.views.issue_text import place
from punchlist.views.plan_forms import code

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


def items(task_items: Iterable[Item], limit: int, *, history: bool) -> Section:
    """Every item by itself, the worst first; without `history` as if it were new. None takes more
    than its part of the limit.
    """
    most = max(limit // 8, 400)
    ordered = sorted(task_items, key=reading_order)
    return Section(
        "items",
        tuple(Piece(code(item.number), _item(item, most, history=history)) for item in ordered),
        0.5,
    )


def _item(item: Item, most: int, *, history: bool) -> str:
    told = fenced(f"finding {code(item.number)}", shortened(_told(item), most))
    blocks = [f"### {code(item.number)} ({item.severity})", told]
    earlier = [attempt for attempt in item.attempts if attempt.fact in _SAID] if history else []
    if earlier:
        blocks += [
            f"Earlier attempts at {code(item.number)}; do not repeat what did not work:",
            _history(item, earlier, most),
        ]
    return "\n".join(blocks)


def _told(item: Item) -> str:
    lead = item.current
    lines = [f"file: {place(lead)}", f"title: {lead.title}"]
    fields = (
        ("rule", lead.rule),
        ("category", lead.category),
        ("reported by", ", ".join(_sources(item))),
    )
    lines += [f"{name}: {value}" for name, value in fields if value]
    for finding in item.sighted[:4]:
        if finding.detail and finding.detail != lead.title:
            lines.append(f"detail: {shortened(finding.detail, _DETAIL)}")
        if finding.suggestion:
            lines.append(f"suggested: {shortened(finding.suggestion, _CODE)}")
    if lead.code:
        lines.append(f"code:\n{shortened(lead.code, _CODE)}")
    return "\n".join(lines)


def _sources(item: Item) -> list[str]:
    return list(dict.fromkeys(finding.source for finding in item.findings))


def _history(item: Item, attempts: Sequence[Attempt], most: int) -> str:
    left = len(attempts) - _ATTEMPTS
    lines = [f"({left} earlier ones are not shown)"] if left > 0 else []
    for attempt in attempts[-_ATTEMPTS:]:
        lines.append(
            f"- round {attempt.round}:"
            f" {_SAID[attempt.fact]}{f' (by {attempt.by})' if attempt.by else ''}: {attempt.why}"
        )
        # Only what we saw ourselves: the failing command and what it printed.
        if attempt.evidence and attempt.fact in (Fact.REJECTED, Fact.SEEN_AGAIN):
            lines.append(shortened(attempt.evidence, _EVIDENCE))
    return fenced(f"history of {code(item.number)}", shortened("\n".join(lines), most))


def change(told: Background, share: float, paths: Iterable[str] | None = None) -> Section:
    """The change under review, hunk by hunk; only these files if any are named."""
    wanted = None if paths is None else frozenset(paths)
    shown = [part for part in parts(told.diff) if wanted is None or part.path in wanted]
    return Section("diff", _hunks(shown), share)


def change_near(told: Background, task_items: Iterable[Item], share: float) -> Section:
    """Hunks of the change in the items' files, those nearest to them first."""
    spots: dict[str, list[int]] = {}
    for item in task_items:
        spots.setdefault(item.current.spot.path, []).append(item.current.spot.line or 0)
    return Section("diff", _hunks(by_nearness(parts(told.diff), spots)), share)


def _hunks(found: Iterable[Part]) -> tuple[Piece, ...]:
    return tuple(Piece(part.path, fenced(f"diff of {part.path}", part.text)) for part in found)


def files(name: str, texts: Mapping[str, str], share: float) -> Section:
    """Whole files as data: conventions, specifications."""
    limit = _SPECIFICATION if name == "specification" else _CONVENTION
    return Section(
        name,
        tuple(Piece(path, fenced(path, shortened(text, limit))) for path, text in texts.items()),
        share,
    )


def answers(doubts: Iterable[Doubt], share: float) -> Section:
    """What was asked and what a person said; the person's word binds."""
    lines = [
        Piece(
            doubt.id,
            fenced(f"question {doubt.id}", f"{doubt.question}\n{doubt.context}".strip())
            + f"\nAnswer: {clean(doubt.answer)}",
        )
        for doubt in doubts
        if doubt.answer
    ]
    return Section("answers", tuple(lines), share)


def todos(found: Mapping[int, Todo], share: float) -> Section:
    """The plan for each item, which a person may have changed."""
    return Section(
        "todos",
        tuple(Piece(code(number), _todo(todo)) for number, todo in sorted(found.items())),
        share,
    )


def _todo(todo: Todo) -> str:
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
    return f"### Plan for {code(todo.item)}\n" + fenced(f"plan {code(todo.item)}", "\n".join(lines))


def groups(task: Task) -> str:
    """Which items can be done side by side, by their codes."""
    if len(task.batches) < 2:  # one group is no grouping
        return ""
    return "\n".join(
        f"- group {at}: {', '.join(map(code, batch.items))}"
        f" ({', '.join(f'`{clean(path)}`' for path in batch.paths)})"
        for at, batch in enumerate(task.batches, 1)
    )


def checks(told: Background) -> str:
    """The commands that will judge, one a line."""
    return "\n".join(f"- `{clean(shlex.join(command))}`" for command in told.checks)


def values(told: Background) -> dict[str, str]:
    """What every prompt may say beside its sections; notes are the user's own words."""
    names = {"base": attribute(told.base), "branch": attribute(told.branch)}
    return {**names, "checks": checks(told), "notes": clean(told.notes).strip()}
