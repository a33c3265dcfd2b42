"""The lines of a pull request that can have comments: those in the hunks of its diff."""

from collections.abc import Mapping

from msgspec import Struct

from punchlist.model.patch.change import LineRange
from punchlist.model.patch.parse_diff import parse_diff, parse_hunks


class DiffTable(Struct, frozen=True):
    """By path: the lines of each hunk as the head has them."""

    files: Mapping[str, tuple[LineRange, ...]] = {}

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
    files = {}
    for file in parse_diff(diff):
        hunks = (hunk for hunk in parse_hunks(file.body) if hunk.count > 0 and hunk.new > 0)
        files[file.path] = tuple(LineRange(each.new, each.new + each.count - 1) for each in hunks)
    return DiffTable(files)
