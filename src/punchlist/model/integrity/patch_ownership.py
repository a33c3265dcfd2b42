"""What an agent left in its tree, told apart: whose work it is, and what of it was there before."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from punchlist.model.checks.protected import Protected, matches
from punchlist.model.item.batch import Batch
from punchlist.model.item.claim import Report
from punchlist.model.patch.patch import FileChange, Patch, Taken, combined, splices_between

LINK = "120000"


class Own(Struct, frozen=True):
    """`patch` is against the commit. `over`: earlier work was written over, and is part of the
    patch now.
    """

    patch: Patch
    over: bool = False


def own(total: Patch, laid: Sequence[Patch], before: Mapping[str, str]) -> Own:
    """What was done on top of patches that lay in the tree. `before` has the texts of the commit.

    Where every earlier change is still there, line for line, the rest is new work that stands by
    itself.
    """
    known = [
        splice
        for path, text in combined(laid, before).items()
        for splice in splices_between(path, before[path], text)
    ]
    files = {change for patch in laid for change in patch.files}
    if not set(known) <= set(total.splices) or not files <= set(total.files):
        return Own(total, over=True)
    rest = set(known)
    return Own(
        Patch(
            tuple(s for s in total.splices if s not in rest),
            tuple(f for f in total.files if f not in files),
        )
    )


def taken_in(laid: Mapping[int, Patch], parts: Mapping[int, Patch]) -> dict[int, int]:
    """Earlier patches that have become part of a new one, old number to new. What was undone
    altogether is part of none: the new one leaves those lines as the commit has them, so the
    earlier one stands beside it.
    """
    found: dict[int, int] = {}
    for number, part in parts.items():
        taken = Taken()
        taken.take(part)
        found |= {old: number for old, patch in laid.items() if not taken.admits(patch)}
    return found


def shared_out(
    patch: Patch, batches: Sequence[Batch], reports: Iterable[Report]
) -> dict[int, Patch]:
    """One patch of several batches, file by file: to the batch that is about the file, else to the
    one whose report names it, else to the first that claims anything. What is together in a file
    stays together.
    """
    said = {report.item: report for report in reports}
    claims = {
        path: batch.number
        for batch in batches
        for item in batch.items
        if item in said
        for path in said[item].files
    }
    about = {path: batch.number for batch in batches for path in batch.paths}
    claimed = [batch.number for batch in batches if any(item in said for item in batch.items)]
    spare = (claimed or [batch.number for batch in batches])[0]
    home = {path: about.get(path, claims.get(path, spare)) for path in patch.paths}
    found: dict[int, Patch] = {}
    for number in dict.fromkeys(home.values()):
        found[number] = Patch(
            tuple(splice for splice in patch.splices if home[splice.path] == number),
            tuple(change for change in patch.files if home[change.path] == number),
        )
    return found


def as_it_turned_out(
    batch: Batch, patch: Patch, protected: Protected, present: frozenset[str]
) -> Batch:
    """The batch with the files that were really touched. New tests are welcome; new configuration
    is the judge's.
    """
    judges = [path for path in patch.paths if _of_the_judge(path, protected, present)]
    return Batch(
        number=batch.number,
        items=batch.items,
        fixer=batch.fixer,
        title=batch.title,
        paths=patch.paths,
        safety=batch.safety,
        protected=bool(judges),
        mixed=bool(judges) and len(judges) < len(patch.paths),
    )


def _of_the_judge(path: str, protected: Protected, present: frozenset[str]) -> bool:
    return matches(path, protected.configuration) or (
        path in present and matches(path, protected.tests)
    )


def beside(
    batch: Batch, patch: Patch, present: frozenset[str], protected: Protected
) -> tuple[str, ...]:
    """Files that were touched though no finding of the batch is about them; new tests are asked
    for.
    """
    extra = [
        path
        for path in patch.paths
        if path not in batch.paths and (path in present or not matches(path, protected.tests))
    ]
    return tuple(f"{path}: touched, and no finding here is about it" for path in extra)


def refused(patch: Patch) -> str:
    """Why such a patch is never laid anywhere."""
    links = [change.path for change in patch.files if _is_link(change)]
    return f"{links[0]}: a symbolic link, which no fix may make" if links else ""


def _is_link(change: FileChange) -> bool:
    return change.content is not None and change.mode == LINK
