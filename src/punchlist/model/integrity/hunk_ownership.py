"""Which changes of an agent's patch belong to which of the items that it was asked about."""

import ast
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from itertools import accumulate

from msgspec import Struct

from punchlist.model.finding.finding import Splice, Spot
from punchlist.model.finding.python_source import parse_python
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.patch.patch import FileChange, Patch

_NEAR = 10
"""Lines between a change and the finding that it is for, where no function holds both."""


class AskedItem(Struct, frozen=True):
    """An item in the agent's task; `claim` is None if the agent said nothing clear of it."""

    number: int
    spot: Spot
    claim: ItemClaim | None = None

    @property
    def fixed(self) -> bool:
        return self.claim is not None and self.claim.outcome is ClaimOutcome.FIXED

    @property
    def named(self) -> tuple[str, ...]:
        return (*self.claim.files, *self.claim.tests) if self.claim else ()


class SplitPatch(Struct, frozen=True):
    """`kept` belongs to items called fixed; `dropped` has by item what belongs to others. `unclear`
    names items that were not fixed and whose changes cannot be told apart: then nothing is kept.
    """

    kept: Patch
    dropped: dict[int, Patch] = {}
    unclear: tuple[int, ...] = ()


class _Side(Enum):
    FIXED = auto()
    OTHER = auto()
    BOTH = auto()
    FAR = auto()


class _Owner(Struct, frozen=True):
    side: _Side
    items: tuple[int, ...] = ()


def split_by_claim(
    patch: Patch, asked: Sequence[AskedItem], before: Mapping[str, str]
) -> SplitPatch:
    """Keep what belongs to items called fixed. `before` has the texts that the patch is against.

    What an agent contests it has not changed: changes near such an item are for others.
    """
    asked = [each for each in asked if not _is_contested(each)]
    others = [each for each in asked if not each.fixed]
    if not others or len(others) == len(asked):
        return SplitPatch(patch)
    maps = {path: _LineMap(path, before[path]) for path in patch.paths if path in before}
    changes: list[Splice | FileChange] = [*patch.splices, *patch.files]
    owners = {change: _find_owner(change, asked, maps) for change in changes}
    theirs = {n for owner in owners.values() if owner.side in _NOT_FIXED for n in owner.items}
    sides = {owner.side for owner in owners.values()}
    if not sides & _NOT_FIXED:
        return SplitPatch(patch)
    if sides & {_Side.BOTH, _Side.FAR}:
        numbers = {each.number for each in others}
        return SplitPatch(Patch(), unclear=tuple(sorted(theirs & numbers)))
    kept = _select(patch, [change for change, own in owners.items() if own.side is _Side.FIXED])
    dropped = {
        number: _select(patch, [each for each, own in owners.items() if number in own.items])
        for number in sorted(theirs)
    }
    return SplitPatch(kept, dropped)


_NOT_FIXED = frozenset({_Side.OTHER, _Side.BOTH})


def find_nearest(splice: Splice, asked: Iterable[AskedItem], text: str) -> int | None:
    """Return the item of the same file whose finding is nearest to the change, or None."""
    lines = _LineMap(splice.path, text).lines_of(splice)
    gaps = {each.number: _gap(lines, each.spot) for each in asked if each.spot.path == splice.path}
    return min(gaps, key=lambda number: (gaps[number], number), default=None)


def _is_contested(item: AskedItem) -> bool:
    return item.claim is not None and item.claim.outcome is ClaimOutcome.CONTESTED


def _select(patch: Patch, wanted: Sequence[Splice | FileChange]) -> Patch:
    return Patch(
        tuple(splice for splice in patch.splices if splice in wanted),
        tuple(change for change in patch.files if change in wanted),
    )


def _find_owner(
    change: Splice | FileChange, asked: Sequence[AskedItem], maps: Mapping[str, "_LineMap"]
) -> _Owner:
    here = [each for each in asked if each.spot.path == change.path]
    map_ = maps.get(change.path)
    if isinstance(change, FileChange) or map_ is None or not here:
        return _side_of([each for each in asked if change.path in each.named] or here)
    if any(each.spot.line is None for each in here):  # such a finding may be about any line
        return _side_of(here)
    lines = map_.lines_of(change)
    gaps = {each.number: map_.gap(lines, each.spot) for each in here}
    nearest = min(gaps.values())
    if nearest > _NEAR:
        return _Owner(_Side.FAR)
    return _side_of([each for each in here if gaps[each.number] == nearest])


def _side_of(owners: Sequence[AskedItem]) -> _Owner:
    fixed = [each for each in owners if each.fixed]
    others = [each for each in owners if not each.fixed]
    blocked = [each for each in others if each.claim is not None and _is_blocked(each.claim)]
    if fixed and others and len(blocked) < len(others):
        return _Owner(_Side.BOTH, tuple(each.number for each in others))
    if fixed:
        return _Owner(_Side.FIXED, tuple(each.number for each in fixed))
    return _Owner(_Side.OTHER if others else _Side.FAR, tuple(each.number for each in others))


def _is_blocked(claim: ItemClaim) -> bool:
    return claim.outcome is ClaimOutcome.BLOCKED


def _gap(lines: tuple[int, int], spot: Spot) -> int:
    """Return how many lines are between a change and a finding; 0 if they touch the same line."""
    first, last = spot.line_range
    return max(0, first - lines[1], lines[0] - last)


class _LineMap:
    """Line numbers of a text, and for Python the functions that the lines are in."""

    def __init__(self, path: str, text: str) -> None:
        self._starts = list(accumulate(map(len, text.splitlines(keepends=True)), initial=0))
        tree = parse_python(text) if path.endswith((".py", ".pyi")) else None
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        functions = [node for node in ast.walk(tree) if isinstance(node, kinds)] if tree else []
        self._functions = [(node.lineno, node.end_lineno or node.lineno) for node in functions]

    def lines_of(self, splice: Splice) -> tuple[int, int]:
        """Return the first and the last line that the change replaces, counted from 1."""
        first = bisect_right(self._starts, splice.start)
        last = bisect_right(self._starts, max(splice.start, splice.end - 1))
        return first, max(first, last)

    def gap(self, lines: tuple[int, int], spot: Spot) -> int:
        """Return the lines between a change and a finding: in the same function at most `_NEAR`,
        across the bounds of a function more, unless they touch.
        """
        gap = _gap(lines, spot)
        own, its = self._function_at(lines[0]), self._function_at(spot.line_range[0])
        if own == its:
            return gap if own is None else min(gap, _NEAR)
        return gap if gap <= 1 else gap + _NEAR + 1

    def _function_at(self, line: int) -> tuple[int, int] | None:
        """Return the innermost function that the line is in."""
        around = [span for span in self._functions if span[0] <= line <= span[1]]
        return min(around, key=lambda span: span[1] - span[0], default=None)
