"""Carry a change of a text over to another version of it, where the text around it is the same."""

from collections.abc import Iterator
from itertools import pairwise

from punchlist.model.finding.finding import Splice
from punchlist.model.patch.line_table import LineTable
from punchlist.model.patch.patch import splices_between

_AROUND = 3
"""Lines before and after a change that must be the same."""


def carry_over(path: str, before: str, after: str, now: str) -> tuple[Splice, ...] | None:
    """Return what turns `before` into `after` as splices of `now`. None if lines that it changes,
    or three lines around them, are not in `now` exactly once.
    """
    splices = tuple(splices_between(path, before, after))
    if now == before:
        return splices
    carried: list[Splice] = []
    for start, end, together in _group_splices(before, splices):
        shift = _find_once(before[start:end], now)
        if shift is None:
            return None
        moved = shift - start
        carried += (Splice(path, s.start + moved, s.end + moved, s.text) for s in together)
    in_order = all(a.end <= b.start for a, b in pairwise(carried))
    return tuple(carried) if carried and in_order else None


def _group_splices(
    text: str, splices: tuple[Splice, ...]
) -> Iterator[tuple[int, int, list[Splice]]]:
    """Yield the splices with the span of the lines around them; spans that meet are one."""
    table = LineTable(text)
    groups: list[tuple[int, int, list[Splice]]] = []
    for splice in splices:
        first, last = table.find_place(splice.start)[0], table.find_place(splice.end)[0]
        start, end = table.line_start(first - _AROUND), table.line_start(last + _AROUND)
        if groups and start <= groups[-1][1]:
            low, _, together = groups[-1]
            groups[-1] = (low, end, [*together, splice])
        else:
            groups.append((start, end, [splice]))
    yield from groups


def _find_once(block: str, text: str) -> int | None:
    """Return the offset of whole lines in a text, None if they are not there once."""
    found: list[int] = []
    at = text.find(block) if block else -1
    while at >= 0:
        end = at + len(block)
        starts_line = at == 0 or text[at - 1] in "\r\n"
        if starts_line and (block[-1] in "\r\n" or end == len(text)):
            found.append(at)
        at = text.find(block, at + 1) if len(found) < 2 else -1
    return found[0] if len(found) == 1 else None
