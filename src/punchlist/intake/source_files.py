"""The files of a tree as reports point into them, each read and parsed once."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from punchlist.intake.raw_finding import Note
from punchlist.model.dedup.identity import Source
from punchlist.model.finding.finding import Context, Finding, Fix, Safety, Splice, Spot
from punchlist.model.finding.paths import OUTSIDE, normal_path
from punchlist.model.patch.patch import overlapping
from punchlist.model.patch.text_positions import Positions

UNTRACKED = "is not a file that git tracks here"
NO_SUCH_LINE = "names a line that the file does not have"
LOST_FIX = "its fix points outside the file and was left out"
TORN_FIX = "its fix changes the same characters twice and was left out"

_SHOWN = 6
_WIDEST = 200

_ODD = re.compile("[\udc80-\udcff]")


class Files(Protocol):
    """What is asked of a tree."""

    @property
    def root(self) -> Path: ...

    def text(self, path: str) -> str | None: ...

    def files(self) -> Sequence[str]: ...


class Sources:
    """What a parser may ask about the tree under review."""

    def __init__(self, tree: Files) -> None:
        self._tree = tree
        self._roots = tuple(dict.fromkeys((str(tree.root), str(tree.root.resolve()))))
        self._files = frozenset(tree.files())
        # Tools that speak Unicode only write names of other bytes with replacement characters.
        self._lossy = _lossy(self._files)
        self._paths: dict[str, tuple[str, str]] = {}
        self._positions: dict[str, Positions | None] = {}
        self._sources: dict[str, Source | None] = {}

    def path(self, raw: str) -> tuple[str, str]:
        """The tracked file a reported name means, and what is odd about it."""
        if raw not in self._paths:
            self._paths[raw] = self._resolved(raw)
        return self._paths[raw]

    def _resolved(self, raw: str) -> tuple[str, str]:
        answers = [
            normal_path(raw, root, literal=literal)
            for literal in (True, False)
            for root in self._roots
        ]
        for path, _ in answers:
            known = path if path in self._files else self._lossy.get(path)
            if known is not None:
                return known, ""
        path, mark = next(
            ((path, mark) for path, mark in reversed(answers) if mark != OUTSIDE), answers[-1]
        )
        return path, mark or UNTRACKED

    def tracked(self, raw: str) -> str:
        """The file a reported name means; empty where it means none."""
        path, mark = self.path(raw)
        return "" if mark else path

    def told(self, line: str) -> str:
        """The file that a line of the form `name: what is wrong` is about; a name may have colons
        itself.
        """
        parts = line.split(":")
        names = (":".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((path for path in map(self.tracked, names) if path), "")

    def positions(self, path: str) -> Positions | None:
        """Of a path as `path` gave it; None where there is no such file."""
        if path not in self._positions:
            text = self._tree.text(path) if path in self._files else None
            self._positions[path] = None if text is None else Positions(text)
        return self._positions[path]

    def positions_of(self, raw: str) -> Positions | None:
        return self.positions(self.path(raw)[0])

    def splice(self, raw: str, start: int | None, end: int | None, text: str) -> Splice | None:
        """A replacement in a reported file; None where it does not fit into that file."""
        path, mark = self.path(raw)
        positions = self.positions(path)
        if (
            mark
            or positions is None
            or start is None
            or end is None
            or not 0 <= start <= end <= len(positions.text)
        ):
            return None
        return Splice(path, start, end, text)

    def finding(self, tool: str, number: int, note: Note) -> Finding:
        """The note as a finding with its place in the tree; nothing odd about it drops it."""
        path, mark = self.path(note.path)
        spot, misplaced = self._spot(path, note)
        return Finding(
            id=f"{tool}:{number}",
            source=tool,
            title=note.title,
            spot=spot,
            severity=note.severity,
            rule=note.rule,
            label=note.label,
            detail=note.detail,
            category=note.category,
            suggestion=note.suggestion,
            url=note.url,
            severity_word=note.severity_word,
            fix=note.fix,
            context=self._context(spot, note.title),
            code=self._code(spot),
            marks=tuple(word for word in (*note.marks, mark, misplaced) if word),
        )

    def _spot(self, path: str, note: Note) -> tuple[Spot, str]:
        if note.line is None or note.line < 1:
            return Spot(path), ""
        end = note.end_line if note.end_line is not None and note.end_line >= note.line else None
        spot = Spot(path, note.line, end, _counted(note.column), _counted(note.end_column))
        positions = self.positions(path)
        missing = positions is not None and positions.offset(note.line, 1) is None
        return spot, NO_SUCH_LINE if missing else ""

    def _code(self, spot: Spot) -> str:
        positions = self.positions(spot.path)
        if positions is None or spot.line is None:
            return ""
        first, last = (
            max(1, spot.line - 1),
            min(spot.last_line or spot.line, spot.line + _SHOWN) + 1,
        )
        return "\n".join(line[:_WIDEST] for line in positions.lines(first, last))

    def _context(self, spot: Spot, claim: str) -> Context:
        path = spot.path
        if path not in self._sources:
            positions = self.positions(path)
            self._sources[path] = None if positions is None else Source(path, positions.text)
        source = self._sources[path]
        return Context() if source is None else source.context(spot, claim)


def proposed(
    splices: Sequence[Splice | None], safety: Safety, title: str = ""
) -> tuple[Fix | None, tuple[str, ...]]:
    """A fix of the splices, and a mark instead where one of them does not fit: half a fix is none,
    and so are two at odds.
    """
    whole = tuple(splice for splice in splices if splice is not None)
    if len(whole) < len(splices):
        return None, (LOST_FIX,)
    if overlapping(whole):
        return None, (TORN_FIX,)
    return (Fix(whole, safety, title), ()) if whole else (None, ())


def _counted(number: int | None) -> int | None:
    return number if number is not None and number >= 1 else None


def _lossy(files: Iterable[str]) -> dict[str, str]:
    """File names by what is left of them where odd bytes were replaced; what is left of two files
    names neither.
    """
    meant: dict[str, set[str]] = {}
    for path in files:
        if not path.isascii():
            together = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            for name in (together, _ODD.sub("\ufffd", path)):
                meant.setdefault(name, set()).add(path)
    return {name: paths.pop() for name, paths in meant.items() if len(paths) == 1}
