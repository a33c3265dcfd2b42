"""Add what a formatter changes in the common result of several patches to the patches."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import Patch, apply_splices, has_overlap, splices_between


class _Piece(Struct, frozen=True):
    """A splice, whose it is, and where its text is in the patched file."""

    start: int
    end: int
    splice: Splice
    owner: int

    def overlaps(self, edit: Splice) -> bool:
        return self.start < edit.end and self.end > edit.start


class _Cluster(Struct, frozen=True):
    """Edits, and the pieces that they change."""

    edits: tuple[Splice, ...]
    pieces: tuple[_Piece, ...]

    @property
    def owners(self) -> set[int]:
        return {piece.owner for piece in self.pieces}

    @property
    def span(self) -> tuple[int, int]:
        ends = [(edit.start, edit.end) for edit in self.edits]
        ends += [(piece.start, piece.end) for piece in self.pieces]
        return min(start for start, _ in ends), max(end for _, end in ends)


def adopt_edits(
    path: str, before: str, patches: Mapping[int, Patch], after: str
) -> dict[int, Patch]:
    """Return the patches of a file that take over what turns their common result into `after`.

    An edit goes to the patch whose text it changes, else to the nearest; one that changes the text
    of several is left out.
    """
    pieces = _place_pieces(path, patches)
    text = apply_splices(before, [piece.splice for piece in pieces])
    gone: set[Splice] = set()
    added: dict[int, list[Splice]] = {}
    for cluster in _cluster_edits(list(splices_between(path, text, after)), pieces):
        if len(cluster.owners) > 1:
            continue
        owner = next(iter(cluster.owners), None) or _find_nearest(cluster, pieces).owner
        gone |= {piece.splice for piece in cluster.pieces}
        added.setdefault(owner, []).append(_merge(cluster, path, text, pieces))
    changed = {
        number: replace(
            patches[number],
            splices=(*(each for each in patches[number].splices if each not in gone), *new),
        )
        for number, new in added.items()
    }
    spliced = [s for p in {**patches, **changed}.values() for s in p.splices if s.path == path]
    return {} if has_overlap(spliced) else changed


def _place_pieces(path: str, patches: Mapping[int, Patch]) -> list[_Piece]:
    owned = [
        (splice, number)
        for number, patch in patches.items()
        for splice in patch.splices
        if splice.path == path
    ]
    pieces: list[_Piece] = []
    moved = 0
    for splice, owner in sorted(owned, key=lambda pair: (pair[0].start, pair[0].end)):
        start = splice.start + moved
        pieces.append(_Piece(start, start + len(splice.text), splice, owner))
        moved += len(splice.text) - (splice.end - splice.start)
    return pieces


def _cluster_edits(edits: Sequence[Splice], pieces: Sequence[_Piece]) -> list[_Cluster]:
    clusters: list[_Cluster] = []
    for edit in edits:
        near = tuple(piece for piece in pieces if piece.overlaps(edit))
        last = clusters[-1] if clusters else _Cluster((), ())
        if set(near) & set(last.pieces):
            joined = tuple(dict.fromkeys((*last.pieces, *near)))
            clusters[-1] = _Cluster((*last.edits, edit), joined)
        else:
            clusters.append(_Cluster((edit,), near))
    return clusters


def _find_nearest(cluster: _Cluster, pieces: Sequence[_Piece]) -> _Piece:
    start, end = cluster.span
    return min(pieces, key=lambda piece: max(piece.start - end, start - piece.end, 0))


def _merge(cluster: _Cluster, path: str, text: str, pieces: Sequence[_Piece]) -> Splice:
    """Return the edits and the pieces that they change as one splice of the original."""
    start, end = cluster.span
    moved = [replace(e, start=e.start - start, end=e.end - start) for e in cluster.edits]
    shift = [len(p.splice.text) - (p.splice.end - p.splice.start) for p in pieces]
    before = sum(by for by, piece in zip(shift, pieces, strict=True) if piece.end <= start)
    until = sum(by for by, piece in zip(shift, pieces, strict=True) if piece.start < end)
    first = start - before
    last = end - until if end > start else first
    return Splice(path, first, last, apply_splices(text[start:end], moved))
