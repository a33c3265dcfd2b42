"""Size budget of a prompt: sections with shares, pieces by priority, names of what is cut."""

from collections.abc import Sequence

from msgspec import Struct

_SEPARATOR = "\n\n"


class PromptPiece(Struct, frozen=True):
    """A text that is included whole or not at all; `name` is for the list of what is missing."""

    name: str
    text: str


class Section(Struct, frozen=True):
    """Pieces, most important first. `share` of the room is guaranteed; spare room goes to earlier
    sections first.
    """

    name: str
    pieces: tuple[PromptPiece, ...]
    share: float

    @property
    def size(self) -> int:
        return sum(len(piece.text) + len(_SEPARATOR) for piece in self.pieces)


class FilledSection(Struct, frozen=True):
    name: str
    text: str
    shown: tuple[str, ...]
    left: tuple[str, ...]


def fill_sections(sections: Sequence[Section], room: int) -> dict[str, FilledSection]:
    """Fill every section with the pieces that fit; together they are at most `room` characters."""
    room = max(room, 0)
    given = [min(section.size, int(section.share * room)) for section in sections]
    spare = room - sum(given)
    for at, section in enumerate(sections):
        more = min(section.size - given[at], max(spare, 0))
        given[at] += more
        spare -= more
    return {
        section.name: _fill_section(section, room)
        for section, room in zip(sections, given, strict=True)
    }


def _fill_section(section: Section, room: int) -> FilledSection:
    """Include pieces while they fit; a small one may follow a big one that did not."""
    shown: list[PromptPiece] = []
    left: list[str] = []
    for piece in section.pieces:
        size = len(piece.text) + len(_SEPARATOR)
        if size <= room:
            room -= size
            shown.append(piece)
        else:
            left.append(piece.name)
    return FilledSection(
        section.name,
        _SEPARATOR.join(piece.text for piece in shown),
        tuple(piece.name for piece in shown),
        tuple(left),
    )
