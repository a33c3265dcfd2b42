"""Fixes that runs have proven and that the user's files do not have yet."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from punchlist.adapters.git.command import REGULAR, TreeEntry
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.branch_state import DISCARDED, find_standing, load_tips
from punchlist.app.session import Session
from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Splice
from punchlist.model.item.item import Item, Status
from punchlist.model.item.proof import ProofClass, strongest_proof
from punchlist.model.ledger.run import Run
from punchlist.model.patch.carry_over import carry_over

ReadText = Callable[[str], str | None]
"""Returns the text of a file of the checkout as the user has it now, None if there is none."""


class FileVersions(Struct, frozen=True):
    """A file before and after a fix, and as the run reviewed it; None where it does not exist."""

    path: str
    before: str | None
    after: str
    reviewed: str | None


class ProvenFix(Struct, frozen=True, kw_only=True):
    """What one commit of a run changes, and the items that it is proven to fix."""

    run: str
    items: tuple[Item, ...]
    files: tuple[FileVersions, ...]


class FixEdits(Struct, frozen=True, kw_only=True):
    """A fix for the files as they are now. `unchanged`: they are as the run reviewed them."""

    fix: ProvenFix
    splices: tuple[Splice, ...] = ()
    texts: dict[str, str] = {}
    """The files that the splices belong to, as they are now."""
    created: dict[str, str] = {}
    unchanged: bool = True


def is_proven(item: Item, commit: str) -> bool:
    """Return whether the ledger has a proof that this commit fixes it; an agent's claim is none."""
    proof = strongest_proof(item.proofs)
    landed = item.status is Status.FIXED and item.made_in == commit
    return landed and proof is not None and proof.kind is not ProofClass.CLAIM


async def load_proven_fixes(session: Session, runs: Sequence[Run]) -> tuple[ProvenFix, ...]:
    """Return the proven fixes of these runs, but for discarded ones. A commit with an item that is
    not proven is left out, and one that does more than edit and add texts.
    """
    workshop = await session.workshop()
    tips = load_tips(session.store, session.key)
    fixes: list[ProvenFix] = []
    for run in runs:
        if run.started.repository != session.repository:
            continue  # the commits are in the workshop of another clone
        tip = tips.get(run.id, "")
        if await find_standing(workshop.checkout, run.started, run.id, tip) == DISCARDED:
            continue
        for commit, items in _group_by_commit(run).items():
            if all(is_proven(item, commit) for item in items):
                files = await _load_files(workshop, run, commit)
                if files:
                    fixes.append(ProvenFix(run=run.id, items=items, files=files))
    return tuple(fixes)


def _group_by_commit(run: Run) -> dict[str, tuple[Item, ...]]:
    return {
        landed.commit: tuple(run.items[number] for number in landed.items)
        for landed in run.landing.landed
        if landed.items
    }


async def _load_files(workshop: Workshop, run: Run, commit: str) -> tuple[FileVersions, ...]:
    """Return what a commit changes; nothing if it is gone, or if some of it is no edit of text."""
    try:
        old, new = await workshop.list_tree(f"{commit}^"), await workshop.list_tree(commit)
        reviewed = await workshop.list_tree(run.started.change.head)
        changed = [path for path in {**old, **new} if old.get(path) != new.get(path)]
        if any(not _is_edit(old.get(path), new.get(path)) for path in changed):
            return ()
        read = [await _read_versions(workshop, path, (old, new, reviewed)) for path in changed]
    except (RepositoryError, UnicodeDecodeError):
        return ()
    return tuple(
        FileVersions(path, before, after or "", seen)
        for path, (before, after, seen) in zip(changed, read, strict=True)
    )


def _is_edit(old: TreeEntry | None, new: TreeEntry | None) -> bool:
    """Return whether a file was made or edited, not deleted or given another mode."""
    if new is None or new.mode not in REGULAR:
        return False
    return new.mode == (old.mode if old else "100644")


async def _read_versions(
    workshop: Workshop, path: str, trees: Sequence[dict[str, TreeEntry]]
) -> tuple[str | None, ...]:
    entries = [tree.get(path) for tree in trees]
    blobs = await workshop.read_blobs([each.blob for each in entries if each])
    texts = iter(blobs)
    return tuple(next(texts).decode("utf-8") if each else None for each in entries)


def fit_fixes(fixes: Sequence[ProvenFix], read: ReadText) -> Iterator[FixEdits]:
    """Yield the fixes that fit the files as they are now, each item's newest one only."""
    known: set[str] = set()
    for fix in fixes:
        names = {item.fingerprint for item in fix.items}
        if names & known:
            continue
        if edits := _fit_fix(fix, read):
            known |= names
            yield edits


def _fit_fix(fix: ProvenFix, read: ReadText) -> FixEdits | None:
    splices: list[Splice] = []
    texts: dict[str, str] = {}
    created: dict[str, str] = {}
    unchanged = True
    for file in fix.files:
        now = read(file.path)
        unchanged = unchanged and now == file.reviewed
        if file.before is None:
            if now is not None:
                return None
            created[file.path] = file.after
            continue
        carried = None if now is None else carry_over(file.path, file.before, file.after, now)
        if now is None or carried is None:
            return None
        texts[file.path] = now
        splices += carried
    return FixEdits(
        fix=fix, splices=tuple(splices), texts=texts, created=created, unchanged=unchanged
    )
