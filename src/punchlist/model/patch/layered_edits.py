"""Apply edits on top of the patches of one file, as splices of the original text."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import apply_splices


class _Piece(Struct, frozen=True):
    """A splice, its owner, and where its text is in the patched text."""

    start: int
    end: int
    splice: Splice
    owner: int

    def is_near(self, edit: Splice) -> bool:
        """Whether the edit changes or touches it."""
        return self.start <= edit.end and self.end >= edit.start


class LayeredEdits:
    """The splices of several owners on one text, and the text with them."""

    def __init__(self, before: str, owned: Mapping[int, Iterable[Splice]]) -> None:
        self._before = before
        self._pieces = _place_pieces(owned)
        self.text = apply_splices(before, [piece.splice for piece in self._pieces])

    def find_near(self, edits: Iterable[Splice]) -> set[int]:
        """Return the owners of what these edits of the patched text change or touch."""
        return {piece.owner for edit in edits for piece in self._pieces if piece.is_near(edit)}

    def stack(self, edits: Mapping[int, Sequence[Splice]]) -> dict[int, tuple[Splice, ...]]:
        """Return the splices by owner that also do these disjoint edits of the patched text. What
        an edit changes or touches must have its own owner.
        """
        left = list(self._pieces)
        found: dict[int, list[Splice]] = {}
        flat = [(edit, owner) for owner, each in edits.items() for edit in each]
        for group in _join_near(flat, left):
            pieces = [piece for piece in left if any(piece.is_near(edit) for edit, _ in group)]
            left = [piece for piece in left if piece not in pieces]
            joined = self._join(pieces, [edit for edit, _ in group])
            found.setdefault(group[0][1], []).append(joined)
        for piece in left:
            found.setdefault(piece.owner, []).append(piece.splice)
        return {owner: tuple(sorted(each, key=_by_place)) for owner, each in found.items()}

    def _join(self, pieces: Sequence[_Piece], edits: Sequence[Splice]) -> Splice:
        """Return the pieces and the edits on them as one splice of the original."""
        start = min([*(piece.start for piece in pieces), *(edit.start for edit in edits)])
        end = max([*(piece.end for piece in pieces), *(edit.end for edit in edits)])
        moved = [Splice(e.path, e.start - start, e.end - start, e.text) for e in edits]
        text = apply_splices(self.text[start:end], moved)
        inside = sum(_growth(piece) for piece in pieces)
        before = sum(_growth(each) for each in self._pieces if each.end <= start) - sum(
            _growth(each) for each in pieces if each.end <= start
        )
        first = start - before
        return Splice(edits[0].path, first, first + end - start - inside, text)


def _place_pieces(owned: Mapping[int, Iterable[Splice]]) -> list[_Piece]:
    pairs = [(splice, owner) for owner, splices in owned.items() for splice in splices]
    pieces: list[_Piece] = []
    moved = 0
    for splice, owner in sorted(pairs, key=lambda pair: _by_place(pair[0])):
        start = splice.start + moved
        pieces.append(_Piece(start, start + len(splice.text), splice, owner))
        moved += len(splice.text) - (splice.end - splice.start)
    return pieces


def _join_near(
    edits: Sequence[tuple[Splice, int]], pieces: Sequence[_Piece]
) -> list[list[tuple[Splice, int]]]:
    """Return the edits in groups: those that are near the same piece are one."""
    groups: list[tuple[list[tuple[Splice, int]], set[int]]] = []
    for edit, owner in sorted(edits, key=lambda pair: _by_place(pair[0])):
        near = {at for at, piece in enumerate(pieces) if piece.is_near(edit)}
        same = [group for group in groups if group[1] & near]
        groups = [group for group in groups if group not in same]
        members = [member for group in same for member in group[0]]
        groups.append(([*members, (edit, owner)], near.union(*(group[1] for group in same))))
    return [members for members, _ in groups]


def _growth(piece: _Piece) -> int:
    return len(piece.splice.text) - (piece.splice.end - piece.splice.start)


def _by_place(splice: Splice) -> tuple[int, int]:
    return (splice.start, splice.end)
