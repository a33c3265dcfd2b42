"""Parses the answers of clarifier, planner and reproducer."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec import Struct

from punchlist.intake.json_entry import Entry, find_text
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.todo import Approach, Related, Todo
from punchlist.roles.answers.find_json import find_answer
from punchlist.roles.answers.fix_answer import relative_path
from punchlist.roles.answers.item_codes import find_entries, parse_code
from punchlist.roles.answers.lenient_json import CutObject
from punchlist.views.plans.plan_forms import item_code

_QUESTIONS = ("questions_by_issue", "questions_by_item", "questions", "doubts")
_READY = ("ready_to_plan", "ready")
_TODOS = ("todos", "plans", "items", "issues", "fixes")
_TESTS = ("tests", "reproductions", "test_files", "items")
_LONGEST = 2000
_MOST_LINES = 1_000_000


class ClarifyAnswer(Struct, frozen=True):
    doubts: tuple[Doubt, ...] = ()
    ready: bool = False
    failed: str = ""


class PlanAnswer(Struct, frozen=True):
    todos: tuple[Todo, ...] = ()
    after: dict[int, tuple[int, ...]] = {}
    failed: str = ""


class ReproduceAnswer(Struct, frozen=True):
    """Item, path and content of each test file."""

    tests: tuple[tuple[int, str, str], ...] = ()
    failed: str = ""


def parse_questions(text: str, numbers: Collection[int], earlier: Sequence[Doubt]) -> ClarifyAnswer:
    """Parse a clarifier's questions, numbered on from the earlier ones."""
    answer = find_answer(text, _is_clarify_answer)
    if answer.failed or not isinstance(answer.value, dict):
        return ClarifyAnswer(failed=answer.failed)
    counts = {number: sum(doubt.item == number for doubt in earlier) for number in numbers}
    doubts: list[Doubt] = []
    raised = 0
    for number, entry in _list_questions(answer.value, numbers):
        raised += 1
        question = find_text(entry, ("question", "text", "ask", "q", "title"))
        if question and not isinstance(entry, CutObject):
            counts[number] += 1
            context = find_text(entry, ("context", "why", "reason"))
            code = f"{item_code(number)}-q{counts[number]}"
            doubts.append(Doubt(code, number, question[:_LONGEST], context[:_LONGEST]))
    if doubts:
        return ClarifyAnswer(tuple(doubts))
    why = _why_not_ready(answer.value, raised, answer.incomplete)
    return ClarifyAnswer(ready=not why, failed=why)


def _why_not_ready(value: Entry, raised: int, incomplete: str) -> str:
    """Return why an answer without questions does not mean "ready", or ''."""
    if incomplete:
        return f"the answer breaks off before the first question: {incomplete}"
    if raised or value.get("has_questions") is True:
        return "it has questions, and none of them could be read"
    said = next((value[name] for name in _READY if name in value), True)
    return "" if said is True else "it says that it is not ready, and asks nothing"


def _is_clarify_answer(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    return any(isinstance(value.get(name), list | dict) for name in _QUESTIONS) or any(
        isinstance(value.get(name), bool) for name in _READY
    )


def _list_questions(value: Entry, numbers: Collection[int]) -> Iterable[tuple[int, Entry]]:
    """Yield each question with its item; one that names no known item goes to the first."""
    first = min(numbers, default=0)
    listed = next((value[name] for name in _QUESTIONS if name in value), None)
    if isinstance(listed, list):
        yield from ((first, {"question": each}) for each in listed if isinstance(each, str))
    for name, entry in find_entries(value, _QUESTIONS, "question") or ():
        known = parse_code(name)
        number = known[0] if known and known[0] in numbers else first
        inner = entry.get("questions")
        for each in inner if isinstance(inner, list) else [entry]:
            yield number, each if isinstance(each, dict) else {"question": each}


def parse_plan(text: str, numbers: Collection[int], root: str) -> PlanAnswer:
    """Parse the plan of each item, and the order of items, without circles."""
    answer = find_answer(text, _is_plan_answer)
    if answer.failed:
        return PlanAnswer(failed=answer.failed)
    todos: dict[int, Todo] = {}
    after: dict[int, tuple[int, ...]] = {}
    for name, entry in find_entries(answer.value, _TODOS, "steps") or ():
        known = parse_code(name)
        if known is None or known[0] not in numbers:
            continue
        flat = _flatten_entry(entry)
        todos[known[0]] = _parse_todo(known[0], flat, root)
        for first in _list_strings(flat, ("after", "depends_on", "must_follow", "dependencies")):
            before = parse_code(first)
            if before and before[0] in numbers and not _waits_for(before[0], known[0], after):
                after[known[0]] = tuple(dict.fromkeys((*after.get(known[0], ()), before[0])))
    return PlanAnswer(tuple(todos.values()), after, "" if todos else "it plans none of the items")


def _is_plan_answer(value: object) -> bool:
    entries = find_entries(value, _TODOS, "steps")
    return entries is not None and any(
        parse_code(name)
        and any(key in _flatten_entry(entry) for key in ("steps", "approach", "plan", "files"))
        for name, entry in entries
    )


def _waits_for(number: int, other: int, after: dict[int, tuple[int, ...]]) -> bool:
    """Return whether `number` is `other` or must wait for it."""
    waiting, seen = [number], set[int]()
    while waiting:
        top = waiting.pop()
        if top == other:
            return True
        if top not in seen:
            seen.add(top)
            waiting += after.get(top, ())
    return False


def _flatten_entry(entry: Entry) -> dict[str, Any]:
    """Return the entry with the members of its `plan` and `context` at the top."""
    flat = dict(entry)
    for name in ("context", "plan"):
        if isinstance(entry.get(name), dict):
            flat = {**flat, **entry[name]}
    return flat


def _parse_todo(number: int, entry: Entry, root: str) -> Todo:
    word = find_text(entry, ("approach",)).casefold()
    lines = entry.get("estimated_lines_changed", entry.get("lines_changed", 0))
    related = entry.get("related_files", entry.get("related"))
    files = (relative_path(raw, root) for raw in _list_strings(entry, ("files", "file")))
    return Todo(
        item=number,
        approach=next((approach for approach in Approach if approach in word), Approach.PATCH),
        steps=_list_strings(entry, ("steps",)),
        files=tuple(dict.fromkeys(filter(None, files))),
        related=tuple(_parse_related(related, root)) if isinstance(related, list) else (),
        patterns=_list_strings(entry, ("existing_patterns", "patterns")),
        snippet=find_text(entry, ("file_content_snippet", "snippet"))[:_LONGEST],
        lines_changed=max(0, min(int(lines), _MOST_LINES)) if type(lines) is int else 0,
        risks=_list_strings(entry, ("risks",)),
        verification=find_text(entry, ("verification", "verify"))[:_LONGEST],
    )


def _parse_related(entries: list[Any], root: str) -> Iterable[Related]:
    for entry in entries:
        raw = (
            entry
            if isinstance(entry, str)
            else find_text(entry, ("path", "file"))
            if isinstance(entry, dict)
            else ""
        )
        reason = find_text(entry, ("reason", "why")) if isinstance(entry, dict) else ""
        if path := relative_path(raw, root):
            yield Related(path, reason)


def _list_strings(entry: Entry, names: Iterable[str]) -> tuple[str, ...]:
    """Return the texts of a list, or the lines of a text; objects by their description."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, list):
            named = ("step", "description", "title", "text", "path", "file", "id", "code")
            entries = (each if isinstance(each, dict) else {"text": each} for each in value)
            texts = (find_text(each, named) for each in entries)
            return tuple(text[:_LONGEST] for text in texts if text)
        if text := find_text(entry, (name,)):
            return tuple(line.strip() for line in text.splitlines() if line.strip())
    return ()


def parse_tests(text: str, numbers: Collection[int], root: str) -> ReproduceAnswer:
    """Parse the test files of a reproducer, one per item."""
    answer = find_answer(text, _is_reproduce_answer)
    if answer.failed:
        return ReproduceAnswer(failed=answer.failed)
    tests: dict[int, tuple[int, str, str]] = {}
    odd: list[str] = []
    for name, entry in find_entries(answer.value, _TESTS, "content") or ():
        known = parse_code(name)
        raw = find_text(entry, ("path", "file", "file_path", "test_file", "filename"))
        content = entry.get("content", entry.get("code", entry.get("source")))
        path = relative_path(raw, root)
        if known is None or known[0] not in numbers:
            odd.append(f"{name[:40] or 'a test without a name'} is none of the items")
        elif not path or not isinstance(content, str) or not content.strip():
            code = item_code(known[0])
            odd.append(f"{code} has no test file with a path in the project and a content")
        else:
            whole = content if content.endswith("\n") else content + "\n"
            tests[known[0]] = (known[0], path, whole)
    return ReproduceAnswer(tuple(tests.values()), "" if tests else "; ".join(odd))


def _is_reproduce_answer(value: object) -> bool:
    entries = find_entries(value, _TESTS, "content")
    empty = isinstance(value, dict) and value.get("tests") == []
    return entries is not None and (
        empty or any(parse_code(name) and "content" in entry for name, entry in entries)
    )
