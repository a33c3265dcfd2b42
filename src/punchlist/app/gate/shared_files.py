"""The files in which a repository says which findings count. They are read from a commit that the
change under review cannot alter.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from punchlist.adapters.git.scope import find_trusted_commit, join_few
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.gate.selections import load_selections
from punchlist.errors import UsageError
from punchlist.model.dedup.baseline import drop_repeated
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.finding.known_finding import KnownFinding
from punchlist.model.finding.selection import FolderSelection
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.settings import REPOSITORY_FILE

SHARED = ".punchlist"
BASELINE = f"{SHARED}/baseline"
DISMISSALS = f"{SHARED}/dismissals"


class ReviewGate(Struct, frozen=True, kw_only=True):
    """What the base says about which findings count, as far as the change under review needs it."""

    selections: dict[str, FolderSelection] = {}
    new_against: str = ""
    baseline: tuple[KnownFinding, ...] = ()
    gone: tuple[str, ...] = ()
    dismissed: dict[str, Dismissal] = {}
    notes: tuple[str, ...] = ()


class SharedDismissal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file in .punchlist/dismissals, named by the fingerprint of the item."""

    fingerprint: str
    why: str
    by: str = ""
    also: tuple[str, ...] = ()
    """What the fingerprint is where another tool's finding leads the item."""
    rule: str = ""
    path: str = ""
    title: str = ""


async def load_gate(workshop: Workshop, change: Change, flags: Mapping[str, str]) -> ReviewGate:
    """Load it from the commit that is trusted, and note what the change alters of it."""
    commit = await find_trusted_commit(workshop, change)
    files = await read_gate_files(workshop, commit)
    notes = await _note_changes(workshop, commit, change)
    notes += await _note_origin(workshop, files, commit, change)
    texts = {path: raw for path, raw in files.items() if _is_settings(path)}
    known, unread = parse_baseline(files)
    dismissed, unread_too = parse_dismissals(files)
    if unread or unread_too:
        notes.append(f"not understood, and not used: {join_few([*unread, *unread_too])}")
    listing = await workshop.list_tree(change.head)
    gone = frozenset(each.path for each in known if each.path not in listing)
    wanted = _select_known(known, change, gone)
    selections = load_selections(texts, flags, notes)
    new_only = any(each.selection.new_only for each in selections.values())
    if new_only and commit == change.head and not await workshop.checkout.find_main_branch():
        raise UsageError("which findings are new? No base is known here", hint="--base REV")
    return ReviewGate(
        selections=selections,
        new_against=commit if new_only else "",
        baseline=wanted,
        gone=tuple(sorted(gone.intersection(each.path for each in wanted))),
        dismissed=dismissed,
        notes=tuple(notes),
    )


async def read_gate_files(workshop: Workshop, commit: str) -> dict[str, bytes]:
    """Return the contents of all files of a commit that say which findings count, by path."""
    listing = await workshop.list_tree(commit)
    paths = [path for path, entry in listing.items() if entry.regular and _is_gate(path)]
    blobs = await workshop.read_blobs([listing[path].blob for path in paths])
    return dict(zip(paths, blobs, strict=True))


def _is_settings(path: str) -> bool:
    return PurePosixPath(path).name == REPOSITORY_FILE


def _is_gate(path: str) -> bool:
    return _is_settings(path) or path.startswith((f"{BASELINE}/", f"{DISMISSALS}/"))


def parse_baseline(files: Mapping[str, bytes]) -> tuple[list[KnownFinding], list[str]]:
    """Return the findings of a baseline, and the files that could not be understood, wholly or in
    part.
    """
    known: list[KnownFinding] = []
    unread = []
    for path, raw in files.items():
        if path.startswith(f"{BASELINE}/"):
            try:
                known += parse_json(_join_lines(raw), list[KnownFinding])
            except msgspec.DecodeError:
                unread.append(path)
    return drop_repeated(known), unread


def _join_lines(raw: bytes) -> bytes:
    lines = (line.strip().rstrip(b",") for line in raw.splitlines())
    return b"[" + b",".join(line for line in lines if line not in (b"", b"[", b"]")) + b"]"


def parse_dismissals(files: Mapping[str, bytes]) -> tuple[dict[str, Dismissal], list[str]]:
    """Return the shared dismissals by fingerprint, and the files that are none."""
    known: dict[str, Dismissal] = {}
    unread = []
    for path, raw in files.items():
        if path.startswith(f"{DISMISSALS}/"):
            try:
                each = parse_json(raw, SharedDismissal)
            except msgspec.DecodeError:
                unread.append(path)
            else:
                said = Dismissal(each.by, each.why, path)
                known |= dict.fromkeys((each.fingerprint, *each.also), said)
    return known, unread


def _select_known(
    known: Sequence[KnownFinding], change: Change, gone: Iterable[str]
) -> tuple[KnownFinding, ...]:
    """Return what is known of the files under review, and of files that are gone since the base."""
    if change.kind is ScopeKind.ALL:
        return tuple(known)
    moved = {*change.deleted, *change.renamed.values()}.intersection(gone)
    paths = moved.union(change.files)
    return tuple(each for each in known if each.path in paths)


async def _note_changes(workshop: Workshop, commit: str, change: Change) -> list[str]:
    """Return a note on what the change alters of the gate; it holds once it is on the base."""
    before, after = await workshop.list_tree(commit), await workshop.list_tree(change.head)
    paths = sorted(filter(_is_gate, before.keys() | after.keys()))
    altered = [path for path in paths if before.get(path) != after.get(path)]
    if not altered:
        return []
    said = "this change alters which findings count, and that is not used for it"
    return [f"{said}: {join_few(altered)}"]


async def _note_origin(
    workshop: Workshop, files: Mapping[str, bytes], commit: str, change: Change
) -> list[str]:
    """Return a note if the gate comes from the commit under review because no base is known."""
    if not files or commit != change.head:
        return []
    if change.branch and await workshop.checkout.find_main_branch():
        return []
    said = "which findings count is read from the commit under review: no base is known here"
    return [f"{said} (give one with --base)"]
