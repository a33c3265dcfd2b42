"""A unified diff as files and hunks, so that what fits is shown and what does not is named."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from punchlist.model.patch.parse_diff import DiffFile, DiffHunk, parse_diff, parse_hunks

_TELLING = ("--- ", "+++ ", "rename ", "new file", "deleted file")
"""Header lines that are shown with every hunk."""


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
    for file in parse_diff(diff):
        found += [_part(file, hunk) for hunk in parse_hunks(file.body)] or [
            Part(file.path, "\n".join(file.header))
        ]
    return tuple(found)


def _part(file: DiffFile, hunk: DiffHunk) -> Part:
    short = (line for line in file.header if line.startswith(_TELLING))
    text = "\n".join([*short, *hunk.lines]).rstrip("\n")
    return Part(file.path, text, hunk.new, hunk.new + max(hunk.count - 1, 0))


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
