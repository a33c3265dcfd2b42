"""Splits a unified diff into hunks, so that those that do not fit a prompt can be named."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from punchlist.model.patch.parse_diff import DiffFile, DiffHunk, parse_diff, parse_hunks

_TELLING = ("--- ", "+++ ", "rename ", "new file", "deleted file")
"""Header lines that are shown with every hunk."""


class DiffPart(Struct, frozen=True):
    """One hunk with its file's header, or a file without hunks; `first` and `last` are lines of the
    new file.
    """

    path: str
    text: str
    first: int = 0
    last: int = 0


def split_diff(diff: str) -> tuple[DiffPart, ...]:
    """Return every hunk separately, in order."""
    found: list[DiffPart] = []
    for file in parse_diff(diff):
        found += [_make_part(file, hunk) for hunk in parse_hunks(file.body)] or [
            DiffPart(file.path, "\n".join(file.header))
        ]
    return tuple(found)


def _make_part(file: DiffFile, hunk: DiffHunk) -> DiffPart:
    short = (line for line in file.header if line.startswith(_TELLING))
    text = "\n".join([*short, *hunk.lines]).rstrip("\n")
    return DiffPart(file.path, text, hunk.new, hunk.new + max(hunk.count - 1, 0))


def sort_by_nearness(
    found: Iterable[DiffPart], spots: Mapping[str, Iterable[int]]
) -> tuple[DiffPart, ...]:
    """Return the hunks of the files in `spots`, nearest to their lines first."""
    own = [part for part in found if part.path in spots]

    def distance(part: DiffPart) -> int:
        return min((_line_distance(part, line) for line in spots[part.path]), default=0)

    return tuple(sorted(own, key=distance))


def _line_distance(part: DiffPart, line: int) -> int:
    return max(part.first - line, line - part.last, 0) if line else 0
