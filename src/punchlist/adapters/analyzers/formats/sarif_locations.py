"""Locations in SARIF: URIs below another machine's bases, regions in lines or characters, and
fixes.
"""

from collections.abc import Sequence
from posixpath import join
from urllib.parse import urlsplit

from msgspec import Struct

from punchlist.adapters.formats.sarif import (
    ArtifactLocation,
    PhysicalLocation,
    Region,
    SarifFix,
    SarifLocation,
    SarifReplacement,
    SarifResult,
    SarifRun,
)
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding import finding as model
from punchlist.model.patch.text_positions import UTF16, Positions

_DEEPEST = 10
"""Bases may stand on bases; a circle of them is a mistake of the report."""
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

    def __init__(self, run: SarifRun, sources: Sources) -> None:
        self._sources = sources
        self._bases = run.original_uri_base_ids or {}
        self._artifacts = run.artifacts or []
        self._utf16 = run.column_kind == "utf16CodeUnits"
        self._paths: dict[ArtifactLocation, str] = {}

    def locate(self, result: SarifResult) -> tuple[SarifSpot, list[str]]:
        """Return the result's first place, and the others as texts."""
        places = [
            place for location in result.locations or () if (place := location.physical_location)
        ]
        spots = [self._make_spot(place) for place in places]
        elsewhere = [
            f"{spot.path}:{spot.line}" if spot.line else spot.path for spot in spots[1 : _SHOWN + 1]
        ]
        more = len(spots) - 1 - _SHOWN
        return (spots[0] if spots else SarifSpot()), [
            *elsewhere,
            *([f"{more} more places"] if more > 0 else []),
        ]

    def list_files(self, locations: Sequence[SarifLocation]) -> list[str]:
        """Return the tracked files at the locations; '' if none is named."""
        named = [
            place.artifact_location
            for location in locations
            if (place := location.physical_location)
        ]
        return [
            self._sources.tracked_path(self._find_path(each or ArtifactLocation()))
            for each in named
        ] or [""]

    def find_fix(self, result: SarifResult) -> tuple[model.Fix | None, tuple[str, ...]]:
        """Return the first fix that is a plain text replacement and fits, or a mark why not."""
        lost: tuple[str, ...] = ()
        for fix in result.fixes or ():
            found, lost = self._make_fix(fix)
            if found:
                return found, ()
        return None, lost

    def _make_fix(self, fix: SarifFix) -> tuple[model.Fix | None, tuple[str, ...]]:
        splices: list[model.Splice | None] = []
        for change in fix.artifact_changes:
            path = self._find_path(change.artifact_location)
            for replacement in change.replacements:
                if replacement.inserted_content and replacement.inserted_content.text is None:
                    return None, (_NOT_TEXT,)
                splices.append(self._make_splice(path, replacement))
        title = fix.description.text if fix.description else None
        return make_fix(splices, model.Safety.UNSAFE, title or "")

    def _make_splice(self, path: str, replacement: SarifReplacement) -> model.Splice | None:
        positions = self._sources.reported_positions(path)
        if positions is None:
            return None
        start, end = self._find_span(positions, replacement.deleted_region)
        content = replacement.inserted_content
        return self._sources.make_splice(
            path, start, end, (content.text if content else None) or ""
        )

    def _find_span(self, positions: Positions, region: Region) -> tuple[int | None, int | None]:
        if region.start_line is None:
            if region.char_offset is None:
                return None, None
            return self._char_offset(positions, region.char_offset), self._char_offset(
                positions, region.char_offset + (region.char_length or 0)
            )
        start = positions.offset(
            region.start_line,
            self._char_column(positions, region.start_line, region.start_column) or 1,
        )
        last = region.end_line or region.start_line
        if region.end_column is None:
            return start, positions.line_end(last)
        return start, positions.offset(
            last, self._char_column(positions, last, region.end_column) or 1
        )

    def _char_offset(self, positions: Positions, offset: int) -> int | None:
        return positions.convert_offset(offset, UTF16) if self._utf16 else offset

    def _char_column(self, positions: Positions, line: int, column: int | None) -> int | None:
        if column is None or column < 1 or not self._utf16:
            return column
        return positions.convert_column(line, column - 1, UTF16)

    def _make_spot(self, place: PhysicalLocation) -> SarifSpot:
        path = self._find_path(place.artifact_location or ArtifactLocation())
        region = place.region or Region()
        positions = self._sources.reported_positions(path)
        if region.start_line is None or region.start_line < 1:
            line = None
            if (
                positions
                and region.char_offset is not None
                and 0 <= region.char_offset <= len(positions.text)
            ):
                line, _ = positions.find_place(
                    self._char_offset(positions, region.char_offset) or 0
                )
            return SarifSpot(path, line)
        last = region.end_line or region.start_line
        if positions is None:
            return SarifSpot(
                path, region.start_line, region.end_line, region.start_column, region.end_column
            )
        column = self._char_column(positions, region.start_line, region.start_column)
        return SarifSpot(
            path,
            region.start_line,
            region.end_line,
            column,
            self._char_column(positions, last, region.end_column),
        )

    def _find_path(self, location: ArtifactLocation) -> str:
        if location not in self._paths:
            self._paths[location] = self._match_path(location)
        return self._paths[location]

    def _match_path(self, location: ArtifactLocation) -> str:
        """Return the first reading of the location that is a file of the tree, else as reported."""
        if (
            location.uri is None
            and location.index is not None
            and 0 <= location.index < len(self._artifacts)
        ):
            location = self._artifacts[location.index].location or ArtifactLocation()
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
        bases = [
            base.uri for base in self._bases.values() if base.uri and urlsplit(base.uri).scheme
        ]
        return [
            uri[len(base) :].lstrip("/")
            for base in bases
            if uri.startswith(base.rstrip("/") + "/") and len(uri) > len(base)
        ]
