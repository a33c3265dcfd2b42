"""Parses one JSON value leniently: small errors are accepted, parts of a truncated one kept."""

import re
from typing import Any

from msgspec import Struct

_TOKEN = re.compile(
    r"""[ \t\r\n\f\v\u00a0]*+(?:
    (?P<string>"(?:[^"\\]|\\.)*+")
    | (?P<mark>[{}\[\],:])
    | (?P<number>-?\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+)
    | (?P<word>[A-Za-z]++)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "NaN": None,
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_HALVES = re.compile("[\ud800-\udfff]")
_LONG_NUMBER = 18
"""Digits beyond which a whole number is read as a float; Python refuses very long ones."""
_DEEPEST = 200
_SPACE = re.compile(r"[ \t\r\n\f\v\u00a0]*+")
_BRACKET = re.compile(r"[{\[]")


class CutObject(dict[str, Any]):
    """A truncated object: each member it has is complete."""


class ParsedJson(Struct):
    """A value, its span, and why it is `broken` if it is. `read` is how far the parser looked;
    `hidden` are spans of strings with brackets inside.
    """

    value: object
    start: int
    end: int
    read: int
    broken: str = ""
    hidden: list[tuple[int, int]] = []


class _Container:
    """A container that is not closed yet."""

    __slots__ = ("key", "state", "value")

    def __init__(self, mark: str) -> None:
        self.value: dict[str, Any] | list[Any] = {} if mark == "{" else []
        self.key: str | None = None
        self.state = mark

    def put(self, value: object) -> None:
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is not None:
            _put_member(self.value, self.key, value)
            self.key = None
        self.state = "v"

    def cut(self) -> object:
        return CutObject(self.value) if isinstance(self.value, dict) else self.value


def _put_member(members: dict[str, Any], key: str, value: object) -> None:
    """Set a member; if its key has another value already, keep both in a list."""
    if key not in members or members[key] == value:
        members[key] = value
    elif isinstance(members[key], _RepeatedValues):
        members[key].append(value)
    else:
        members[key] = _RepeatedValues([members[key], value])


class _RepeatedValues(list[Any]):
    """All values of one repeated key."""


def parse_value(text: str, start: int) -> ParsedJson:
    """Parse the value that begins at `start`, which is a bracket."""
    stack: list[_Container] = []
    hidden: list[tuple[int, int]] = []
    at = start
    while (token := _TOKEN.match(text, at)) is not None:
        kind = token.lastgroup or ""
        said = token[kind]
        if not _push_token(stack, kind, said):
            break
        at = token.end()
        if kind == "string" and _BRACKET.search(said):
            hidden.append((at - len(said), at))
        if kind == "mark" and said in "}]":
            done = stack.pop().value
            if not stack:
                return ParsedJson(done, start, at, at)
            stack[-1].put(done)
    return _close_broken(stack, text, (start, at), hidden)


def _push_token(stack: list[_Container], kind: str, said: str) -> bool:
    """Push the token on the stack if it may stand here; return whether it may."""
    if kind != "mark":
        return _push_scalar(stack[-1], kind, said)
    if said not in "{[":
        return _push_mark(stack, said)
    if len(stack) >= _DEEPEST or not _may_hold_value(stack):
        return False
    stack.append(_Container(said))
    return True


def _may_hold_value(stack: list[_Container]) -> bool:
    if not stack or stack[-1].state == ":":
        return True
    return isinstance(stack[-1].value, list) and stack[-1].state in "[,"


def _push_mark(stack: list[_Container], mark: str) -> bool:
    """Accept a comma, colon or closing bracket if it may stand here, even after a comma."""
    top = stack[-1]
    if mark in "}]":
        closing = "}" if isinstance(top.value, dict) else "]"
        return mark == closing and top.state in "{[v,"
    allowed = top.state == ("v" if mark == "," else "k")
    if allowed:
        top.state = mark
    return allowed


def _push_scalar(top: _Container, kind: str, said: str) -> bool:
    if kind == "string" and isinstance(top.value, dict) and top.state in "{,":
        top.key, top.state = _parse_string(said), "k"
        return True
    if not _may_hold_value([top]) or (kind == "word" and said not in _WORDS):
        return False
    if kind == "word":
        top.put(_WORDS[said])
    else:
        top.put(_parse_string(said) if kind == "string" else _parse_number(said))
    return True


def _close_broken(
    stack: list[_Container], text: str, span: tuple[int, int], hidden: list[tuple[int, int]]
) -> ParsedJson:
    """Close all open containers at an unexpected token, with their complete parts."""
    start, at = span
    space = _SPACE.match(text, at)
    here = space.end() if space else at
    unclosed = text[here : here + 1] == '"' and _TOKEN.match(text, here) is None
    read = len(text) if unclosed else here
    said = " ".join(text[here : here + 40].split())
    why = f"the JSON breaks off at character {here}, before {said!r}"
    if read == len(text):
        why = "it ends before the JSON does"
    value: object = None
    while stack:
        top = stack.pop()
        if value is not None:
            top.put(value)
        value = top.cut()
    return ParsedJson(value, start, at, read, why, hidden)


def _parse_number(said: str) -> int | float:
    return int(said) if len(said) <= _LONG_NUMBER and said.lstrip("-").isdecimal() else float(said)


def _parse_string(said: str) -> str:
    """Resolve the escapes; invalid ones stay, a lone surrogate becomes U+FFFD."""
    if "\\" not in said:
        return said[1:-1]
    text = _ESCAPE.sub(_unescape, said[1:-1])
    if not _HALVES.search(text):
        return text
    # Two halves are one character; a half alone is none.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape(found: "re.Match[str]") -> str:
    said = found[1]
    if len(said) > 1:
        return chr(int(said[1:], 16))
    return _LETTERS.get(said, found[0])
