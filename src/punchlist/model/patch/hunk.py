"""A change as hunks: removed and added lines with some context."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate

from msgspec import Struct

from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import FileChange, Patch, apply_splices, group_splices

AROUND = 2
LONGEST = 60
"""Lines of one hunk; the commit has the rest."""
_WIDEST = 1000
"""Characters of one line: minified files have everything on one."""
_ALIGNED = 400
_NO_END = "\\ No newline at end of file"


class Hunk(Struct, frozen=True, omit_defaults=True):
    """`line` numbers the first line shown, as the file was; lines begin, as in a diff, with " ",
    "-", "+" or a backslash.
    """

    path: str
    line: int
    lines: tuple[str, ...]
    cut: int = 0
    """How many lines are not shown."""


class Diff(Struct, frozen=True, omit_defaults=True):
    """What one batch changed, or would have."""

    batch: int
    hunks: tuple[Hunk, ...] = ()
    dropped: bool = False
    """It is not part of the batch's patch, because the item was not fixed."""


class OriginalFile:
    """A file before the change; its lines are counted once for all batches that touch it."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        lengths = (len(line) + 1 for line in text.split("\n")[:-1])
        self._starts = list(accumulate(lengths, initial=0))

    def make_hunks(self, splices: Iterable[Splice]) -> Iterable[Hunk]:
        groups: list[tuple[int, int, list[Splice]]] = []
        for splice in sorted(splices, key=lambda each: (each.start, each.end)):
            first, last = self._line_index(splice.start), self._line_index(splice.end)
            if groups and first <= groups[-1][1] + 2 * AROUND + 1:
                low, high, together = groups[-1]
                groups[-1] = (low, max(high, last), [*together, splice])
            else:
                groups.append((first, last, [splice]))
        for first, last, together in groups:
            yield self._make_hunk(
                max(0, first - AROUND), min(len(self._starts), last + AROUND + 1), together
            )

    def _line_index(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _make_hunk(self, first: int, end: int, splices: list[Splice]) -> Hunk:
        start = self._starts[first]
        stop = self._starts[end] if end < len(self._starts) else len(self._text)
        moved = [Splice(s.path, s.start - start, s.end - start, s.text) for s in splices]
        before = self._text[start:stop]
        return _diff_hunk(self._path, first + 1, before, apply_splices(before, moved))


def make_hunks(patch: Patch, originals: Mapping[str, OriginalFile]) -> tuple[Hunk, ...]:
    """Return the patch as hunks; a file not in `originals` is shown by name only."""
    found: list[Hunk] = []
    for path, splices in sorted(group_splices(patch.splices).items()):
        original = originals.get(path)
        found += original.make_hunks(splices) if original is not None else [Hunk(path, 1, ())]
    return (*found, *(_file_hunk(change) for change in patch.files))


def _file_hunk(change: FileChange) -> Hunk:
    if change.content is None:
        return Hunk(change.path, 1, ("\\ The file is deleted",))
    content = change.content.encode("latin-1")
    if b"\0" in content:
        return Hunk(change.path, 1, (f"\\ A binary file of {len(content)} bytes",))
    return _diff_hunk(change.path, 1, "", content.decode("utf-8", "replace"))


def _diff_hunk(path: str, line: int, before: str, after: str) -> Hunk:
    old, new = _split_lines(before), _split_lines(after)
    lines = _diff_lines(old, new)
    if all(each.endswith("\r") for each in lines if not each.startswith("\\")):
        lines = [each.removesuffix("\r") for each in lines]
    return Hunk(path, line, tuple(map(_clip_line, lines[:LONGEST])), max(0, len(lines) - LONGEST))


def _clip_line(line: str) -> str:
    more = len(line) - _WIDEST
    return f"{line[:_WIDEST]} [... {more} more characters]" if more > 0 else line


def _split_lines(text: str) -> list[str]:
    """Split into lines without breaks; a last line that lacks one is marked with a newline."""
    lines = text.split("\n")
    if not lines[-1]:
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\n"]


def _diff_lines(old: list[str], new: list[str]) -> list[str]:
    from difflib import SequenceMatcher

    if len(old) + len(new) > _ALIGNED:
        return [*_mark_lines("-", old), *_mark_lines("+", new)]
    shown: list[str] = []
    edits = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for kind, low, high, low_new, high_new in edits:
        if kind == "equal":
            shown += _mark_lines(" ", old[low:high])
        else:
            shown += (*_mark_lines("-", old[low:high]), *_mark_lines("+", new[low_new:high_new]))
    return shown


def _mark_lines(mark: str, lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if line.endswith("\n"):
            yield _NO_END
