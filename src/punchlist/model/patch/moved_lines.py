"""Where a line of a file is after a change."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from punchlist.model.finding.finding import Spot
from punchlist.model.patch.parse_diff import DiffHunk, parse_diff, parse_hunks


class MovedFile(Struct, frozen=True):
    """A changed file: its path now, and its hunks, which have no lines around them."""

    path: str
    hunks: tuple[DiffHunk, ...]


def parse_moves(diff: str) -> dict[str, MovedFile]:
    """Return the changed files of a diff without context (`-U0`) by their old paths."""
    moved = {}
    for file in parse_diff(diff):
        old = file.value("rename from ") or file.value("--- ").removeprefix("a/") or file.path
        moved[old] = MovedFile(file.path, tuple(parse_hunks(file.body)))
    return moved


def follow_spot(spot: Spot, moved: Mapping[str, MovedFile]) -> Spot:
    """Return where a place is after the change; columns are dropped if its file was changed."""
    file = moved.get(spot.path)
    if file is None:
        return spot
    if not file.hunks:
        return Spot(file.path, spot.line, spot.end_line, spot.column, spot.end_column)
    line, end = (
        follow_line(number, file.hunks) if number is not None else None
        for number in (spot.line, spot.end_line)
    )
    return Spot(file.path, line, end)


def follow_line(line: int, hunks: Iterable[DiffHunk]) -> int:
    """Return the number that a line has after the change; for a changed or deleted line, that of
    what is there instead.
    """
    shift = 0
    for hunk in hunks:
        removed = sum(text.startswith("-") for text in hunk.lines[1:])
        first = hunk.old + (not removed)  # lines that were only added come after the line `old`
        if line < first:
            break
        if line < first + removed:
            return max(hunk.new + min(line - first, max(hunk.count - 1, 0)), 1)
        shift += hunk.count - removed
    return line + shift
