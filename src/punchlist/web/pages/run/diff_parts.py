"""A diff as git writes it, taken apart for reading: files, hunks, numbered lines."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from punchlist.model.patch.parse_diff import DiffFile, parse_diff, parse_hunks
from punchlist.views.html_view import Line

_KINDS = {"+": "a", "-": "d", "\\": "n"}
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
        return tuple(
            Piece(hunk.about, tuple(_lines(hunk.lines[1:], hunk.old, hunk.new)))
            for hunk in parse_hunks(self.body[:LONGEST])
        )

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
    return tuple(map(_file, parse_diff(diff)))


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


def _file(file: DiffFile) -> FilePatch:
    return FilePatch(
        path=file.path,
        was=file.value("rename from "),
        notes=tuple(_notes(file)),
        added=sum(line.startswith("+") for line in file.body),
        removed=sum(line.startswith("-") for line in file.body),
        body=tuple(file.body),
    )


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


def _notes(file: DiffFile) -> Iterator[str]:
    old, new = file.value("old mode "), file.value("new mode ")
    if file.value("new file mode "):
        yield "new file"
    if file.value("deleted file mode "):
        yield "deleted"
    if old and new:
        yield f"mode {old} becomes {new}"
    if file.value("Binary files "):
        yield "binary"
