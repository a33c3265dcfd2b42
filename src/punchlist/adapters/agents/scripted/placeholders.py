"""What a scripted answer takes from the ask: codes of items, and which fix belongs to which."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from punchlist.adapters.agents.scripted.script import Edit, Line, texts
from punchlist.ports.agent import Ask

_CODE = re.compile(r"\bF\d{3,}\b")
_HEADING = re.compile(r"^#+ (F\d{3,})\b|^## ", re.MULTILINE)
_ROUND = re.compile(r"\bround[ -]?(\d+)|\b\d+\.(\d+)\.\d+")
_CODES, _FIXES = "{codes}", "{fixes}"


class Filled(Struct, frozen=True):
    answer: object
    edits: tuple[Edit, ...]


def codes(prompt: str) -> tuple[str, ...]:
    """Those of the items in the prompt, in its order: what stands in a heading, or else all there
    are.
    """
    return tuple(_sections(prompt) or dict.fromkeys(_CODE.findall(prompt)))


def _sections(prompt: str) -> dict[str, str]:
    """What a prompt says under each heading that names an item; examples name items, too, but not
    in headings.
    """
    heads = list(_HEADING.finditer(prompt))
    ends = [*(head.start() for head in heads[1:]), len(prompt)]
    return {
        head[1]: prompt[head.start() : end]
        for head, end in zip(heads, ends, strict=False)
        if head[1]
    }


def round_of(label: str) -> int:
    """The round that a label names, as `round 2` or as a place in a workflow's loop (`3.2.0`); 1
    where it names none.
    """
    found = _ROUND.search(label)
    return int(found[1] or found[2]) if found else 1


def fits(line: Line, ask: Ask) -> bool:
    return (
        (not line.role or ask.role in texts(line.role))
        and all(text in ask.label for text in texts(line.label))
        and all(text in ask.prompt for text in texts(line.prompt))
        and line.round in (0, round_of(ask.label))
    )


def filled(line: Line, ask: Ask) -> Filled:
    reports, edits = _fixed(line, ask.prompt)
    answer = {"outcomes": _FIXES} if line.fixes and line.answer is None else line.answer
    names = {"{role}": ask.role, "{label}": ask.label, "{round}": str(round_of(ask.label))}
    lists: dict[str, list[Any]] = {_CODES: list(codes(ask.prompt)), _FIXES: reports}
    return Filled(_value(answer, lists, names), (*line.edits, *edits))


def _fixed(line: Line, prompt: str) -> tuple[list[dict[str, Any]], tuple[Edit, ...]]:
    """What is reported on whom, and done; an item that a `when` was found for is not among the
    others.
    """
    left = list(codes(prompt))
    reports: list[dict[str, Any]] = []
    edits: list[Edit] = []
    for fix in sorted(line.fixes, key=lambda fix: not fix.when):
        about = meant(fix.when, prompt) if fix.when else tuple(left)
        if not about:
            continue
        left = [code for code in left if code not in about]
        edits += fix.edits
        if fix.outcome is not None:
            reports += [_value({"id": code, **fix.outcome}, {}, {"{code}": code}) for code in about]
    return reports, tuple(edits)


def meant(text: str, prompt: str) -> tuple[str, ...]:
    """The items that the text is about: it stands under their headings, or else most closely behind
    their codes.

    A title follows its code at once, while the same words may also stand in a diff, far from any.
    """
    if sections := _sections(prompt):
        return tuple(code for code, section in sections.items() if text in section)
    near: dict[str, int] = {}
    marks = list(_CODE.finditer(prompt))
    at = prompt.find(text)
    while at >= 0:
        before = next((mark for mark in reversed(marks) if mark.end() <= at), None) or next(
            iter(marks), None
        )
        if before is not None:
            distance = abs(at - before.end())
            near[before[0]] = min(distance, near.get(before[0], distance))
        at = prompt.find(text, at + 1)
    return tuple(code for code, distance in near.items() if distance == min(near.values()))


def _value(value: Any, lists: Mapping[str, list[Any]], names: Mapping[str, str]) -> Any:
    match value:
        case {"each": each} if len(value) == 1 and _CODES in lists:
            return [_value(each, lists, {**names, "{code}": code}) for code in lists[_CODES]]
        case dict():
            return {key: _value(inner, lists, names) for key, inner in value.items()}
        case list():
            return [_value(inner, lists, names) for inner in value]
        case str() if value in lists:
            return lists[value]
        case str():
            for name, text in names.items():
                value = value.replace(name, text)
            return value
        case _:
            return value
