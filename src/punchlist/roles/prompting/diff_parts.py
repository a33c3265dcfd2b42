"""A unified diff as files and hunks, so that what fits is shown and what does not is named."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(r'\\([abtnvfr"\\]|[0-7]{3})')
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


class Part(Struct, frozen=True):
    """One hunk with its file's header, or a file that has none; `first` and `last` are lines of the
    new file.
    """

    path: str
    text: str
    first: int = 0
    last: int = 0


def parts(diff: str) -> tuple[Part, ...]:
    """Every hunk by itself, in their order."""
    found: list[Part] = []
    for each in re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE):
        if each.strip():
            header, *hunks = re.split(r"^(?=@@ -)", each, flags=re.MULTILINE)
            path = _path(header)
            found += [_part(path, header, hunk) for hunk in hunks] or [
                Part(path, header.rstrip("\n"))
            ]
    return tuple(found)


def _part(path: str, header: str, hunk: str) -> Part:
    lines = _HUNK.match(hunk)
    first = int(lines[1]) if lines else 0
    count = int(lines[2]) if lines and lines[2] else 1
    short = "\n".join(
        line
        for line in header.splitlines()
        if line.startswith(("--- ", "+++ ", "rename ", "new file", "deleted file"))
    )
    return Part(path, f"{short}\n{hunk.rstrip(chr(10))}", first, first + max(count - 1, 0))


def _path(header: str) -> str:
    """The file's new name, or its old one where it is gone."""
    names: dict[str, str] = {}
    for line in header.splitlines():
        for mark in ("+++ ", "--- ", "rename to "):
            if line.startswith(mark):
                names[mark] = _plain(line.removeprefix(mark).rstrip("\t"))
    for mark in ("+++ ", "--- ", "rename to "):
        if names.get(mark, "/dev/null") != "/dev/null":
            return names[mark].removeprefix(
                "b/" if mark == "+++ " else "a/" if mark == "--- " else ""
            )
    first = header.partition("\n")[0].removeprefix("diff --git ")
    # Both halves are alike but for their first letter: no name is longer than half of the line.
    return _plain(first[len(first) // 2 + 1 :]).removeprefix("b/")


def _plain(name: str) -> str:
    """A name as git quotes it, unquoted."""
    if not (name.startswith('"') and name.endswith('"')):
        return name
    raw = _ESCAPE.sub(
        lambda each: chr(_LETTERS[each[1]] if each[1] in _LETTERS else int(each[1], 8)), name[1:-1]
    )
    return (
        raw.encode("latin-1", "ignore").decode("utf-8", "surrogateescape")
        if raw.isascii() or _narrow(raw)
        else raw
    )


def _narrow(text: str) -> bool:
    return all(ord(char) < 256 for char in text)  # one byte


def by_nearness(found: Iterable[Part], spots: Mapping[str, Iterable[int]]) -> tuple[Part, ...]:
    """Hunks of the files that matter, those nearest to what matters in them first."""
    own = [part for part in found if part.path in spots]
    return tuple(
        sorted(
            own, key=lambda part: min((_apart(part, line) for line in spots[part.path]), default=0)
        )
    )


def _apart(part: Part, line: int) -> int:
    return max(part.first - line, line - part.last, 0) if line else 0
