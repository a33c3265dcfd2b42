"""Split an agent's changes by batch, and from earlier work in its tree."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.protected import Protected, matches_any
from punchlist.model.finding.finding import Splice
from punchlist.model.integrity.hunk_ownership import AskedItem, find_nearest
from punchlist.model.item.batch import Batch
from punchlist.model.patch.patch import Patch, ReservedSpans, combine_patches, splices_between

LINK = "120000"
BESIDE = "touched, and no finding here is about it"


class OwnPatch(Struct, frozen=True):
    """`patch` is against the commit. `over`: it rewrote earlier work, which is now part of it."""

    patch: Patch
    over: bool = False


def separate_own(total: Patch, laid: Sequence[Patch], before: Mapping[str, str]) -> OwnPatch:
    """Return what was done on top of patches in the tree. `before` has the texts of the commit.

    If every earlier change is still there, line for line, the rest is new work by itself.
    """
    known = {
        splice
        for path, text in combine_patches(laid, before).items()
        for splice in splices_between(path, before[path], text)
    }
    files = {change for patch in laid for change in patch.files}
    if not known <= set(total.splices) or not files <= set(total.files):
        return OwnPatch(total, over=True)
    own_splices = tuple(splice for splice in total.splices if splice not in known)
    return OwnPatch(Patch(own_splices, tuple(f for f in total.files if f not in files)))


def find_absorbed(laid: Mapping[int, Patch], parts: Mapping[int, Patch]) -> dict[int, int]:
    """Return the earlier patches that became part of a new one, old number to new; one that was
    completely undone is part of none.
    """
    found: dict[int, int] = {}
    for number, part in parts.items():
        taken = ReservedSpans()
        taken.reserve(part)
        found |= {old: number for old, patch in laid.items() if not taken.admits(patch)}
    return found


def split_patch(
    patch: Patch,
    batches: Sequence[Batch],
    asked: Mapping[int, Sequence[AskedItem]],
    before: Mapping[str, str],
) -> dict[int, Patch]:
    """Split a patch by file: to the batch about the file, else the one whose claim names it, else
    the first with a claim. Where several batches are about one file, by the nearest finding.
    """
    claims = {
        path: number for number, items in asked.items() for each in items for path in each.named
    }
    about = {path: batch.number for batch in batches for path in batch.paths}
    claimed = [number for number, items in asked.items() if any(each.claim for each in items)]
    spare = (claimed or [batch.number for batch in batches])[0]
    home = {path: about.get(path, claims.get(path, spare)) for path in patch.paths}
    batch_of = {each.number: number for number, items in asked.items() for each in items}
    shared = {path for path in patch.paths if sum(path in each.paths for each in batches) > 1}

    def home_of(splice: Splice) -> int:
        path = splice.path
        if path not in shared or path not in before:
            return home[path]
        every = [each for items in asked.values() for each in items]
        nearest = find_nearest(splice, every, before[path])
        return home[path] if nearest is None else batch_of[nearest]

    homes = {splice: home_of(splice) for splice in patch.splices}
    found: dict[int, Patch] = {}
    for number in dict.fromkeys((*homes.values(), *(home[each.path] for each in patch.files))):
        found[number] = Patch(
            tuple(splice for splice in patch.splices if homes[splice] == number),
            tuple(change for change in patch.files if home[change.path] == number),
        )
    return found


def update_batch(
    batch: Batch, patch: Patch, protected: Protected, present: frozenset[str]
) -> Batch:
    """Return the batch with the files really touched; new tests are not protected."""
    judges = [path for path in patch.paths if _is_protected(path, protected, present)]
    mixed = 0 < len(judges) < len(patch.paths)
    return replace(batch, paths=patch.paths, protected=bool(judges), mixed=mixed, patch=None)


def _is_protected(path: str, protected: Protected, present: frozenset[str]) -> bool:
    return matches_any(path, protected.configuration) or (
        path in present and matches_any(path, protected.tests)
    )


def find_extra_files(
    batch: Batch, patch: Patch, present: frozenset[str], protected: Protected
) -> tuple[str, ...]:
    """Return a note for each touched file but new tests that no finding of the batch is about."""
    extra = [
        path
        for path in patch.paths
        if path not in batch.paths and (path in present or not matches_any(path, protected.tests))
    ]
    return tuple(f"{path}: {BESIDE}" for path in extra)


def find_refusal(patch: Patch) -> str:
    """Return why the patch must never be applied, or ""."""
    made = [change for change in patch.files if change.content is not None]
    links = [change.path for change in made if change.mode == LINK]
    return f"{links[0]}: a symbolic link, which no fix may make" if links else ""
