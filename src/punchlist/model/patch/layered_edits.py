"""Apply edits on top of the patches of one file, as splices of the original text."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct

from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import apply_splices


class _Piece(Struct, frozen=True):
    """A splice, its owner, and where its text is in the patched text."""

    start: int
    end: int
    splice: Splice
    owner: int


class LayeredEdits:
    """The splices of several owners on one text, and the text with them."""

    def __init__(self, before: str, owned: Mapping[int, Iterable[Splice]]) -> None:
        self._pieces = _place_pieces(owned)
        self._starts = [piece.start for piece in self._pieces]
        self._ends = [piece.end for piece in self._pieces]
        self._grown = list(accumulate(map(_growth, self._pieces), initial=0))
        self.text = apply_splices(before, [piece.splice for piece in self._pieces])

    @property
    def owners(self) -> list[int]:
        """Those with edits here, in the order of their first ones."""
        return list(dict.fromkeys(piece.owner for piece in self._pieces))

    def find_near(self, edits: Iterable[Splice]) -> set[int]:
        """Return the owners of what these edits of the patched text change or touch."""
        near = (self._pieces[slice(*self._span_near(edit))] for edit in edits)
        return {piece.owner for pieces in near for piece in pieces}

    def stack(self, edits: Mapping[int, Sequence[Splice]]) -> dict[int, tuple[Splice, ...]]:
        """Return the splices by owner that also do these disjoint edits of the patched text. What
        an edit changes or touches must have its own owner.
        """
        groups: list[_Group] = []
        flat = [(edit, owner) for owner, each in edits.items() for edit in each]
        for edit, owner in sorted(flat, key=lambda pair: _by_place(pair[0])):
            first, last = self._span_near(edit)
            if groups and first < groups[-1].last:  # it is near a piece that the one before is near
                known = groups[-1]
                groups[-1] = _Group((*known.edits, edit), owner, known.first, max(last, known.last))
            else:
                groups.append(_Group((edit,), owner, first, last))
        found: dict[int, list[Splice]] = {}
        for group in groups:
            found.setdefault(group.owner, []).append(self._join(group))
        joined = {at for group in groups for at in range(group.first, group.last)}
        for at, piece in enumerate(self._pieces):
            if at not in joined:
                found.setdefault(piece.owner, []).append(piece.splice)
        return {owner: tuple(sorted(each, key=_by_place)) for owner, each in found.items()}

    def join_near(self, edit: Splice) -> Splice:
        """Return an edit of the patched text, with the pieces near it, as one of the original."""
        return self._join(_Group((edit,), 0, *self._span_near(edit)))

    def _span_near(self, edit: Splice) -> tuple[int, int]:
        """Return the places, in the list, of the pieces that an edit changes or touches."""
        first = bisect_left(self._ends, edit.start)
        return first, max(first, bisect_right(self._starts, edit.end))

    def _join(self, group: "_Group") -> Splice:
        """Return the pieces and the edits on them as one splice of the original."""
        pieces = self._pieces[group.first : group.last]
        start = min([*(piece.start for piece in pieces), *(edit.start for edit in group.edits)])
        end = max([*(piece.end for piece in pieces), *(edit.end for edit in group.edits)])
        moved = [Splice(e.path, e.start - start, e.end - start, e.text) for e in group.edits]
        text = apply_splices(self.text[start:end], moved)
        inside = self._grown[group.last] - self._grown[group.first]
        first = start - self._grown[group.first]
        return Splice(group.edits[0].path, first, first + end - start - inside, text)


class _Group(Struct, frozen=True):
    """Edits that are near the same pieces, the first of these and the one after the last."""

    edits: tuple[Splice, ...]
    owner: int
    first: int
    last: int


def _place_pieces(owned: Mapping[int, Iterable[Splice]]) -> list[_Piece]:
    pairs = [(splice, owner) for owner, splices in owned.items() for splice in splices]
    pieces: list[_Piece] = []
    moved = 0
    for splice, owner in sorted(pairs, key=lambda pair: _by_place(pair[0])):
        start = splice.start + moved
        pieces.append(_Piece(start, start + len(splice.text), splice, owner))
        moved += len(splice.text) - (splice.end - splice.start)
    return pieces


def _growth(piece: _Piece) -> int:
    return len(piece.splice.text) - (piece.splice.end - piece.splice.start)


def _by_place(splice: Splice) -> tuple[int, int]:
    return (splice.start, splice.end)
