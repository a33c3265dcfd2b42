"""What a clarifier asks, how a planner wants items fixed, and the tests a reproducer writes, as
typed values.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec import Struct

from punchlist.intake.json_entry import Entry, text_of
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.todo import Approach, Related, Todo
from punchlist.roles.answers.find_json import found
from punchlist.roles.answers.fix_answer import below
from punchlist.roles.answers.item_codes import item_of, told
from punchlist.roles.answers.lenient_json import Cut
from punchlist.views.plan_forms import code

_QUESTIONS = ("questions_by_issue", "questions_by_item", "questions", "doubts")
_READY = ("ready_to_plan", "ready")
_TODOS = ("todos", "plans", "items", "issues", "fixes")
_TESTS = ("tests", "reproductions", "test_files", "items")
_LONGEST = 2000
_MOST_LINES = 1_000_000


class Asked(Struct, frozen=True):
    doubts: tuple[Doubt, ...] = ()
    ready: bool = False
    failed: str = ""


class Planned(Struct, frozen=True):
    todos: tuple[Todo, ...] = ()
    after: dict[int, tuple[int, ...]] = {}
    failed: str = ""


class Written(Struct, frozen=True):
    """Item, path and content of each test file."""

    tests: tuple[tuple[int, str, str], ...] = ()
    failed: str = ""


def asked_in(text: str, numbers: Collection[int], earlier: Sequence[Doubt]) -> Asked:
    """The questions of a clarifier, numbered on from those that were asked before."""
    answer = found(text, _asks)
    if answer.failed or not isinstance(answer.value, dict):
        return Asked(failed=answer.failed)
    counts = {number: sum(doubt.item == number for doubt in earlier) for number in numbers}
    doubts: list[Doubt] = []
    raised = 0
    for number, entry in _questions(answer.value, numbers):
        raised += 1
        question = text_of(entry, ("question", "text", "ask", "q", "title"))
        if question and not isinstance(entry, Cut):
            counts[number] += 1
            context = text_of(entry, ("context", "why", "reason"))
            doubts.append(
                Doubt(
                    f"{code(number)}-q{counts[number]}",
                    number,
                    question[:_LONGEST],
                    context[:_LONGEST],
                )
            )
    if doubts:
        return Asked(tuple(doubts))
    why = _why_not_ready(answer.value, raised, answer.incomplete)
    return Asked(ready=not why, failed=why)


def _why_not_ready(value: Entry, raised: int, incomplete: str) -> str:
    """Why the lack of questions does not mean that all is clear; empty if it does."""
    if incomplete:
        return f"the answer breaks off before the first question: {incomplete}"
    if raised or value.get("has_questions") is True:
        return "it has questions, and none of them could be read"
    said = next((value[name] for name in _READY if name in value), True)
    return "" if said is True else "it says that it is not ready, and asks nothing"


def _asks(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    return any(isinstance(value.get(name), list | dict) for name in _QUESTIONS) or any(
        isinstance(value.get(name), bool) for name in _READY
    )


def _questions(value: Entry, numbers: Collection[int]) -> Iterable[tuple[int, Entry]]:
    """Each question with the item it is about; one that names none of ours is
    asked of the first.
    """
    first = min(numbers, default=0)
    listed = next((value[name] for name in _QUESTIONS if name in value), None)
    if isinstance(listed, list):
        yield from ((first, {"question": each}) for each in listed if isinstance(each, str))
    for name, entry in told(value, _QUESTIONS, "question") or ():
        known = item_of(name)
        number = known[0] if known and known[0] in numbers else first
        inner = entry.get("questions")
        for each in inner if isinstance(inner, list) else [entry]:
            yield number, each if isinstance(each, dict) else {"question": each}


def planned_in(text: str, numbers: Collection[int], root: str) -> Planned:
    """The planner's word on each item; what has to come first, without circles."""
    answer = found(text, _plans)
    if answer.failed:
        return Planned(failed=answer.failed)
    todos: dict[int, Todo] = {}
    after: dict[int, tuple[int, ...]] = {}
    for name, entry in told(answer.value, _TODOS, "steps") or ():
        known = item_of(name)
        if known is None or known[0] not in numbers:
            continue
        flat = _flat(entry)
        todos[known[0]] = _todo(known[0], flat, root)
        for first in _strings(flat, ("after", "depends_on", "must_follow", "dependencies")):
            before = item_of(first)
            if before and before[0] in numbers and not _follows(before[0], known[0], after):
                after[known[0]] = tuple(dict.fromkeys((*after.get(known[0], ()), before[0])))
    return Planned(tuple(todos.values()), after, "" if todos else "it plans none of the items")


def _plans(value: object) -> bool:
    entries = told(value, _TODOS, "steps")
    return entries is not None and any(
        item_of(name) and any(key in _flat(entry) for key in ("steps", "approach", "plan", "files"))
        for name, entry in entries
    )


def _follows(number: int, other: int, after: dict[int, tuple[int, ...]]) -> bool:
    """Whether `number` waits for `other`, or is it."""
    waiting, seen = [number], set[int]()
    while waiting:
        top = waiting.pop()
        if top == other:
            return True
        if top not in seen:
            seen.add(top)
            waiting += after.get(top, ())
    return False


def _flat(entry: Entry) -> dict[str, Any]:
    """The entry with its plan and context beside the rest."""
    flat = dict(entry)
    for name in ("context", "plan"):
        if isinstance(entry.get(name), dict):
            flat = {**flat, **entry[name]}
    return flat


def _todo(number: int, entry: Entry, root: str) -> Todo:
    word = text_of(entry, ("approach",)).casefold()
    lines = entry.get("estimated_lines_changed", entry.get("lines_changed", 0))
    related = entry.get("related_files", entry.get("related"))
    return Todo(
        item=number,
        approach=next((approach for approach in Approach if approach in word), Approach.PATCH),
        steps=_strings(entry, ("steps",)),
        files=tuple(
            dict.fromkeys(
                path for raw in _strings(entry, ("files", "file")) if (path := below(raw, root))
            )
        ),
        related=tuple(_related(related, root)) if isinstance(related, list) else (),
        patterns=_strings(entry, ("existing_patterns", "patterns")),
        snippet=text_of(entry, ("file_content_snippet", "snippet"))[:_LONGEST],
        lines_changed=max(0, min(int(lines), _MOST_LINES)) if type(lines) is int else 0,
        risks=_strings(entry, ("risks",)),
        verification=text_of(entry, ("verification", "verify"))[:_LONGEST],
    )


def _related(entries: list[Any], root: str) -> Iterable[Related]:
    for entry in entries:
        raw = (
            entry
            if isinstance(entry, str)
            else text_of(entry, ("path", "file"))
            if isinstance(entry, dict)
            else ""
        )
        if path := below(raw, root):
            yield Related(
                path, text_of(entry, ("reason", "why")) if isinstance(entry, dict) else ""
            )


def _strings(entry: Entry, names: Iterable[str]) -> tuple[str, ...]:
    """The texts of a list, or the lines of a text; objects by their description."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, list):
            named = ("step", "description", "title", "text", "path", "file", "id", "code")
            texts = (
                text_of(each, named) if isinstance(each, dict) else text_of({"it": each}, ("it",))
                for each in value
            )
            return tuple(text[:_LONGEST] for text in texts if text)
        if text := text_of(entry, (name,)):
            return tuple(line.strip() for line in text.splitlines() if line.strip())
    return ()


def written_in(text: str, numbers: Collection[int], root: str) -> Written:
    """The test files of a reproducer, one an item."""
    answer = found(text, _writes)
    if answer.failed:
        return Written(failed=answer.failed)
    tests: dict[int, tuple[int, str, str]] = {}
    odd: list[str] = []
    for name, entry in told(answer.value, _TESTS, "content") or ():
        known = item_of(name)
        raw = text_of(entry, ("path", "file", "file_path", "test_file", "filename"))
        content = entry.get("content", entry.get("code", entry.get("source")))
        path = below(raw, root)
        if known is None or known[0] not in numbers:
            odd.append(f"{name[:40] or 'a test without a name'} is none of the items")
        elif not path or not isinstance(content, str) or not content.strip():
            odd.append(
                f"{code(known[0])} has no test file with a path in the project and a content"
            )
        else:
            tests[known[0]] = (
                known[0],
                path,
                content if content.endswith("\n") else content + "\n",
            )
    return Written(tuple(tests.values()), "" if tests else "; ".join(odd))


def _writes(value: object) -> bool:
    entries = told(value, _TESTS, "content")
    empty = isinstance(value, dict) and value.get("tests") == []
    return entries is not None and (
        empty or any(item_of(name) and "content" in entry for name, entry in entries)
    )
