"""Build the sections of a prompt: items with history, diff, conventions, questions, plans."""

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
    Fact.CONTESTED: "it was contested, and no other agent agreed",
    Fact.REJECTED: "the fix was rejected",
    Fact.SEEN_AGAIN: "it was seen again after a fix",
}
"""What the next fixer is shown of the history of an item."""


def build_items(
    task_items: Iterable[Item],
    limit: int,
    *,
    history: bool,
    rejected: Mapping[int, str] | None = None,
) -> Section:
    """Return all items, most severe first, each part of an item at most an eighth of the limit;
    without `history` as if new. `rejected`: by item, the diff of a fix to improve on.
    """
    most = max(limit // 8, 400)
    diffs = rejected or {}
    pieces = (
        PromptPiece(
            item_code(item.number),
            _render_item(item, most, history=history) + _render_rejected(item, diffs, most),
        )
        for item in sorted(task_items, key=reading_order)
    )
    return Section("items", tuple(pieces), 0.5)


def _render_item(item: Item, most: int, *, history: bool) -> str:
    code = item_code(item.number)
    finding = fence_text(f"finding {code}", shorten_text(_render_finding(item), most))
    blocks = [f"### {code} ({item.severity})", finding]
    earlier = [attempt for attempt in item.attempts if attempt.fact in _SAID] if history else []
    if earlier:
        blocks.append(f"Earlier attempts at {code}; do not repeat what did not work:")
        blocks.append(_render_history(code, earlier, most))
    return "\n".join(blocks)


def _render_rejected(item: Item, diffs: Mapping[int, str], most: int) -> str:
    if not (diff := diffs.get(item.number)):
        return ""
    code = item_code(item.number)
    shown = fence_text(f"rejected fix of {code}", shorten_text(diff, min(most, _EVIDENCE)))
    return f"\nThe fix of {code} that was rejected, which is not in the files now:\n{shown}"


def _render_finding(item: Item) -> str:
    lead = item.current
    lines = [f"file: {format_place(lead)}", f"title: {lead.title}"]
    sources = ", ".join(dict.fromkeys(finding.source for finding in item.findings))
    fields = (("rule", lead.rule), ("category", lead.category), ("reported by", sources))
    lines += [f"{name}: {value}" for name, value in fields if value]
    for finding in item.sighted[:4]:
        if finding.detail and finding.detail != lead.title:
            lines.append(f"detail: {shorten_text(finding.detail, _DETAIL)}")
        if finding.impact:
            lines.append(f"impact: {shorten_text(finding.impact, _CODE)}")
        if finding.suggestion:
            lines.append(f"suggested: {shorten_text(finding.suggestion, _CODE)}")
    if lead.code:
        lines.append(f"code:\n{shorten_text(lead.code, _CODE)}")
    return "\n".join(lines)


def _render_history(code: str, attempts: Sequence[Attempt], most: int) -> str:
    left = len(attempts) - _ATTEMPTS
    lines = [f"({left} earlier ones are not shown)"] if left > 0 else []
    for attempt in attempts[-_ATTEMPTS:]:
        by = f" (by {attempt.by})" if attempt.by else ""
        lines.append(f"- round {attempt.round}: {_SAID[attempt.fact]}{by}: {attempt.why}")
        # Only what we saw ourselves: the failing command and what it printed.
        if attempt.evidence and attempt.fact in (Fact.REJECTED, Fact.SEEN_AGAIN):
            lines.append(shorten_text(attempt.evidence, _EVIDENCE))
    return fence_text(f"history of {code}", shorten_text("\n".join(lines), most))


def build_diff(project: Background, share: float, paths: Iterable[str] | None = None) -> Section:
    """Return the change under review, hunk by hunk, of these files or of all; deleted files are
    the first to be cut.
    """
    wanted = None if paths is None else frozenset(paths)
    shown = [part for part in split_diff(project.diff) if wanted is None or part.path in wanted]
    shown.sort(key=lambda part: "\n+++ /dev/null" in part.text)
    return Section("diff", _fence_hunks(shown), share)


def build_near_diff(project: Background, task_items: Iterable[Item], share: float) -> Section:
    """Return the hunks in the items' files, nearest to the items first."""
    spots: dict[str, list[int]] = {}
    for item in task_items:
        spots.setdefault(item.current.spot.path, []).append(item.current.spot.line or 0)
    return Section("diff", _fence_hunks(sort_by_nearness(split_diff(project.diff), spots)), share)


def _fence_hunks(found: Iterable[DiffPart]) -> tuple[PromptPiece, ...]:
    return tuple(
        PromptPiece(part.path, fence_text(f"diff of {part.path}", part.text)) for part in found
    )


def build_files(name: str, texts: Mapping[str, str], share: float) -> Section:
    """Return whole files as data: conventions, specifications."""
    limit = _SPECIFICATION if name == "specification" else _CONVENTION
    pieces = (
        PromptPiece(path, fence_text(path, shorten_text(text, limit)))
        for path, text in texts.items()
    )
    return Section(name, tuple(pieces), share)


def build_answers(doubts: Iterable[Doubt], share: float) -> Section:
    """Return the questions with the user's binding answers."""
    answered = [doubt for doubt in doubts if doubt.answer]
    return Section("answers", tuple(map(_render_answer, answered)), share)


def _render_answer(doubt: Doubt) -> PromptPiece:
    text = f"{doubt.question}\n{doubt.context}".strip()
    name = f"{item_code(doubt.item)}-{doubt.id.rpartition('-')[2]}"  # agents know no other codes
    fenced = fence_text(f"question {name}", text)
    return PromptPiece(name, f"{fenced}\nAnswer: {clean_text(doubt.answer)}")


def build_todos(found: Mapping[int, Todo], share: float) -> Section:
    """Return the plan of each item, which the user may have edited."""
    todos = sorted(found.items())
    pieces = tuple(PromptPiece(item_code(number), _render_todo(todo)) for number, todo in todos)
    return Section("todos", pieces, share)


def _render_todo(todo: Todo) -> str:
    code = item_code(todo.item)
    related = [f"{r.path} ({r.reason})" if r.reason else r.path for r in todo.related]
    fields = (
        ("approach", (str(todo.approach),)),
        ("steps", todo.steps),
        ("files", todo.files),
        ("related files", related),
        ("existing patterns", todo.patterns),
        ("risks", todo.risks),
        ("verification", (todo.verification,) if todo.verification else ()),
    )
    lines = ["\n- ".join([f"{name}:", *values]) for name, values in fields if values]
    return f"### Plan for {code}\n" + fence_text(f"plan {code}", "\n".join(lines))


def render_groups(task: RoleTask) -> str:
    """Return which items can be fixed in parallel, by their codes; '' if there is one group."""
    if len(task.batches) < 2:
        return ""
    return "\n".join(
        f"- group {at}: {', '.join(map(item_code, batch.items))}"
        f" ({', '.join(f'`{clean_text(path)}`' for path in batch.paths)})"
        for at, batch in enumerate(task.batches, 1)
    )


def build_values(project: Background) -> dict[str, str]:
    """Return the values that every prompt may use beside its sections."""
    checks = [f"- `{clean_text(shlex.join(command))}`" for command in project.checks]
    if project.coverage:
        checks.append(f"- their test coverage must be at least {project.coverage:g}%")
    notes = (_render_story(project), clean_text(project.notes))
    return {
        "base": clean_attribute(project.base),
        "branch": clean_attribute(project.branch),
        "checks": "\n".join(checks),
        "notes": "\n\n".join(filter(None, notes)).strip(),
    }


def _render_story(project: Background) -> str:
    """Return which story the work is about, and where; '' without one."""
    if not project.story:
        return ""
    fields = {
        "Branch": project.branch,
        "Base branch": project.base,
        "Story file": ", ".join(project.specification),
        "Round": str(project.round),
    }
    lines = [f"{name}: {clean_attribute(value)}" for name, value in fields.items() if value]
    return "\n".join((f"This is about {clean_attribute(project.story)}", *lines))
