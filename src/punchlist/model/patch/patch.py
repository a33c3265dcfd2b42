"""Patches: splices and whole-file changes against one commit; disjoint ones combine freely."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import accumulate, pairwise

from msgspec import Struct

from punchlist.model.finding.finding import Fix, Splice


class FileChange(Struct, frozen=True, omit_defaults=True):
    """A file made, replaced, deleted (content is None) or given a mode; `content` is latin-1."""

    path: str
    content: str | None
    mode: str = "100644"

    @property
    def text(self) -> str:
        """The content as text; odd bytes are lone surrogates."""
        return (self.content or "").encode("latin-1").decode("utf-8", "surrogateescape")


class Patch(Struct, frozen=True, omit_defaults=True):
    """All that one batch does to the tree."""

    splices: tuple[Splice, ...] = ()
    files: tuple[FileChange, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({s.path for s in self.splices} | {f.path for f in self.files}))

    def file_splices(self, path: str, before: str) -> tuple[Splice, ...]:
        """Return what it does to one file; a whole-file change is one splice, from the first
        difference to the last.
        """
        changes = [change for change in self.files if change.path == path]
        whole = [splice for each in changes for splice in _diff_texts(path, before, each.text)]
        return (*(splice for splice in self.splices if splice.path == path), *whole)

    def __bool__(self) -> bool:
        return bool(self.splices or self.files)


class ReservedSpans:
    """Characters and files reserved by patches; a patch that touches them waits for a round.

    `adjoining`: what replaces characters beside others that are replaced does not wait.
    """

    def __init__(self, *, adjoining: bool = False) -> None:
        self._adjoining = adjoining
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self._whole: set[str] = set()
        self._made: set[str] = set()
        self._folders: set[str] = set()

    def admits(self, patch: Patch) -> bool:
        if any(f.path in self._whole or f.path in self._spans for f in patch.files):
            return False
        made = [f.path for f in patch.files if f.content is not None]
        if any(path in self._folders or self._made & _parent_folders(path) for path in made):
            return False  # one makes a file where the other makes a folder
        return all(s.path not in self._whole and self._is_free(s) for s in patch.splices)

    def reserve(self, patch: Patch) -> None:
        self._whole.update(f.path for f in patch.files)
        made = [f.path for f in patch.files if f.content is not None]
        self._made.update(made)
        self._folders.update(*map(_parent_folders, made))
        for splice in patch.splices:
            insort(self._spans.setdefault(splice.path, []), (splice.start, splice.end))

    def _is_free(self, splice: Splice) -> bool:
        spans = self._spans.get(splice.path, [])
        at = bisect_right(spans, (splice.start, splice.end))
        # Touching counts as overlapping: the order of two insertions at one point would be a guess.
        near = (*spans[max(at - 1, 0) : at], *spans[at : at + 1])
        return not any(self._collides(splice, first, last) for first, last in near)

    def _collides(self, splice: Splice, first: int, last: int) -> bool:
        if self._adjoining and splice.start < splice.end and first < last:
            return splice.start < last and first < splice.end
        return splice.start <= last and first <= splice.end


def _parent_folders(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:depth]) for depth in range(1, len(parts))}


def _diff_texts(path: str, before: str, after: str) -> Iterator[Splice]:
    if before != after:
        head = _common_prefix(before, after)
        tail = _common_prefix(before[head:][::-1], after[head:][::-1])
        yield Splice(path, head, len(before) - tail, after[head : len(after) - tail])


def _common_prefix(one: str, other: str) -> int:
    """Return how many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def splices_between(path: str, before: str, after: str) -> Iterator[Splice]:
    """Yield the line-wise splices that turn one text into the other."""
    from difflib import SequenceMatcher

    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = list(accumulate(map(len, old), initial=0))
    edits = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for tag, first, last, new_first, new_last in edits:
        if tag != "equal":
            yield Splice(path, starts[first], starts[last], "".join(new[new_first:new_last]))


def has_overlap(splices: Iterable[Splice]) -> bool:
    """Whether two splices change the same characters; touching is fine."""
    ordered = sorted(splices, key=lambda s: (s.path, s.start, s.end))
    return any(a.path == b.path and b.start < a.end for a, b in pairwise(ordered))


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Return the text with disjoint splices of one file applied; ValueError if they overlap."""
    parts: list[str] = []
    position = 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        if splice.start < position or splice.end > len(text) or splice.end < splice.start:
            raise ValueError(
                f"{splice.path}: splices overlap or lie outside the file at {splice.start}"
            )
        parts += (text[position : splice.start], splice.text)
        position = splice.end
    parts.append(text[position:])
    return "".join(parts)


def combine_patches(patches: Iterable[Patch], texts: Mapping[str, str]) -> dict[str, str]:
    """Return the new text of every spliced file; whole-file changes are ignored."""
    by_path = group_splices(splice for patch in patches for splice in patch.splices)
    return {path: apply_splices(texts[path], splices) for path, splices in by_path.items()}


def group_splices(splices: Iterable[Splice]) -> dict[str, list[Splice]]:
    by_path: dict[str, list[Splice]] = {}
    for splice in splices:
        by_path.setdefault(splice.path, []).append(splice)
    return by_path


def fix_key(fix: Fix) -> str:
    """Return a fix's own name, which survives moved lines: what it takes out and puts in."""
    parts = sorted(f"{s.path}\0{s.end - s.start}\0{s.text}" for s in fix.splices)
    return blake2b("\1".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
