"""Where SARIF results are: URIs below bases of some other machine, regions in lines or characters,
and fixes made of them.
"""

from collections.abc import Sequence
from posixpath import join
from urllib.parse import urlsplit

from msgspec import Struct

from punchlist.adapters.formats.sarif import (
    ArtifactLocation,
    Fix,
    Location,
    PhysicalLocation,
    Region,
    Replacement,
    Result,
    Run,
)
from punchlist.intake.source_files import Sources, proposed
from punchlist.model.finding import finding as model
from punchlist.model.patch.text_positions import UTF16, Positions

_DEEPEST = 10
"""Bases may stand on bases; a circle of them is a mistake of the report."""
_NOT_TEXT = "its fix is not a plain replacement of text and was left out"
_SHOWN = 5


class Spot(Struct, frozen=True):
    path: str = ""
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


class Places:
    """The places of one run's results, held against the tree."""

    def __init__(self, run: Run, sources: Sources) -> None:
        self._sources = sources
        self._bases = run.original_uri_base_ids or {}
        self._artifacts = run.artifacts or []
        self._utf16 = run.column_kind == "utf16CodeUnits"
        self._paths: dict[ArtifactLocation, str] = {}

    def of(self, result: Result) -> tuple[Spot, list[str]]:
        """Where it is, and the other places it names."""
        places = [
            place for location in result.locations or () if (place := location.physical_location)
        ]
        spots = [self._spot(place) for place in places]
        elsewhere = [
            f"{spot.path}:{spot.line}" if spot.line else spot.path for spot in spots[1 : _SHOWN + 1]
        ]
        more = len(spots) - 1 - _SHOWN
        return (spots[0] if spots else Spot()), [
            *elsewhere,
            *([f"{more} more places"] if more > 0 else []),
        ]

    def files(self, locations: Sequence[Location]) -> list[str]:
        """The files of the tree that are named; an empty name for what names none."""
        named = [
            place.artifact_location
            for location in locations
            if (place := location.physical_location)
        ]
        return [
            self._sources.tracked(self._path(each or ArtifactLocation())) for each in named
        ] or [""]

    def fix(self, result: Result) -> tuple[model.Fix | None, tuple[str, ...]]:
        """The first of its fixes that is a plain replacement of text and fits; a mark where there
        is none such.
        """
        lost: tuple[str, ...] = ()
        for fix in result.fixes or ():
            found, lost = self._fix(fix)
            if found:
                return found, ()
        return None, lost

    def _fix(self, fix: Fix) -> tuple[model.Fix | None, tuple[str, ...]]:
        splices: list[model.Splice | None] = []
        for change in fix.artifact_changes:
            path = self._path(change.artifact_location)
            for replacement in change.replacements:
                if replacement.inserted_content and replacement.inserted_content.text is None:
                    return None, (_NOT_TEXT,)
                splices.append(self._splice(path, replacement))
        title = fix.description.text if fix.description else None
        return proposed(splices, model.Safety.UNSAFE, title or "")

    def _splice(self, path: str, replacement: Replacement) -> model.Splice | None:
        positions = self._sources.positions_of(path)
        if positions is None:
            return None
        start, end = self._span(positions, replacement.deleted_region)
        content = replacement.inserted_content
        return self._sources.splice(path, start, end, (content.text if content else None) or "")

    def _span(self, positions: Positions, region: Region) -> tuple[int | None, int | None]:
        if region.start_line is None:
            if region.char_offset is None:
                return None, None
            return self._char(positions, region.char_offset), self._char(
                positions, region.char_offset + (region.char_length or 0)
            )
        start = positions.offset(
            region.start_line, self._column(positions, region.start_line, region.start_column) or 1
        )
        last = region.end_line or region.start_line
        if region.end_column is None:
            return start, positions.line_end(last)
        return start, positions.offset(last, self._column(positions, last, region.end_column) or 1)

    def _char(self, positions: Positions, offset: int) -> int | None:
        return positions.of_units(offset, UTF16) if self._utf16 else offset

    def _column(self, positions: Positions, line: int, column: int | None) -> int | None:
        if column is None or column < 1 or not self._utf16:
            return column
        return positions.column(line, column - 1, UTF16)

    def _spot(self, place: PhysicalLocation) -> Spot:
        path = self._path(place.artifact_location or ArtifactLocation())
        region = place.region or Region()
        positions = self._sources.positions_of(path)
        if region.start_line is None or region.start_line < 1:
            line = None
            if (
                positions
                and region.char_offset is not None
                and 0 <= region.char_offset <= len(positions.text)
            ):
                line, _ = positions.place(self._char(positions, region.char_offset) or 0)
            return Spot(path, line)
        last = region.end_line or region.start_line
        if positions is None:
            return Spot(
                path, region.start_line, region.end_line, region.start_column, region.end_column
            )
        column = self._column(positions, region.start_line, region.start_column)
        return Spot(
            path,
            region.start_line,
            region.end_line,
            column,
            self._column(positions, last, region.end_column),
        )

    def _path(self, location: ArtifactLocation) -> str:
        if location not in self._paths:
            self._paths[location] = self._looked_up(location)
        return self._paths[location]

    def _looked_up(self, location: ArtifactLocation) -> str:
        """The name that means a file of the tree, if one of the ways to read it does; else as
        reported.
        """
        if (
            location.uri is None
            and location.index is not None
            and 0 <= location.index < len(self._artifacts)
        ):
            location = self._artifacts[location.index].location or ArtifactLocation()
        uri = location.uri or ""
        if not uri:
            return ""
        names = [*self._below_a_base(uri), self._resolved(location), uri]
        return next((path for path, odd in map(self._sources.path, names) if not odd), names[0])

    def _resolved(self, location: ArtifactLocation) -> str:
        """The URI with its bases before it."""
        uri, base = location.uri or "", location.uri_base_id
        for _ in range(_DEEPEST):
            known = self._bases.get(base) if base else None
            if known is None or not known.uri or urlsplit(uri).scheme:
                break
            uri, base = join(known.uri, uri), known.uri_base_id
        return uri

    def _below_a_base(self, uri: str) -> list[str]:
        """What remains of an absolute URI below a base: the report may come from a checkout on
        another machine.
        """
        bases = [
            base.uri for base in self._bases.values() if base.uri and urlsplit(base.uri).scheme
        ]
        return [
            uri[len(base) :].lstrip("/")
            for base in bases
            if uri.startswith(base.rstrip("/") + "/") and len(uri) > len(base)
        ]
