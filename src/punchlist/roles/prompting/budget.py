"""How much of what goes into a prompt: sections with shares, pieces in the order of their worth,
and the names of the rest.
"""

from collections.abc import Sequence

from msgspec import Struct

_SEPARATOR = "\n\n"


class Piece(Struct, frozen=True):
    """A text that goes in as a whole; `name` says what is missing where it does not."""

    name: str
    text: str


class Section(Struct, frozen=True):
    """Pieces, the most worthy first. `share` is what the section has for sure; what others leave
    goes to the first ones first.
    """

    name: str
    pieces: tuple[Piece, ...]
    share: float

    @property
    def size(self) -> int:
        return sum(len(piece.text) + len(_SEPARATOR) for piece in self.pieces)


class Filled(Struct, frozen=True):
    name: str
    text: str
    shown: tuple[str, ...]
    left: tuple[str, ...]


def filled(sections: Sequence[Section], room: int) -> dict[str, Filled]:
    """Every section with as many of its pieces as fit; all of them together are no longer than the
    room.
    """
    room = max(room, 0)
    given = [min(section.size, int(section.share * room)) for section in sections]
    spare = room - sum(given)
    for at, section in enumerate(sections):
        more = min(section.size - given[at], max(spare, 0))
        given[at] += more
        spare -= more
    return {
        section.name: _fill(section, room) for section, room in zip(sections, given, strict=True)
    }


def _fill(section: Section, room: int) -> Filled:
    """Pieces as long as they fit; a small one may come in after a big one that did not."""
    shown: list[Piece] = []
    left: list[str] = []
    for piece in section.pieces:
        size = len(piece.text) + len(_SEPARATOR)
        if size <= room:
            room -= size
            shown.append(piece)
        else:
            left.append(piece.name)
    return Filled(
        section.name,
        _SEPARATOR.join(piece.text for piece in shown),
        tuple(piece.name for piece in shown),
        tuple(left),
    )
