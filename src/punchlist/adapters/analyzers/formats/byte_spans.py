"""Spans that tools give as byte offsets, as lines, columns and splices."""

from msgspec import Struct

from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.text_positions import UTF8, Positions


class ByteSpan(Struct, frozen=True):
    start: int
    end: int


class SpanPlace(Struct, frozen=True):
    line: int
    column: int | None
    end_line: int
    end_column: int | None


def locate_span(sources: Sources, path: str, span: ByteSpan, lines: tuple[int, int]) -> SpanPlace:
    """Return where the span is; where the file does not have it, the reported `lines`."""
    positions = sources.reported_positions(path)
    return SpanPlace(
        *_locate_offset(positions, span.start, lines[0]),
        *_locate_offset(positions, span.end, lines[1]),
    )


def _locate_offset(positions: Positions | None, offset: int, line: int) -> tuple[int, int | None]:
    found = positions.convert_offset(offset, UTF8) if positions else None
    return positions.find_place(found) if positions and found is not None else (line, None)


def span_characters(sources: Sources, path: str, span: ByteSpan) -> tuple[int | None, int | None]:
    """Return the span in characters; None where the file does not have it."""
    positions = sources.reported_positions(path)
    if positions is None:
        return None, None
    return positions.convert_offset(span.start, UTF8), positions.convert_offset(span.end, UTF8)


def make_splice(sources: Sources, path: str, span: ByteSpan, text: str) -> Splice | None:
    return sources.make_splice(path, *span_characters(sources, path, span), text)
