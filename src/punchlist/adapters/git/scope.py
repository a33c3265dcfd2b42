"""Resolve what is under review: two commits, and the changed lines of each file."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.command import (
    LINK,
    REGULAR,
    SUBMODULE,
    TreeEntry,
    escape_path,
    is_utf8,
    split_fields,
)
from punchlist.adapters.git.working_tree import snapshot_index, snapshot_working_tree
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import UsageError
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.paths import shorten_path
from punchlist.model.finding.reading_limits import LONGEST_PATH, is_too_deep, reading_limits
from punchlist.model.patch.change import WHOLE, Change, LineRange, ScopeKind

_DIFF = (
    *("diff-tree", "-r", "-M", "--no-commit-id", "--ignore-submodules=all"),
    *("--raw", "-z", "--no-abbrev", "--diff-filter=ACDMRT"),
)
_PATCH = ("-p", "-U0", "--no-color", "--irreversible-delete")
"""The same with the changed lines; of deleted files it names only the files."""
_MARKS = late_pattern(
    rb"^(?:(diff --git )|(Binary files )|@@ -(?:(0,0)|\S+) \+(\d+)(?:,(\d+))? @@)", re.MULTILINE
)
_UNSHALLOW = "git fetch --unshallow"
_SEVERAL = 3


class CommitRange(Struct, frozen=True):
    """The two commits of a scope."""

    kind: ScopeKind
    base: str
    head: str
    base_name: str = ""
    notes: tuple[str, ...] = ()
    on_disk: bool = False
    """Whether the head is what is on disk."""
    unrelated: bool = False
    """Whether it is not known which commits are the branch's own, as no common history is here."""


class _ChangedFiles(NamedTuple):
    """The changed lines by file, the deleted files, and the old names of renamed ones."""

    lines: dict[str, tuple[LineRange, ...]]
    deleted: list[str]
    renamed: dict[str, str]


async def resolve_change(  # noqa: PLR0913  # all that describes one scope
    workshop: Workshop,
    *,
    kind: ScopeKind | None = None,
    base: str = "",
    commit: str = "",
    paths: Sequence[str] = (),
    committed: bool = True,
) -> Change:
    """Return the change to review: by default the branch, or all if it has no own commits. Branch
    and all include what is on disk and not committed, unless `committed`.
    """
    kind = kind or (ScopeKind.COMMIT if commit else ScopeKind.BRANCH)
    saved = None
    on_disk = not committed and not workshop.checkout.moved
    if on_disk and kind in {ScopeKind.BRANCH, ScopeKind.ALL}:
        saved = await snapshot_working_tree(workshop)
    match kind:
        case ScopeKind.BRANCH:
            ends = await _branch_range(workshop, base, saved=saved is not None and saved.changed)
        case ScopeKind.ALL:
            ends = await _all_range(workshop, base)
        case ScopeKind.STAGED:
            ends = await _staged_range(workshop)
        case ScopeKind.COMMIT:
            ends = await _commit_range(workshop, commit or "HEAD")
    if saved is not None and saved.changed:
        ends = _add_saved(ends, saved.commit)
    listing = await workshop.list_tree(ends.head)
    below = _check_paths(workshop.checkout.resolve_paths(paths), listing)
    changed = (
        _ChangedFiles({}, [], {})
        if ends.kind is ScopeKind.ALL
        else await _find_changed(workshop, ends)
    )
    branch = await workshop.checkout.current_branch()
    staged = ends.kind is ScopeKind.STAGED
    unseen = 0 if saved else await workshop.checkout.count_uncommitted(unstaged_only=staged)
    notes = list(_scope_notes(workshop, ends.kind, branch, unseen=unseen))
    if saved and saved.left_out:
        why = "untracked, and too large, a cache, or named like a file of keys"
        notes.append(f"not looked at ({why}): {join_few(saved.left_out)}")
    return Change(
        kind=ends.kind,
        base=ends.base,
        head=ends.head,
        base_name=ends.base_name,
        branch=branch,
        on_disk=ends.on_disk,
        unseen=unseen,
        paths=below,
        files={path: lines for path, lines in changed.lines.items() if _is_chosen(path, below)},
        deleted=tuple(path for path in changed.deleted if _is_chosen(path, below)),
        renamed={new: old for new, old in changed.renamed.items() if _is_chosen(new, below)},
        notes=(*ends.notes, *notes, *_file_notes(listing)),
    )


async def _branch_range(workshop: Workshop, base: str, *, saved: bool) -> CommitRange:
    """Return HEAD against its merge base with the main branch; `saved`: what is on disk follows."""
    checkout = workshop.checkout
    names = [base]
    if not base:
        current = await checkout.current_branch()
        names = [name for name in await checkout.find_main_branch() if name != current]
    commits = [await _resolve_name(workshop, name) for name in names]
    if not commits:
        why = "no other branch looks like the main line, so everything is reviewed"
        return _fallback_range(workshop, f"{why} (give one with --base)")
    shared = await checkout.git.find_line("merge-base", checkout.head, *commits)
    if shared and shared != checkout.head:
        return CommitRange(ScopeKind.BRANCH, shared, checkout.head, names[0])
    why = (
        f"HEAD has nothing that {names[0]} does not have"
        if shared
        else f"HEAD and {names[0]} have no common history here"
    )
    cut_off = checkout.shallow and not shared
    if base and not saved:
        hint = "commit something, name another --base, or review --all"
        what = f"{why}, so there is no change to review"
        raise UsageError(what, hint=_UNSHALLOW if cut_off else hint)
    if shared and not saved and await _is_fresh(checkout, names):
        return CommitRange(ScopeKind.BRANCH, shared, checkout.head, names[0], (why,))
    remedy = f"; this is a shallow clone, try: {_UNSHALLOW}" if cut_off else ""
    ends = _fallback_range(workshop, f"{why}, so everything is reviewed{remedy}")
    return replace(ends, unrelated=not shared)


async def _is_fresh(checkout: Checkout, main: Sequence[str]) -> bool:
    """Return whether a branch other than the main line is checked out, without commits yet."""
    current = await checkout.current_branch()
    return bool(current) and current not in {name.removeprefix("origin/") for name in main}


def _fallback_range(workshop: Workshop, why: str) -> CommitRange:
    head = workshop.checkout.head
    return CommitRange(ScopeKind.ALL, head, head, notes=(why,))


def _add_saved(ends: CommitRange, saved: str) -> CommitRange:
    """Return the same range up to what is on disk. A branch without commits of its own, or one that
    is the main line, is compared with HEAD: the change is what is not committed.
    """
    ends = replace(ends, head=saved, on_disk=True)
    if ends.kind is ScopeKind.ALL and ends.notes and not ends.unrelated:
        return replace(ends, kind=ScopeKind.BRANCH, base_name="HEAD", notes=())
    return ends


async def _all_range(workshop: Workshop, base: str) -> CommitRange:
    head = workshop.checkout.head
    start = await _resolve_name(workshop, base) if base else head
    return CommitRange(ScopeKind.ALL, start, head, base)


async def find_trusted_commit(workshop: Workshop, change: Change) -> str:
    """Return the commit whose gate holds for a change: its base. Where everything is reviewed and
    no base was named, where the branch came from; else the tip of the main branch, as far as one
    is known.
    """
    checkout = workshop.checkout
    if change.kind is not ScopeKind.ALL or change.base != checkout.head:
        return change.base
    names = [name for name in await checkout.find_main_branch() if name != change.branch]
    commits = [found for name in names if (found := await checkout.resolve_commit(name))]
    if not commits:
        return change.base
    return await checkout.git.find_line("merge-base", checkout.head, *commits) or commits[0]


async def _commit_range(workshop: Workshop, name: str) -> CommitRange:
    """Return one commit against its first parent; a root commit against the empty tree."""
    head = await _resolve_name(workshop, name)
    parent = await workshop.checkout.resolve_commit(f"{head}^")
    if parent:
        return CommitRange(ScopeKind.COMMIT, parent, head, f"{name}^")
    checkout = workshop.checkout
    nothing = await workshop.commit_tree(
        checkout.empty_tree, (), "nothing, before the first commit"
    )
    note = (
        f"shallow clone: what came before {name} is not here, so all of it counts as changed;"
        f" try: {_UNSHALLOW}"
    )
    notes = (note,) if checkout.shallow else ()
    return CommitRange(ScopeKind.COMMIT, nothing, head, notes=notes)


async def _staged_range(workshop: Workshop) -> CommitRange:
    staged = await snapshot_index(workshop)
    if not staged.changed:
        raise UsageError(
            "nothing is staged, so there is no change to review",
            hint="git add the files, or leave --staged out",
        )
    return CommitRange(ScopeKind.STAGED, workshop.checkout.head, staged.commit, "HEAD")


async def _resolve_name(workshop: Workshop, name: str) -> str:
    checkout = workshop.checkout
    found = await checkout.resolve_commit(name)
    if found is None:
        hint = (
            f"git fetch, or in a shallow clone: {_UNSHALLOW}"
            if checkout.shallow
            else "look at: git branch --all, git log"
        )
        raise UsageError(f"{name}: no such commit, branch or tag in {checkout.root}", hint=hint)
    return found


async def _find_changed(workshop: Workshop, ends: CommitRange) -> _ChangedFiles:
    """Return the files that differ from the base; names that are not UTF-8, and paths that are too
    deep, are left out.
    """
    both = await workshop.git.run(*_DIFF, *_PATCH, ends.base, ends.head)
    # The patch lists the same files in the same order, so their names need not be read from it.
    raw, end, patch = both.stdout.partition(b"\0\0")
    if both.ok:
        lines = _parse_lines(patch)
        raw += end[:1]
    else:
        lines = {}
        raw = await workshop.git.check_output(*_DIFF, ends.base, ends.head)
    position = 0
    found = _ChangedFiles({}, [], {})
    for status, mode, old, path in _parse_raw(split_fields(raw)):
        whole = status == "T" or not both.ok
        named = is_utf8(path) and not is_too_deep(path)
        if status == "D" and named:
            found.deleted.append(path)
        if mode in REGULAR and named:
            found.lines[path] = (WHOLE,) if whole else tuple(lines.get(position, ()))
            if status == "R":
                found.renamed[path] = old
        position += 2 if status == "T" else 1  # a changed type is a deletion and an addition
    return found


def _parse_raw(raw: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield status letter, new mode, old path and new path of each entry of git's raw format."""
    parts = iter(raw)
    for facts in parts:
        _, mode, _, _, status = facts.split(" ")
        path = next(parts)
        yield status[0], mode, path, next(parts) if status[0] in "RC" else path


def _parse_lines(patch: bytes) -> dict[int, list[LineRange]]:
    """Return the added or changed lines of each file by its position in the patch."""
    found: dict[int, list[LineRange]] = {}
    position = -1
    for mark in _MARKS.finditer(patch):
        header, binary, new, first, count = mark.groups()
        if header:
            position += 1
        elif binary or new:
            # In a new file also the line after its last is new: parsers complain there.
            found[position] = [WHOLE]
        elif (length := int(count) if count else 1) > 0:
            found.setdefault(position, []).append(LineRange(int(first), int(first) + length - 1))
    return found


def _check_paths(paths: tuple[str, ...], listing: dict[str, TreeEntry]) -> tuple[str, ...]:
    """Return the paths, () for the root; raises UsageError if one does not exist."""
    for path in paths:
        if path != "." and not any(_is_within(known, (path,)) for known in listing):
            raise UsageError(
                f"{path}: no such file or folder in the commit under review",
                hint="commit it first, or check the spelling",
            )
    return () if "." in paths else paths


def _is_chosen(path: str, below: tuple[str, ...]) -> bool:
    return not below or _is_within(path, below)


def _is_within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _scope_notes(workshop: Workshop, kind: ScopeKind, branch: str, *, unseen: int) -> Iterator[str]:
    checkout = workshop.checkout
    if unseen:
        what = "work that is not staged" if kind is ScopeKind.STAGED else "uncommitted work"
        yield f"{what} is left out: {_count_files(unseen)}"
    if not branch:
        yield f"HEAD is detached at {checkout.head[:10]}"
    if checkout.shallow and kind is ScopeKind.BRANCH:
        yield "shallow clone: older history is not here"


def _file_notes(listing: dict[str, TreeEntry]) -> Iterator[str]:
    """Yield notes about submodules, links and names that are not reviewed."""
    submodules = [path for path, entry in listing.items() if entry.mode == SUBMODULE]
    links = [path for path, entry in listing.items() if entry.mode == LINK]
    odd = [path for path, entry in listing.items() if entry.regular and not is_utf8(path)]
    deep = [path for path, entry in listing.items() if is_too_deep(path)]
    if submodules:
        yield f"submodules are not entered: {join_few(submodules)}"
    if links:
        yield f"links are not followed: {join_few(links)}"
    if odd:
        yield f"{_count_files(len(odd))} with names that are not UTF-8 left out: {join_few(odd)}"
    if deep:
        most = f"over {reading_limits().depth} folders deep, or over {LONGEST_PATH:,} bytes long"
        yield f"{_count_files(len(deep))} {most} left out: {join_few(deep)}"


def join_few(paths: Sequence[str], most: int = _SEVERAL) -> str:
    """Join the first paths, and say how many more there are."""
    rest = len(paths) - most
    shown = ", ".join(shorten_path(escape_path(path)) for path in paths[:most])
    return f"{shown} and {rest} more" if rest > 0 else shown


def _count_files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
