"""The hidden last line by which punchlist finds its own comments again."""

import re
from enum import StrEnum
from typing import NamedTuple

BODY_LIMIT = 65_535
"""Characters of one comment; forges refuse more."""
_MARK = re.compile(r"<!-- punchlist:(?P<kind>[a-z]+)(?: (?P<key>[\w.=+/-]{1,200}))? -->\Z")
_CUT = "\n\n[... cut: this comment is as long as it can be]"


class MarkKind(StrEnum):
    SUMMARY = "summary"
    REPORTED = "reported"
    ITEM = "item"
    REPLY = "reply"
    ANSWER = "answer"
    STACK = "stack"


class Mark(NamedTuple):
    kind: str
    key: str = ""


def add_mark(body: str, kind: MarkKind, key: str = "") -> str:
    """Return the body with its mark as the last line, cut so that a forge takes it."""
    end = f"\n\n<!-- punchlist:{kind}{f' {key}' if key else ''} -->"
    room = BODY_LIMIT - len(end)
    text = body.rstrip()
    if len(text) > room:
        text = _cut_text(text, room - len(_CUT))
        text += _CUT
    return text + end


def read_mark(body: str) -> Mark | None:
    """Return the mark in the last line. Elsewhere it counts for nothing: code can contain one."""
    found = _MARK.search(clean_body(body))
    return Mark(found["kind"], found["key"] or "") if found else None


def clean_body(body: str) -> str:
    """Return the body as it compares: forges change line ends and trailing blanks."""
    return "\n".join(line.rstrip() for line in body.replace("\r\n", "\n").split("\n")).strip()


def _cut_text(text: str, room: int) -> str:
    """Cut at a line's end, and close a code block that was cut open."""
    kept = text[: room - 20].rpartition("\n")[0] or text[: room - 20]
    fence = ""
    for line in kept.split("\n"):
        ticks = re.match(r" {0,3}(`{3,})", line)
        if ticks and not fence:
            fence = ticks[1]
        elif fence and re.fullmatch(rf" {{0,3}}`{{{len(fence)},}} *", line):
            fence = ""
    return f"{kept}\n{fence[:18]}" if fence else kept
