"""Parse a git diff for display: files, hunks, numbered lines."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from punchlist.model.patch.parse_diff import DiffFile, parse_diff, parse_hunks
from punchlist.views.html_view import CodeLine

_KINDS = {"+": "a", "-": "d", "\\": "n"}
_WIDEST = 2000
"""Characters of one line: minified files have everything on one."""
LONGEST = 5000
"""Lines of one file that are shown; a file that was made anew by a tool may have a million."""


class HunkView(Struct, frozen=True):
    """A hunk; `about` is the text after its second @@."""

    about: str
    lines: tuple[CodeLine, ...]


class FilePatch(Struct, frozen=True, kw_only=True):
    """`was`: the old name if renamed; `notes`: new, deleted, binary or another mode; `body`: the
    hunks as git wrote them, parsed only when shown.
    """

    path: str
    was: str = ""
    notes: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    body: tuple[str, ...] = ()

    @property
    def pieces(self) -> tuple[HunkView, ...]:
        return tuple(
            HunkView(hunk.about, tuple(_parse_lines(hunk.lines[1:], hunk.old, hunk.new)))
            for hunk in parse_hunks(self.body[:LONGEST])
        )

    @property
    def size(self) -> int:
        return min(len(self.body), LONGEST)

    @property
    def cut(self) -> int:
        return len(self.body) - self.size


class DiffWindow(Struct, frozen=True, kw_only=True):
    """The files that fit on a page. `start`: index of the first; `following`: of the next window,
    or None.
    """

    files: tuple[FilePatch, ...]
    start: int
    following: int | None


def parse_patches(diff: str) -> tuple[FilePatch, ...]:
    return tuple(map(_build_patch, parse_diff(diff)))


def fit_window(files: Sequence[FilePatch], start: int, room: int) -> DiffWindow:
    """Return files from `start` on, with up to `room` lines together, but at least one file."""
    shown: list[FilePatch] = []
    for each in files[start:]:
        room -= each.size
        if shown and room < 0:
            break
        shown.append(each)
    end = start + len(shown)
    return DiffWindow(files=tuple(shown), start=start, following=end if end < len(files) else None)


def _build_patch(file: DiffFile) -> FilePatch:
    return FilePatch(
        path=file.path,
        was=file.value("rename from "),
        notes=tuple(_list_notes(file)),
        added=sum(line.startswith("+") for line in file.body),
        removed=sum(line.startswith("-") for line in file.body),
        body=tuple(file.body),
    )


def _parse_lines(lines: Sequence[str], old: int, new: int) -> Iterator[CodeLine]:
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
        yield CodeLine(
            kind, None if kind == "n" else old if kind == "d" else new, body, text[len(body) :]
        )
        old += kind in ("", "d")
        new += kind in ("", "a")


def _list_notes(file: DiffFile) -> Iterator[str]:
    old, new = file.value("old mode "), file.value("new mode ")
    if file.value("new file mode "):
        yield "new file"
    if file.value("deleted file mode "):
        yield "deleted"
    if old and new:
        yield f"mode {old} becomes {new}"
    if file.value("Binary files "):
        yield "binary"
