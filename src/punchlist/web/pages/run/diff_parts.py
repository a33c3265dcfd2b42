"""A diff as git writes it, taken apart for reading: files, hunks, numbered lines."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from msgspec import Struct

from punchlist.views.html_view import Line

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_KINDS = {"+": "a", "-": "d", "\\": "n"}
_START = "diff --git "
_WIDEST = 2000
"""Characters of one line: minified files have everything on one."""
LONGEST = 5000
"""Lines of one file that are shown; a file that was made anew by a tool may have a million."""


class Piece(Struct, frozen=True):
    """A hunk. `about` is what git says it is in."""

    about: str
    lines: tuple[Line, ...]


class FilePatch(Struct, frozen=True, kw_only=True):
    """`was` is the old name where it was renamed; `notes` are what else happened: made, deleted,
    binary, another mode. `body` are its hunks as git wrote them: of most files nobody looks at more
    than the name.
    """

    path: str
    was: str = ""
    notes: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    body: tuple[str, ...] = ()

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return tuple(_pieces(self.body[:LONGEST]))

    @property
    def size(self) -> int:
        return min(len(self.body), LONGEST)

    @property
    def cut(self) -> int:
        """Lines that are not shown."""
        return len(self.body) - self.size


class Window(Struct, frozen=True, kw_only=True):
    """Some of the files: as many as fit. `start` is the place of the first one; `following` that of
    the next window, or None.
    """

    files: tuple[FilePatch, ...]
    start: int
    following: int | None


def file_patches(diff: str) -> tuple[FilePatch, ...]:
    lines = diff.removesuffix("\n").split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(_START)]
    return tuple(_file(lines[first:last]) for first, last in pairwise([*starts, len(lines)]))


def window(files: Sequence[FilePatch], start: int, room: int) -> Window:
    """From a place on; at least one file, then as many more as have no more lines than there is
    room for.
    """
    shown: list[FilePatch] = []
    for each in files[start:]:
        room -= each.size
        if shown and room < 0:
            break
        shown.append(each)
    end = start + len(shown)
    return Window(files=tuple(shown), start=start, following=end if end < len(files) else None)


def _file(lines: Sequence[str]) -> FilePatch:
    at = next((number for number, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    head, body = lines[:at], tuple(lines[at:])
    old, new = _named(head, "--- "), _named(head, "+++ ")
    was = _after(head, "rename from ")
    return FilePatch(
        path=_after(head, "rename to ") or new or old or head[0].rpartition(" b/")[2],
        was=was,
        notes=tuple(_notes(head)),
        added=sum(line.startswith("+") for line in body),
        removed=sum(line.startswith("-") for line in body),
        body=body,
    )


def _pieces(body: Sequence[str]) -> Iterator[Piece]:
    counted = 0

    def hunk(line: str) -> int:
        nonlocal counted
        counted += line.startswith("@@ ")
        return counted

    for _, group in groupby(body, key=hunk):
        head, *lines = group
        match = _HUNK.match(head)
        if match:
            yield Piece(match[3].strip(), tuple(_lines(lines, int(match[1]), int(match[2]))))


def _lines(lines: Sequence[str], old: int, new: int) -> Iterator[Line]:
    for line in lines:
        if not line:  # only the end of the text is without a mark
            continue
        kind = _KINDS.get(line[:1], "")
        text = (
            line[1:]
            if len(line) <= _WIDEST
            else f"{line[1:_WIDEST]} [... {len(line) - _WIDEST} more characters]"
        )
        body = text.rstrip() if kind in ("a", "d") else text
        yield Line(
            kind, None if kind == "n" else old if kind == "d" else new, body, text[len(body) :]
        )
        old += kind in ("", "d")
        new += kind in ("", "a")


def _named(head: Sequence[str], mark: str) -> str:
    name = _after(head, mark)
    return "" if name == "/dev/null" else name.strip('"').partition("/")[2]


def _after(head: Sequence[str], mark: str) -> str:
    return next(
        (line.removeprefix(mark).rstrip("\t") for line in head if line.startswith(mark)), ""
    )


def _notes(head: Sequence[str]) -> Iterator[str]:
    old, new = _after(head, "old mode "), _after(head, "new mode ")
    if _after(head, "new file mode "):
        yield "new file"
    if _after(head, "deleted file mode "):
        yield "deleted"
    if old and new:
        yield f"mode {old} becomes {new}"
    if any(line.startswith("Binary files ") for line in head):
        yield "binary"
