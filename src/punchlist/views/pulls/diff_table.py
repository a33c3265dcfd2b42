"""The lines of a pull request that can have comments: those in the hunks of its diff."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from punchlist.model.patch.change import LineRange
from punchlist.model.patch.parse_diff import DiffHunk, parse_diff, parse_hunks


class DiffTable(Struct, frozen=True):
    """By path: the lines of each hunk as the head has them."""

    files: Mapping[str, tuple[LineRange, ...]] = {}
    before: Mapping[str, Mapping[int, int]] = {}
    """By path: the numbers that unchanged lines of the hunks had."""
    moved: Mapping[str, str] = {}
    """By path of a renamed file: the one that it had."""

    def holds(self, path: str, first: int, last: int) -> bool:
        """Return whether the lines are in one hunk."""
        hunks = self.files.get(path, ())
        return any(hunk.first <= first <= last <= hunk.last for hunk in hunks)

    def has_file(self, path: str) -> bool:
        return path in self.files


def parse_table(diff: str) -> DiffTable:
    """Return the table of a diff from the merge base to the head, with three lines of context as
    forges show it.
    """
    files, before, moved = {}, {}, {}
    for file in parse_diff(diff):
        hunks = [hunk for hunk in parse_hunks(file.body) if hunk.count > 0 and hunk.new > 0]
        files[file.path] = tuple(LineRange(each.new, each.new + each.count - 1) for each in hunks)
        before[file.path] = {new: old for hunk in hunks for new, old in _pair_lines(hunk)}
        if name := file.value("rename from "):
            moved[file.path] = name
    return DiffTable(files, before, moved)


def _pair_lines(hunk: DiffHunk) -> Iterator[tuple[int, int]]:
    """Yield the number of each unchanged line, after and before."""
    old, new = hunk.old, hunk.new
    for line in hunk.lines[1:]:
        if line.startswith(" ") or not line:
            yield new, old
        old += not line.startswith(("+", "\\"))
        new += not line.startswith(("-", "\\"))
