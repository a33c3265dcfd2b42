"""One JSON value, read as agents write it: small sins are forgiven, and where it breaks off, what
came before is kept.
"""

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
"""Digits beyond which a whole number is read as a fraction: it fits nowhere, and Python refuses to
read very long ones.
"""
_DEEPEST = 200
_SPACE = re.compile(r"[ \t\r\n\f\v\u00a0]*+")
_BRACKET = re.compile(r"[{\[]")


class Cut(dict[str, Any]):
    """An object that breaks off before its end: what it has is complete, what it is is not."""


class Parse(Struct):
    """A value, where it stands, and why it breaks off at its end if it does. `read` is how far one
    had to look to know that; `hidden` are the texts in it that have brackets inside.
    """

    value: object
    start: int
    end: int
    read: int
    broken: str = ""
    hidden: list[tuple[int, int]] = []


class _Open:
    """A container whose end has not come yet."""

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
        return Cut(self.value) if isinstance(self.value, dict) else self.value


def _put_member(members: dict[str, Any], key: str, value: object) -> None:
    """A name that comes again with another value has both, as a list: nobody shall see only the
    better one.
    """
    if key not in members or members[key] == value:
        members[key] = value
    elif isinstance(members[key], _Both):
        members[key].append(value)
    else:
        members[key] = _Both([members[key], value])


class _Both(list[Any]):
    """All that was said under one name."""


def parsed(text: str, start: int) -> Parse:
    """The value that begins at `start`, which is a bracket."""
    stack: list[_Open] = []
    hidden: list[tuple[int, int]] = []
    at = start
    while (token := _TOKEN.match(text, at)) is not None:
        kind = token.lastgroup or ""
        said = token[kind]
        if not _taken(stack, kind, said):
            break
        at = token.end()
        if kind == "string" and _BRACKET.search(said):
            hidden.append((at - len(said), at))
        if kind == "mark" and said in "}]":
            done = stack.pop().value
            if not stack:
                return Parse(done, start, at, at)
            stack[-1].put(done)
    return _broken(stack, text, (start, at), hidden)


def _taken(stack: list[_Open], kind: str, said: str) -> bool:
    """Whether the token may stand here; if so, it is in the stack."""
    if kind != "mark":
        return _scalar(stack[-1], kind, said)
    if said not in "{[":
        return _marked(stack, said)
    if len(stack) >= _DEEPEST or not _may_hold_value(stack):
        return False
    stack.append(_Open(said))
    return True


def _may_hold_value(stack: list[_Open]) -> bool:
    return (
        not stack
        or stack[-1].state == ":"
        or (isinstance(stack[-1].value, list) and stack[-1].state in "[,")
    )


def _marked(stack: list[_Open], mark: str) -> bool:
    """Takes a comma, a colon or a closing bracket where it may stand; a comma before the end is
    forgiven.
    """
    top = stack[-1]
    of_object = isinstance(top.value, dict)
    if mark == ",":
        allowed = top.state == "v"
    elif mark == ":":
        allowed = top.state == "k"
    else:
        allowed = mark == ("}" if of_object else "]") and top.state in "{[v,"
    if allowed and mark in ",:":
        top.state = mark
    return allowed


def _scalar(top: _Open, kind: str, said: str) -> bool:
    if kind == "string" and isinstance(top.value, dict) and top.state in "{,":
        top.key, top.state = _text(said), "k"
        return True
    if not _may_hold_value([top]) or (kind == "word" and said not in _WORDS):
        return False
    top.put(_text(said) if kind == "string" else _WORDS[said] if kind == "word" else _number(said))
    return True


def _broken(
    stack: list[_Open], text: str, span: tuple[int, int], hidden: list[tuple[int, int]]
) -> Parse:
    """What is there when the next token is none that may stand: each open container with what is
    complete in it.
    """
    start, at = span
    space = _SPACE.match(text, at)
    here = space.end() if space else at
    unclosed = text[here : here + 1] == '"' and _TOKEN.match(text, here) is None
    read = len(text) if unclosed else here
    said = " ".join(text[here : here + 40].split())
    why = (
        "it ends before the JSON does"
        if read == len(text)
        else f"the JSON breaks off at character {here}, before {said!r}"
    )
    value: object = None
    while stack:
        top = stack.pop()
        if value is not None:
            top.put(value)
        value = top.cut()
    return Parse(value, start, at, read, why, hidden)


def _number(said: str) -> int | float:
    return int(said) if len(said) <= _LONG_NUMBER and said.lstrip("-").isdecimal() else float(said)


def _text(said: str) -> str:
    """A string with its escapes resolved; what is no escape stands for itself, half a character for
    an unknown one.
    """
    if "\\" not in said:
        return said[1:-1]
    text = _ESCAPE.sub(_unescaped, said[1:-1])
    # Two halves are one character; a half alone is none.
    return (
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if _HALVES.search(text)
        else text
    )


def _unescaped(found: "re.Match[str]") -> str:
    said = found[1]
    if len(said) > 1:
        return chr(int(said[1:], 16))
    return _LETTERS.get(said, found[0])
