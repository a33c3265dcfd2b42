"""The files of a tree that reports point into, each read and parsed once."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from punchlist.intake.raw_finding import RawFinding
from punchlist.model.dedup.identity import Source
from punchlist.model.finding.finding import Context, Finding, Fix, Safety, Splice, Spot
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.paths import OUTSIDE, normalize_path
from punchlist.model.patch.patch import has_overlap
from punchlist.model.patch.text_positions import Positions

UNTRACKED = "is not a file that git tracks here"
NO_SUCH_LINE = "names a line that the file does not have"
LOST_FIX = "its fix points outside the file and was left out"
TORN_FIX = "its fix changes the same characters twice and was left out"

_SHOWN = 6
_WIDEST = 200

_ODD = late_pattern("[\udc80-\udcff]")


class Files(Protocol):
    """The part of a tree that is needed here."""

    @property
    def root(self) -> Path: ...

    def text(self, path: str) -> str | None: ...

    def files(self) -> Sequence[str]: ...


class Sources:
    """Looks up paths and positions for parsers in the tree under review."""

    def __init__(self, tree: Files) -> None:
        self._tree = tree
        self._roots = tuple(dict.fromkeys((str(tree.root), str(tree.root.resolve()))))
        self._files = frozenset(tree.files())
        # Tools that speak Unicode only write names of other bytes with replacement characters.
        self._lossy = _lossy_names(self._files)
        self._paths: dict[str, tuple[str, str]] = {}
        self._positions: dict[str, Positions | None] = {}
        self._sources: dict[str, Source | None] = {}

    def resolve_path(self, raw: str) -> tuple[str, str]:
        """Return the tracked file a reported name means, and what is odd about it."""
        if raw not in self._paths:
            self._paths[raw] = self._find_path(raw)
        return self._paths[raw]

    def _find_path(self, raw: str) -> tuple[str, str]:
        answers = [
            normalize_path(raw, root, literal=literal)
            for literal in (True, False)
            for root in self._roots
        ]
        for path, _ in answers:
            known = path if path in self._files else self._lossy.get(path)
            if known is not None:
                return known, ""
        inside = [answer for answer in answers if answer[1] != OUTSIDE]
        path, mark = (inside or answers)[-1]
        return path, mark or UNTRACKED

    def tracked_path(self, raw: str) -> str:
        """Return the tracked file a reported name means, or ""."""
        path, mark = self.resolve_path(raw)
        return "" if mark else path

    def quoted_path(self, quoted: str) -> str:
        """Return the tracked file whose name is given as a Python literal, or ""."""
        if "\\" not in quoted:
            return self.tracked_path(quoted[1:-1])
        return next((path for path in self._files if repr(f"./{path}") == quoted), "")

    def has_line_breaks(self) -> bool:
        """Return whether the name of a tracked file could forge a line of a list of files."""
        return any(len(path.splitlines()) > 1 for path in self._files)

    def parse_path(self, line: str) -> str:
        """Return the file that a line `name: message` is about, or ""; names may have colons."""
        parts = line.split(":")
        names = (":".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((path for path in map(self.tracked_path, names) if path), "")

    def positions(self, path: str) -> Positions | None:
        """Return the positions of a resolved path, or None if there is no such file."""
        if path not in self._positions:
            text = self._tree.text(path) if path in self._files else None
            self._positions[path] = None if text is None else Positions(text)
        return self._positions[path]

    def reported_positions(self, raw: str) -> Positions | None:
        return self.positions(self.resolve_path(raw)[0])

    def make_splice(self, raw: str, start: int | None, end: int | None, text: str) -> Splice | None:
        """Return a replacement in a reported file, or None if it does not fit."""
        path, mark = self.resolve_path(raw)
        positions = self.positions(path)
        if mark or positions is None or start is None or end is None:
            return None
        fits = 0 <= start <= end <= len(positions.text)
        return Splice(path, start, end, text) if fits else None

    def make_finding(self, tool: str, number: int, note: RawFinding) -> Finding:
        """Return the note as a finding located in the tree; odd ones are marked, not dropped."""
        path, mark = self.resolve_path(note.path)
        spot, misplaced = self._make_spot(path, note)
        return Finding(
            id=f"{tool}:{number}",
            source=tool,
            title=note.title,
            spot=spot,
            severity=note.severity,
            rule=note.rule,
            label=note.label,
            detail=note.detail,
            impact=note.impact,
            category=note.category,
            suggestion=note.suggestion,
            url=note.url,
            issue_code=note.issue_code,
            severity_word=note.severity_word,
            fix=note.fix,
            context=self._find_context(spot, note.title),
            code=self._code_excerpt(spot),
            marks=tuple(word for word in (*note.marks, mark, misplaced) if word),
        )

    def _make_spot(self, path: str, note: RawFinding) -> tuple[Spot, str]:
        if note.line is None or note.line < 1:
            return Spot(path), ""
        end = note.end_line if note.end_line is not None and note.end_line >= note.line else None
        column, end_column = _check_column(note.column), _check_column(note.end_column)
        spot = Spot(path, note.line, end, column, end_column)
        positions = self.positions(path)
        missing = positions is not None and positions.offset(note.line, 1) is None
        return spot, NO_SUCH_LINE if missing else ""

    def _code_excerpt(self, spot: Spot) -> str:
        positions = self.positions(spot.path)
        if positions is None or spot.line is None:
            return ""
        last = min(spot.last_line or spot.line, spot.line + _SHOWN)
        lines = positions.lines(max(1, spot.line - 1), last + 1)
        return "\n".join(line[:_WIDEST] for line in lines)

    def _find_context(self, spot: Spot, claim: str) -> Context:
        path = spot.path
        if path not in self._sources:
            positions = self.positions(path)
            self._sources[path] = None if positions is None else _open_source(path, positions.text)
        source = self._sources[path]
        return Context() if source is None else source.context_at(spot, claim)


@lru_cache(maxsize=8)
def _open_source(path: str, text: str) -> Source:
    """Return the file, the same one for reports of several tools on it."""
    return Source(path, text)


def make_fix(
    splices: Sequence[Splice | None], safety: Safety, title: str = ""
) -> tuple[Fix | None, tuple[str, ...]]:
    """Return a fix of the splices, or None and a mark if one does not fit or two overlap."""
    whole = tuple(splice for splice in splices if splice is not None)
    if len(whole) < len(splices):
        return None, (LOST_FIX,)
    if has_overlap(whole):
        return None, (TORN_FIX,)
    return (Fix(whole, safety, title), ()) if whole else (None, ())


def _check_column(number: int | None) -> int | None:
    return number if number is not None and number >= 1 else None


def _lossy_names(files: Iterable[str]) -> dict[str, str]:
    """Map names with replaced odd bytes to their files; ambiguous names are left out."""
    meant: dict[str, set[str]] = {}
    for path in files:
        if not path.isascii():
            together = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            for name in (together, _ODD.sub("\ufffd", path)):
                meant.setdefault(name, set()).add(path)
    return {name: paths.pop() for name, paths in meant.items() if len(paths) == 1}
