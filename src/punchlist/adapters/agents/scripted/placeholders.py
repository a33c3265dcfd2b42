"""Placeholders in scripted answers: item codes, and which fix belongs to which item."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from punchlist.adapters.agents.scripted.script import ScriptEdit, ScriptLine, list_texts
from punchlist.ports.agent import Ask

_CODE = re.compile(r"\bF\d{3,}\b")
_HEADING = re.compile(r"^#+ (F\d{3,})\b|^## ", re.MULTILINE)
_ROUND = re.compile(r"\bround[ -]?(\d+)|\b\d+\.(\d+)\.\d+")
_CODES, _FIXES = "{codes}", "{fixes}"


class FilledLine(Struct, frozen=True):
    answer: object
    edits: tuple[ScriptEdit, ...]


def find_codes(prompt: str) -> tuple[str, ...]:
    """Return the item codes in the prompt's headings, or else all codes in it, in order."""
    return tuple(_split_sections(prompt) or dict.fromkeys(_CODE.findall(prompt)))


def _split_sections(prompt: str) -> dict[str, str]:
    """Return the prompt's text under each heading that names an item code."""
    heads = list(_HEADING.finditer(prompt))
    ends = [*(head.start() for head in heads[1:]), len(prompt)]
    return {
        head[1]: prompt[head.start() : end]
        for head, end in zip(heads, ends, strict=False)
        if head[1]
    }


def parse_round(label: str) -> int:
    """Return the round in a label, as `round 2` or a place in a loop (`3.2.0`); default 1."""
    found = _ROUND.search(label)
    return int(found[1] or found[2]) if found else 1


def is_match(line: ScriptLine, ask: Ask) -> bool:
    return (
        (not line.role or ask.role in list_texts(line.role))
        and all(text in ask.label for text in list_texts(line.label))
        and all(text in ask.prompt for text in list_texts(line.prompt))
        and line.round in (0, parse_round(ask.label))
    )


def fill_line(line: ScriptLine, ask: Ask) -> FilledLine:
    reports, edits = _apply_fixes(line, ask.prompt)
    answer = {"outcomes": _FIXES} if line.fixes and line.answer is None else line.answer
    names = {"{role}": ask.role, "{label}": ask.label, "{round}": str(parse_round(ask.label))}
    lists: dict[str, list[Any]] = {_CODES: list(find_codes(ask.prompt)), _FIXES: reports}
    return FilledLine(_fill_value(answer, lists, names), (*line.edits, *edits))


def _apply_fixes(
    line: ScriptLine, prompt: str
) -> tuple[list[dict[str, Any]], tuple[ScriptEdit, ...]]:
    """Return the reports and edits of the line's fixes; those with a `when` choose items first."""
    left = list(find_codes(prompt))
    reports: list[dict[str, Any]] = []
    edits: list[ScriptEdit] = []
    for fix in sorted(line.fixes, key=lambda fix: not fix.when):
        about = match_items(fix.when, prompt) if fix.when else tuple(left)
        if not about:
            continue
        left = [code for code in left if code not in about]
        edits += fix.edits
        if fix.outcome is not None:
            reports += [
                _fill_value({"id": code, **fix.outcome}, {}, {"{code}": code}) for code in about
            ]
    return reports, tuple(edits)


def match_items(text: str, prompt: str) -> tuple[str, ...]:
    """Return the codes with `text` under their heading, else those it follows most closely."""
    if sections := _split_sections(prompt):
        return tuple(code for code, section in sections.items() if text in section)
    near: dict[str, int] = {}
    marks = list(_CODE.finditer(prompt))
    at = prompt.find(text)
    while at >= 0:
        before = [mark for mark in marks if mark.end() <= at][-1:] or marks[:1]
        for code in before:
            distance = abs(at - code.end())
            near[code[0]] = min(distance, near.get(code[0], distance))
        at = prompt.find(text, at + 1)
    return tuple(code for code, distance in near.items() if distance == min(near.values()))


def _fill_value(value: Any, lists: Mapping[str, list[Any]], names: Mapping[str, str]) -> Any:
    match value:
        case {"each": each} if len(value) == 1 and _CODES in lists:
            return [_fill_value(each, lists, {**names, "{code}": code}) for code in lists[_CODES]]
        case dict():
            return {key: _fill_value(inner, lists, names) for key, inner in value.items()}
        case list():
            return [_fill_value(inner, lists, names) for inner in value]
        case str() if value in lists:
            return lists[value]
        case str():
            for name, text in names.items():
                value = value.replace(name, text)
            return value
        case _:
            return value
