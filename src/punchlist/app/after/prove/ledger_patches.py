"""Hold the diff of a commit to the patches that the ledger had before the commit was made."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.adapters.git.command import SUBMODULE, TreeEntry
from punchlist.adapters.git.overlay import splice_content
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import Patch

Lines = Counter[bytes]


class Landing(Struct, frozen=True):
    """Batches that landed together: all patches are against the same commit."""

    patches: tuple[tuple[int, Patch], ...]


class FileDifference(Struct):
    """How often a file has each line more than before, negative if less; `written`: at most so
    many lines are new.
    """

    lines: Lines
    written: int
    modes: set[str]
    """The modes that patches gave it."""


class _File:
    """A file while patches are replayed: as it was when a round began, and as it is now."""

    def __init__(self, content: bytes | None) -> None:
        self.content = self._began = content
        self._splices: list[Splice] = []

    def begin_round(self) -> None:
        self._began, self._splices = self.content, []

    def splice(self, splices: Sequence[Splice]) -> None:
        self._splices += splices
        self.content = splice_content(self._began or b"", self._splices)


async def find_other_change(
    workshop: Workshop,
    head: str,
    landings: Sequence[Landing],
    batches: Collection[int],
    ends: tuple[str, str],
) -> str:
    """Return how a commit differs from the patches of its batches, or ''. `head`: the commit that
    the first patches are against; `ends`: the parent and the commit.

    Lines are counted, not placed: grouped commits have the same lines at other places. A line that
    only moved is noticed, because more lines are written then than the patches write.
    """
    try:
        expected = await _replay(workshop, head, landings, batches)
    except RepositoryError as error:
        return f"the patches in its ledger cannot be applied: {error}"
    before, after = [await workshop.list_tree(each) for each in ends]
    written = await _count_written(workshop, ends)
    changed = {path for path in {**before, **after} if before.get(path) != after.get(path)}
    wanted = {path for path, each in expected.items() if any(each.lines.values())}
    for path in sorted(changed | wanted):
        known = expected.get(path)
        if known is None:
            return f"it changes {path}, which no patch in its ledger does"
        old, new = [await _read(workshop, path, listing) for listing in (before, after)]
        lines = _count(new)
        lines.subtract(_count(old))
        modes = known.modes | ({before[path].mode} if path in before else {"100644"})
        same_mode = path not in after or after[path].mode in modes
        if lines != known.lines or written.get(path, 0) > known.written or not same_mode:
            return f"it changes {path} otherwise than the patch in its ledger"
    return ""


async def _replay(
    workshop: Workshop, head: str, landings: Sequence[Landing], batches: Collection[int]
) -> dict[str, FileDifference]:
    """Return by file what the batches change when all patches land in their order."""
    listing = await workshop.list_tree(head)
    files: dict[str, _File] = {}
    found: dict[str, FileDifference] = {}
    for landing in landings:
        for file in files.values():
            file.begin_round()
        for batch, patch in landing.patches:
            for path in patch.paths:
                if path not in files:
                    files[path] = _File(await _read(workshop, path, listing))
                file = files[path]
                before = file.content
                written, modes = _apply(patch, path, file)
                if batch in batches:
                    known = found.setdefault(path, FileDifference(Lines(), 0, set()))
                    known.lines.update(_count(file.content))
                    known.lines.subtract(_count(before))
                    known.written += written
                    known.modes |= modes
    return found


def _apply(patch: Patch, path: str, file: _File) -> tuple[int, set[str]]:
    """Apply a patch to one of its files; return how many lines it writes at most, and modes."""
    splices = [each for each in patch.splices if each.path == path]
    if splices:
        file.splice(splices)
    changes = [each for each in patch.files if each.path == path]
    for change in changes:
        file.content = None if change.content is None else change.content.encode("latin-1")
        file.begin_round()
    written = sum(each.text.count("\n") + 1 for each in splices)
    written += sum((each.content or "").count("\n") + 1 for each in changes)
    return written, {each.mode for each in changes}


async def _read(workshop: Workshop, path: str, listing: Mapping[str, TreeEntry]) -> bytes | None:
    entry = listing.get(path)
    if entry is None or entry.mode == SUBMODULE:
        return None
    return (await workshop.read_blobs([entry.blob]))[0]


def _count(content: bytes | None) -> Lines:
    """Count the lines; a file that is empty is told from one that is not there."""
    return Lines() if content is None else Lines((b"\0there", *_split(content)))


def _split(content: bytes) -> Iterator[bytes]:
    *lines, last = content.split(b"\n")
    yield from (line + b"\n" for line in lines)
    yield from (last,) if last else ()


async def _count_written(workshop: Workshop, ends: tuple[str, str]) -> dict[str, int]:
    """Return by file how many lines the shortest difference of two commits adds."""
    flags = ("-r", "-z", "--numstat", "--minimal", "--text", "--no-renames")
    fields = await workshop.git.list_fields("diff-tree", *flags, *ends)
    found: dict[str, int] = {}
    for each in fields:
        added, _, path = each.split("\t", 2)
        found[path] = int(added) if added.isdecimal() else 0
    return found
