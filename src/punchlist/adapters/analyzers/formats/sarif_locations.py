"""Locations in SARIF: URIs below another machine's bases, regions in lines or characters, fixes."""

from collections.abc import Iterator, Sequence
from posixpath import join
from urllib.parse import urlsplit

from msgspec import Struct

from punchlist.adapters.formats import sarif
from punchlist.adapters.formats.sarif import ArtifactLocation
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding.finding import Fix, Safety, Splice
from punchlist.model.patch.text_positions import UTF16, Positions

_DEEPEST = 10
"""A base may name another base; a report may have a cycle of them."""
_NOT_TEXT = "its fix is not a plain replacement of text and was left out"
_SHOWN = 5


class SarifSpot(Struct, frozen=True):
    path: str = ""
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


class SarifPlaces:
    """Resolves the locations of one run against the tree."""

    def __init__(self, run: sarif.SarifRun, sources: Sources) -> None:
        self._sources = sources
        self._bases = run.original_uri_base_ids or {}
        self._artifacts = run.artifacts or []
        self._utf16 = run.column_kind == "utf16CodeUnits"
        self._paths: dict[ArtifactLocation, str] = {}

    def locate(self, result: sarif.SarifResult) -> tuple[SarifSpot, list[str]]:
        """Return the result's first place, and the others as texts."""
        spots = [self._make_spot(place) for place in _physical(result.locations or ())]
        if not spots:
            return SarifSpot(), []
        first, *others = spots
        elsewhere = [
            f"{spot.path}:{spot.line}" if spot.line else spot.path for spot in others[:_SHOWN]
        ]
        if len(others) > _SHOWN:
            elsewhere.append(f"{len(others) - _SHOWN} more places")
        return first, elsewhere

    def list_files(self, locations: Sequence[sarif.SarifLocation]) -> list[str]:
        """Return the tracked files at the locations; '' if none is named."""
        paths = [self._find_path(place.artifact_location) for place in _physical(locations)]
        return [self._sources.tracked_path(path) for path in paths] or [""]

    def find_fix(self, result: sarif.SarifResult) -> tuple[Fix | None, tuple[str, ...]]:
        """Return the first fix that is a plain text replacement and fits, or a mark why not."""
        lost: tuple[str, ...] = ()
        for fix in result.fixes or ():
            found, lost = self._make_fix(fix)
            if found:
                return found, ()
        return None, lost

    def _make_fix(self, fix: sarif.SarifFix) -> tuple[Fix | None, tuple[str, ...]]:
        splices: list[Splice | None] = []
        for change in fix.artifact_changes:
            path = self._find_path(change.artifact_location)
            for replacement in change.replacements:
                if replacement.inserted_content and replacement.inserted_content.text is None:
                    return None, (_NOT_TEXT,)
                splices.append(self._make_splice(path, replacement))
        title = fix.description.text if fix.description else None
        return make_fix(splices, Safety.UNSAFE, title or "")

    def _make_splice(self, path: str, replacement: sarif.SarifReplacement) -> Splice | None:
        positions = self._sources.reported_positions(path)
        if positions is None:
            return None
        start, end = self._find_span(positions, replacement.deleted_region)
        content = replacement.inserted_content
        text = content.text if content else None
        return self._sources.make_splice(path, start, end, text or "")

    def _find_span(
        self, positions: Positions, region: sarif.Region
    ) -> tuple[int | None, int | None]:
        if region.start_line is None:
            first = region.char_offset
            if first is None:
                return None, None
            end = first + (region.char_length or 0)
            return self._char_offset(positions, first), self._char_offset(positions, end)
        start = self._find_offset(positions, region.start_line, region.start_column)
        last = region.end_line or region.start_line
        if region.end_column is None:
            return start, positions.line_end(last)
        return start, self._find_offset(positions, last, region.end_column)

    def _find_offset(self, positions: Positions, line: int, column: int | None) -> int | None:
        return positions.offset(line, self._char_column(positions, line, column) or 1)

    def _char_offset(self, positions: Positions, offset: int) -> int | None:
        return positions.convert_offset(offset, UTF16) if self._utf16 else offset

    def _char_column(
        self, positions: Positions | None, line: int, column: int | None
    ) -> int | None:
        if positions is None or column is None or column < 1 or not self._utf16:
            return column
        return positions.convert_column(line, column - 1, UTF16)

    def _make_spot(self, place: sarif.PhysicalLocation) -> SarifSpot:
        path = self._find_path(place.artifact_location)
        region = place.region or sarif.Region()
        positions = self._sources.reported_positions(path)
        line, end_line = region.start_line, region.end_line
        if line is None or line < 1:
            return SarifSpot(path, self._find_line(positions, region.char_offset))
        column = self._char_column(positions, line, region.start_column)
        end_column = self._char_column(positions, end_line or line, region.end_column)
        return SarifSpot(path, line, end_line, column, end_column)

    def _find_line(self, positions: Positions | None, offset: int | None) -> int | None:
        if positions is None or offset is None or not 0 <= offset <= len(positions.text):
            return None
        return positions.find_place(self._char_offset(positions, offset) or 0)[0]

    def _find_path(self, location: ArtifactLocation | None) -> str:
        location = location or ArtifactLocation()
        if location not in self._paths:
            self._paths[location] = self._match_path(location)
        return self._paths[location]

    def _match_path(self, location: ArtifactLocation) -> str:
        """Return the first reading of the location that is a file of the tree, else as reported."""
        index = location.index
        if location.uri is None and index is not None and 0 <= index < len(self._artifacts):
            location = self._artifacts[index].location or ArtifactLocation()
        uri = location.uri or ""
        if not uri:
            return ""
        names = [*self._strip_bases(uri), self._resolve_uri(location), uri]
        return next(
            (path for path, odd in map(self._sources.resolve_path, names) if not odd), names[0]
        )

    def _resolve_uri(self, location: ArtifactLocation) -> str:
        """Return the URI joined with its bases."""
        uri, base = location.uri or "", location.uri_base_id
        for _ in range(_DEEPEST):
            known = self._bases.get(base) if base else None
            if known is None or not known.uri or urlsplit(uri).scheme:
                break
            uri, base = join(known.uri, uri), known.uri_base_id
        return uri

    def _strip_bases(self, uri: str) -> list[str]:
        """Return the parts of an absolute URI below each base: it may be of another machine."""
        bases = [base.uri or "" for base in self._bases.values()]
        return [
            uri[len(base) :].lstrip("/")
            for base in bases
            if urlsplit(base).scheme
            and uri.startswith(base.rstrip("/") + "/")
            and len(uri) > len(base)
        ]


def _physical(locations: Sequence[sarif.SarifLocation]) -> Iterator[sarif.PhysicalLocation]:
    return (place for location in locations if (place := location.physical_location))
