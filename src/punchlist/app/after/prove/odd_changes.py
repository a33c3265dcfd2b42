"""Find what a commit changes that neither analyzers nor checks look at, or that is not a fix's."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.adapters.git.command import LINK, SUBMODULE, TreeEntry, escape_path, is_utf8
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.prove.evidence import Evidence
from punchlist.app.after.prove.ground import ProvenCommit
from punchlist.app.after.prove.verdict import Said, Verdict
from punchlist.model.checks.protected import STEERS_AGENTS, Protected, matches_any
from punchlist.model.integrity.new_tests import only_adds_tests
from punchlist.model.item.proof import ProofClass
from punchlist.steps.judging.patch_text_scan import is_weaker

_STEERS_GIT = frozenset({".gitattributes", ".gitmodules"})
Listing = Mapping[str, TreeEntry]


class _Trees(Struct, frozen=True):
    base: Listing
    parent: Listing
    commit: Listing


async def find_odd_changes(
    workshop: Workshop, base: str, at: ProvenCommit, evidence: Evidence, protected: Protected
) -> list[Said]:
    """Return what speaks against the files that a commit changes."""
    trees = _Trees(*[await workshop.list_tree(each) for each in (base, at.parent, at.commit)])
    found = [*_find_unseen(trees)]
    claimed = find_claimed_paths(evidence)
    for path in at.paths:
        steers = protected.holds(path) or matches_any(path, STEERS_AGENTS)
        if steers and not await _adds_tests(workshop, path, trees, protected):
            found += await _judge_protected(workshop, path, trees, claimed)
    return found


def _find_unseen(trees: _Trees) -> Iterator[Said]:
    """Yield what a checkout of the commit has and the files that were looked at have not."""
    for path in sorted({*trees.base, *trees.parent, *trees.commit}):
        before, after = trees.parent.get(path), trees.commit.get(path)
        entries = (trees.base.get(path), before, after)
        if entries[0] == after and before == after:
            continue
        own = before != after
        verdict = Verdict.DISAGREE if own else Verdict.CANNOT_TELL
        who = "it" if own else "what came before it, above the base here,"
        modes = {entry.mode for entry in entries if entry is not None}
        name = escape_path(path)
        if SUBMODULE in modes:
            yield verdict, f"{who} changes the submodule {name}, whose files nothing here looks at"
        elif PurePosixPath(path).name.casefold() in _STEERS_GIT:
            made = "which decides what a checkout or an archive makes of files"
            yield verdict, f"{who} changes {name}, {made}"
        elif own and LINK in modes:
            yield Verdict.CANNOT_TELL, f"it changes the link {name}, and links are not followed"
        elif own and not is_utf8(path):
            yield Verdict.CANNOT_TELL, f"it changes {name}, which no analyzer can be asked about"


def find_claimed_paths(evidence: Evidence) -> dict[str, bool]:
    """Return the files that the commit's items are about, and whether an analyzer is said to be
    silent about one now.
    """
    found: dict[str, bool] = {}
    for number, kinds in evidence.claims.items():
        item = evidence.find_item(number)
        if item is not None:
            for each in (item.current, *item.sighted):
                told = ProofClass.RECHECKED in kinds
                found[each.spot.path] = found.get(each.spot.path, False) or told
    return found


async def _judge_protected(
    workshop: Workshop, path: str, trees: _Trees, claimed: Mapping[str, bool]
) -> list[Said]:
    """A fix changes tests, configuration and what steers agents only if a finding is about them,
    and no check can speak for such a change: the base's are in their place.
    """
    if path not in claimed:
        what = "which is a test or steers tools, and none of its items is about it"
        return [(Verdict.DISAGREE, f"it changes {path}, {what}")]
    if not claimed[path]:
        what = "which is a test or steers tools, and no analyzer speaks for that"
        return [(Verdict.CANNOT_TELL, f"it changes {path}, {what}: look at the change")]
    before, after = [
        await _read(workshop, path, listing) for listing in (trees.parent, trees.commit)
    ]
    if is_weaker(before, after):
        weaker = f"{path} asserts less than on the parent: look at the change"
        return [(Verdict.CANNOT_TELL, weaker)]
    return []


async def _adds_tests(workshop: Workshop, path: str, trees: _Trees, protected: Protected) -> bool:
    """Return whether it is a new test file, or one that only gains tests."""
    if matches_any(path, protected.configuration) or not matches_any(path, protected.tests):
        return False
    if path not in trees.commit:
        return False
    if path not in trees.parent:
        return True
    return only_adds_tests(
        path, await _read(workshop, path, trees.parent), await _read(workshop, path, trees.commit)
    )


async def _read(workshop: Workshop, path: str, listing: Listing) -> str:
    entry = listing.get(path)
    if entry is None or not entry.regular:
        return ""
    return (await workshop.read_blobs([entry.blob]))[0].decode("utf-8", "surrogateescape")
