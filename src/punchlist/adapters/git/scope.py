"""What is under review: two commits, and which lines of which files changed between them."""

import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.git.command import LINK, REGULAR, SUBMODULE, Entry, fields, shown, speakable
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError, UsageError
from punchlist.model.patch.change import WHOLE, Change, Lines, ScopeKind

_DIFF = ("diff-tree", "-r", "-M", "--no-commit-id", "--ignore-submodules=all")
_MARKS = re.compile(
    rb"^(?:(diff --git )|(Binary files )|@@ -(?:(0,0)|\S+) \+(\d+)(?:,(\d+))? @@)", re.MULTILINE
)
_UNSHALLOW = "git fetch --unshallow"
_SEVERAL = 3


class Ends(Struct, frozen=True):
    """The two commits of a scope, before anybody looked between them."""

    kind: ScopeKind
    base: str
    head: str
    base_name: str = ""
    notes: tuple[str, ...] = ()


async def change(
    workshop: Workshop,
    *,
    kind: ScopeKind | None = None,
    base: str = "",
    commit: str = "",
    paths: Sequence[str] = (),
) -> Change:
    """The change a person asked for; without a kind it is the branch, or everything where the
    branch has nothing of its own.
    """
    kind = kind or (ScopeKind.COMMIT if commit else ScopeKind.BRANCH)
    match kind:
        case ScopeKind.BRANCH:
            ends = await _branch(workshop, base)
        case ScopeKind.ALL:
            ends = await _all(workshop, base)
        case ScopeKind.STAGED:
            ends = await _staged(workshop)
        case ScopeKind.COMMIT:
            ends = await _commit(workshop, commit or "HEAD")
    listing = await workshop.listing(ends.head)
    below = _asked_for(workshop.checkout.below(paths), listing)
    files: dict[str, tuple[Lines, ...]] = {}
    if ends.kind is not ScopeKind.ALL:
        files = {
            path: lines
            async for path, lines in _changed(workshop, ends)
            if not below or _within(path, below)
        }
    left_out = [note async for note in _left_out(workshop, ends.kind)]
    return Change(
        kind=ends.kind,
        base=ends.base,
        head=ends.head,
        base_name=ends.base_name,
        paths=below,
        files=files,
        notes=(*ends.notes, *left_out, *_odd_files(listing)),
    )


async def _branch(workshop: Workshop, base: str) -> Ends:
    """HEAD against the commit where it left its base; several names of one main line count
    together.
    """
    checkout = workshop.checkout
    names = (
        [base]
        if base
        else [name for name in await checkout.default_branch() if name != await checkout.branch()]
    )
    commits = [await _known(workshop, name) for name in names]
    if not commits:
        return _everything(
            workshop,
            "no other branch looks like the main line, so everything is reviewed (give one with"
            " --base)",
        )
    found = await checkout.git.ran("merge-base", checkout.head, *commits)
    left = found.stdout.decode().strip()
    if found.ok and left != checkout.head:
        return Ends(ScopeKind.BRANCH, left, checkout.head, names[0])
    why = (
        f"HEAD has nothing that {names[0]} does not have"
        if found.ok
        else f"HEAD and {names[0]} have no common history here"
    )
    if base:
        hint = (
            _UNSHALLOW
            if checkout.shallow and not found.ok
            else "commit something, name another --base, or review --all"
        )
        raise UsageError(f"{why}, so there is no change to review", hint=hint)
    remedy = (
        f"; this is a shallow clone, try: {_UNSHALLOW}" if checkout.shallow and not found.ok else ""
    )
    return _everything(workshop, f"{why}, so everything is reviewed{remedy}")


def _everything(workshop: Workshop, why: str) -> Ends:
    head = workshop.checkout.head
    return Ends(ScopeKind.ALL, head, head, notes=(why,))


async def _all(workshop: Workshop, base: str) -> Ends:
    head = workshop.checkout.head
    return Ends(ScopeKind.ALL, await _known(workshop, base) if base else head, head, base)


async def _commit(workshop: Workshop, name: str) -> Ends:
    """One commit against its first parent; the first commit of all against nothing."""
    head = await _known(workshop, name)
    parent = await workshop.checkout.commit(f"{head}^")
    if parent:
        return Ends(ScopeKind.COMMIT, parent, head, f"{name}^")
    nothing = await workshop.record(
        workshop.checkout.empty_tree, (), "nothing, before the first commit"
    )
    shallow = (
        (
            f"shallow clone: what came before {name} is not here, so all of it counts as changed;"
            f" try: {_UNSHALLOW}"
        ),
    )
    return Ends(ScopeKind.COMMIT, nothing, head, notes=shallow if workshop.checkout.shallow else ())


async def _staged(workshop: Workshop) -> Ends:
    """The index as a commit that only the workshop has; the user's own index is copied, and not
    touched.
    """
    checkout = workshop.checkout
    with tempfile.TemporaryDirectory(prefix="index-", dir=workshop.folder) as folder:
        copy = Path(folder) / "index"
        index = checkout.own_dir / "index"
        if index.is_file():
            shutil.copyfile(index, copy)
        env = {
            "GIT_INDEX_FILE": str(copy),
            "GIT_OBJECT_DIRECTORY": str(workshop.git_dir / "objects"),
        }
        ran = await checkout.git.ran("write-tree", env=env)
    if not ran.ok:
        raise RepositoryError(
            f"{checkout.root}: the index is not in a state to review",
            hint="resolve the merge that is under way first",
        )
    tree = ran.stdout.decode().strip()
    if tree == await checkout.git.line("rev-parse", f"{checkout.head}^{{tree}}"):
        raise UsageError(
            "nothing is staged, so there is no change to review",
            hint="git add the files, or leave --staged out",
        )
    return Ends(
        ScopeKind.STAGED,
        checkout.head,
        await workshop.record(tree, (checkout.head,), "what is staged"),
        "HEAD",
    )


async def _known(workshop: Workshop, name: str) -> str:
    found = await workshop.checkout.commit(name)
    if found is None:
        hint = (
            f"git fetch, or in a shallow clone: {_UNSHALLOW}"
            if workshop.checkout.shallow
            else "look at: git branch --all, git log"
        )
        raise UsageError(
            f"{name}: no such commit, branch or tag in {workshop.checkout.root}", hint=hint
        )
    return found


async def _changed(workshop: Workshop, ends: Ends) -> AsyncIterator[tuple[str, tuple[Lines, ...]]]:
    """Files of the head that differ from the base, each with its changed lines; odd names are left
    to the notes.
    """
    raw = list(
        fields(
            await workshop.git.out(
                *_DIFF, "--raw", "-z", "--no-abbrev", "--diff-filter=ACMRT", ends.base, ends.head
            )
        )
    )
    touched = list(_touched(raw))
    # The patch lists the same files in the same order, which spares us reading the names git writes
    # there.
    patch = await workshop.git.ran(
        *_DIFF, "-p", "-U0", "--no-color", "--diff-filter=ACMR", ends.base, ends.head
    )
    lines = _lines(patch.stdout) if patch.ok else {}
    position = 0
    for status, mode, path in touched:
        found = (WHOLE,) if status == "T" or not patch.ok else tuple(lines.get(position, ()))
        position += status != "T"
        if mode in REGULAR and speakable(path):
            yield path, found


def _touched(raw: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Status letter, new mode and new path of each entry of git's raw format."""
    parts = iter(raw)
    for facts in parts:
        _, mode, _, _, status = facts.split(" ")
        path = next(parts)
        yield status[0], mode, next(parts) if status[0] in "RC" else path


def _lines(patch: bytes) -> dict[int, list[Lines]]:
    """The changed lines of each file by its position in the patch; taken-out lines leave nothing to
    point at.
    """
    found: dict[int, list[Lines]] = {}
    position = -1
    for mark in _MARKS.finditer(patch):
        header, binary, new, first, count = mark.groups()
        if header:
            position += 1
        elif (
            binary or new
        ):  # of a new file all is new, also the line after its last, where parsers complain
            found[position] = [WHOLE]
        elif (length := int(count) if count else 1) > 0:
            found.setdefault(position, []).append(Lines(int(first), int(first) + length - 1))
    return found


def _asked_for(paths: tuple[str, ...], listing: dict[str, Entry]) -> tuple[str, ...]:
    """The paths, unless one names nothing; the root itself is no limit."""
    for path in paths:
        if (
            path != "."
            and path not in listing
            and not any(_within(known, (path,)) for known in listing)
        ):
            raise UsageError(
                f"{path}: no such file or folder in the commit under review",
                hint="commit it first, or check the spelling",
            )
    return () if "." in paths else paths


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


async def _left_out(workshop: Workshop, kind: ScopeKind) -> AsyncIterator[str]:
    checkout = workshop.checkout
    if count := await checkout.uncommitted(unstaged_only=kind is ScopeKind.STAGED):
        what = "work that is not staged" if kind is ScopeKind.STAGED else "uncommitted work"
        yield f"{what} is left out: {_files(count)}"
    if not await checkout.branch():
        yield f"HEAD is detached at {checkout.head[:10]}"
    if checkout.shallow and kind is ScopeKind.BRANCH:
        yield "shallow clone: older history is not here"


def _odd_files(listing: dict[str, Entry]) -> Iterator[str]:
    """What a review does not look into, said once."""
    submodules = [path for path, entry in listing.items() if entry.mode == SUBMODULE]
    links = [path for path, entry in listing.items() if entry.mode == LINK]
    unspeakable = [path for path, entry in listing.items() if entry.regular and not speakable(path)]
    if submodules:
        yield f"submodules are not entered: {few(submodules)}"
    if links:
        yield f"links are not followed: {few(links)}"
    if unspeakable:
        yield (
            f"{_files(len(unspeakable))} with names that are not UTF-8 left out: {few(unspeakable)}"
        )


def few(paths: Sequence[str], most: int = _SEVERAL) -> str:
    """The first of the paths, and how many more there are."""
    rest = len(paths) - most
    return ", ".join(map(shown, paths[:most])) + (f" and {rest} more" if rest > 0 else "")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
