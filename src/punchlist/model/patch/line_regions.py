"""Find the lines that several changes in a row touch together."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace


class LineEdit(Struct, frozen=True):
    """The lines from `first` up to `last` (counted from 0) of a file become `count` other lines."""

    path: str
    first: int
    last: int
    count: int


class ChangeLines(Struct, frozen=True):
    """What one change does: edits of lines, and files that are made, deleted or replaced."""

    edits: tuple[LineEdit, ...] = ()
    replaced: tuple[str, ...] = ()


class Region(Struct, frozen=True):
    """Lines of a file before all changes (`old_first` to `old_last`) and after them (`first` to
    `last`), and the numbers of the changes that touch them; or a whole file.
    """

    path: str
    changes: frozenset[int]
    old_first: int = 0
    old_last: int = 0
    first: int = 0
    last: int = 0
    whole: bool = False


def find_regions(changes: Sequence[ChangeLines]) -> list[Region]:
    """Return the disjoint regions that changes in a row touch; what overlaps is one region."""
    files: dict[str, list[Region]] = {}
    replaced: dict[str, frozenset[int]] = {}
    for number, change in enumerate(changes):
        for path in change.replaced:
            replaced[path] = replaced.get(path, frozenset()) | {number}
        for edit in sorted(change.edits, key=lambda each: -each.first):  # the numbers above stay
            files[edit.path] = _apply_edit(files.get(edit.path, []), edit, number)
    for path, numbers in replaced.items():
        touching = [region.changes for region in files.pop(path, ())]
        files[path] = [Region(path, numbers.union(*touching), whole=True)]
    return [region for path in sorted(files) for region in files[path]]


def _apply_edit(regions: Sequence[Region], edit: LineEdit, number: int) -> list[Region]:
    before: list[Region] = []
    met: list[Region] = []
    after: list[Region] = []
    delta = edit.count - (edit.last - edit.first)
    for region in regions:
        if _is_met(region, edit):
            met.append(region)
        elif region.last <= edit.first:
            before.append(region)
        else:
            moved = replace(region, first=region.first + delta, last=region.last + delta)
            after.append(moved)
    # Between two regions the lines are the old ones, only moved.
    moved_by = before[-1].old_last - before[-1].last if before else 0
    ends = (edit.first + moved_by, edit.first), (edit.last + moved_by, edit.last)
    (old_first, first), (old_last, last) = ends
    if met:
        first, last = min(edit.first, met[0].first), max(edit.last, met[-1].last)
        old_first = met[0].old_first - (met[0].first - first)
        old_last = met[-1].old_last + (last - met[-1].last)
    numbers = frozenset({number}).union(*(region.changes for region in met))
    made = Region(edit.path, numbers, old_first, old_last, first, last + delta)
    return [*before, made, *after]


def _is_met(region: Region, edit: LineEdit) -> bool:
    """Return whether they share a line, or insert at one point: their order would be a guess."""
    if edit.first == edit.last and region.first <= edit.first <= region.last:
        empty = region.first == region.last or region.old_first == region.old_last
        return empty or region.first < edit.first < region.last
    return region.first < edit.last and edit.first < region.last


def join_changes(regions: Iterable[Region], count: int) -> list[int]:
    """Return for each of `count` changes the first of those that it shares lines with, at once or
    through others.
    """
    roots = list(range(count))

    def root(number: int) -> int:
        while roots[number] != number:
            number = roots[number]
        return number

    made: dict[str, int] = {}
    for region in regions:
        joined = {root(number) for number in region.changes}
        if region.whole:  # a file may make room for a folder of its name
            made[region.path] = min(joined)
            above = (region.path[:at] for at, char in enumerate(region.path) if char == "/")
            joined |= {root(made[path]) for path in above if path in made}
        for number in joined:
            roots[number] = min(joined)
    return [root(number) for number in range(count)]
