"""A patch is a set of splices and whole-file changes against one commit; disjoint patches combine in any subset."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from itertools import pairwise

from msgspec import Struct

from punchlist.model.finding import Splice


class FileChange(Struct, frozen=True, omit_defaults=True):
    """A file as a whole: made, replaced, deleted (content is None) or given a mode. `content` is latin-1: any bytes fit JSON."""

    path: str
    content: str | None
    mode: str = "100644"


class Patch(Struct, frozen=True, omit_defaults=True):
    """All that one batch does to the tree."""

    splices: tuple[Splice, ...] = ()
    files: tuple[FileChange, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({s.path for s in self.splices} | {f.path for f in self.files}))

    def __bool__(self) -> bool:
        return bool(self.splices or self.files)


class Taken:
    """Which characters of which files are spoken for; a patch that would touch them waits for a later round."""

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self._whole: set[str] = set()

    def admits(self, patch: Patch) -> bool:
        if any(f.path in self._whole or f.path in self._spans for f in patch.files):
            return False
        return all(s.path not in self._whole and self._free(s) for s in patch.splices)

    def take(self, patch: Patch) -> None:
        self._whole.update(f.path for f in patch.files)
        for splice in patch.splices:
            insort(self._spans.setdefault(splice.path, []), (splice.start, splice.end))

    def _free(self, splice: Splice) -> bool:
        spans = self._spans.get(splice.path, [])
        at = bisect_right(spans, (splice.start, splice.end))
        # Touching counts as overlapping: the order of two insertions at one point would be a guess.
        if at and spans[at - 1][1] >= splice.start:
            return False
        return at == len(spans) or spans[at][0] > splice.end


def overlapping(splices: Iterable[Splice]) -> bool:
    """Whether two of the splices are about the same characters, so that no text can have both in it; touching is fine."""
    ordered = sorted(splices, key=lambda s: (s.path, s.start, s.end))
    return any(first.path == second.path and second.start < first.end for first, second in pairwise(ordered))


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """The text with disjoint splices of one file put in."""
    parts: list[str] = []
    position = 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        if splice.start < position or splice.end > len(text) or splice.end < splice.start:
            raise ValueError(f"{splice.path}: splices overlap or lie outside the file at {splice.start}")
        parts += (text[position : splice.start], splice.text)
        position = splice.end
    parts.append(text[position:])
    return "".join(parts)


def combined(patches: Iterable[Patch], texts: Mapping[str, str], *, only: str = "") -> dict[str, str]:
    """The new text of every spliced file (or of one); `texts` has the old ones. Whole-file changes are the caller's."""
    by_path: dict[str, list[Splice]] = {}
    for patch in patches:
        for splice in patch.splices:
            if not only or splice.path == only:
                by_path.setdefault(splice.path, []).append(splice)
    return {path: spliced(texts[path], splices) for path, splices in by_path.items()}
