"""Looks behind the silence of analyzers about items of an earlier run: are they only hidden?"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from punchlist.adapters.analyzers.registry import (
    build_analyzers,
    build_unsuppressed,
    undeclared_analyzers,
)
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.session import Session
from punchlist.app.start.allowance import survey_code
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.model.dedup.identity import match_findings
from punchlist.model.finding.finding import Finding
from punchlist.model.integrity.new_comments import strip_new_comments
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch
from punchlist.ports.analyzer import Analyzer
from punchlist.ports.tree import Pristine
from punchlist.settings import Settings, decode_settings
from punchlist.steps.judging.silence import UNDECLARED, subtract_findings
from punchlist.steps.judging.witness import make_file_patch

_SWITCHED_OFF = "with its suppressions switched off and its configuration as it was"
_WITHOUT_COMMENTS = "without the comments added since and with its configuration as it was"
_NO_COMMIT = "the commit that was reviewed first is gone, and with it how it was configured"


class HiddenFindings(Struct, frozen=True):
    """`seen`: by item, who reports it once nothing hides it. `unproven`: by analyzer, why its
    silence is no proof.
    """

    seen: dict[int, str] = {}
    unproven: dict[str, str] = {}


class _Look(Struct, frozen=True):
    """The trees in which analyzers look again, at these paths; None if the first one is gone."""

    trees: WorkTrees
    paths: tuple[str, ...]
    before: str | None
    after: str
    steering: tuple[str, ...]

    async def ask(
        self,
        commit: str,
        analyzers: Mapping[str, Analyzer],
        failed: dict[str, str],
        patches: Iterable[Patch] = (),
    ) -> list[Finding]:
        """Return what the analyzers report; `failed` gets why one of them could not look."""
        old = Pristine(origin=self.before, alone=self.steering) if self.before else None
        found: list[Finding] = []
        async with self.trees.open_tree(commit, patches, pristine=old) as tree:
            paths = [path for path in tree.files() if path in self.paths]
            for source, analyzer in analyzers.items() if paths else ():
                said = await analyzer.analyze(tree, paths)
                if said.failed:
                    failed[source] = f"it failed when it looked for what is hidden: {said.failed}"
                found += said.findings
        return found


def list_item_paths(run: Run, numbers: Sequence[int]) -> list[str]:
    """Return the files that the findings of these items are in."""
    findings = (finding for number in numbers for finding in run.items[number].findings)
    return sorted({finding.spot.path for finding in findings} - {""})


async def find_hidden(
    session: Session, earlier: Run, numbers: Sequence[int], later: Run
) -> HiddenFindings:
    """Let the analyzers that reported the items look at the later commit with their suppressions
    off, or without the comments added since, and configured as on the earlier commit.
    """
    checkout = session.required_checkout
    settings = decode_settings(later.started.settings).settings
    sighted = (finding for number in numbers for finding in earlier.items[number].sighted)
    sources = sorted({finding.source for finding in sighted} & {*later.started.reviewers})
    workshop = await session.workshop()
    before, after = earlier.started.change.head, later.started.change.head
    there = (await checkout.git.run("cat-file", "-e", f"{before}^{{commit}}")).ok
    code = await _survey_code(workshop, before, settings, sources, later) if there else ()
    kit = Kit(
        checkout=checkout.root,
        tracked=workshop.tracked_environments,
        configurations={each.analyzer: each for each in code},
        read_base=partial(checkout.read_file, before),
        wishes=settings.sandbox.wishes,
        private=(resolve_path(session.home),),
    )
    bare = build_unsuppressed(settings.analyzers, kit, sources)
    rest = build_analyzers(settings.analyzers, kit, [name for name in sources if name not in bare])
    look = _Look(
        WorkTrees(workshop),
        tuple(list_item_paths(earlier, numbers)),
        before if there else None,
        after,
        (*settings.protected.steering, *(path for each in code for path in each.named)),
    )
    unproven = dict.fromkeys(sources, _NO_COMMIT) if not there else {}
    unproven |= dict.fromkeys(undeclared_analyzers(settings.analyzers) & rest.keys(), UNDECLARED)
    off = await look.ask(after, bare, unproven)
    known = await look.ask(before, bare, {}) if off and there else []
    stripped = await _strip_comments(session, look) if rest else []
    plain = await look.ask(after, rest, unproven, stripped)
    seen = _match_items(earlier, off, known, _SWITCHED_OFF)
    return HiddenFindings(_match_items(earlier, plain, [], _WITHOUT_COMMENTS) | seen, unproven)


async def _survey_code(
    workshop: Workshop, commit: str, settings: Settings, sources: Sequence[str], later: Run
) -> tuple[ToolConfiguration, ...]:
    """Return what analyzers would load there; what the later run was allowed is allowed."""
    allowed = {each.fingerprint for each in later.started.configurations if each.allowed}
    return await survey_code(workshop, commit, settings.analyzers, sources, allowed.__contains__)


async def _strip_comments(session: Session, look: _Look) -> list[Patch]:
    """Return patches that remove the comments that were added since the first commit."""
    patches: list[Patch] = []
    for path in look.paths:
        old = await _read_text(session, look.before, path)
        new = await _read_text(session, look.after, path)
        bare = strip_new_comments(path, old, new)
        if bare != new:
            patches.append(make_file_patch(path, bare))
    return patches


async def _read_text(session: Session, commit: str | None, path: str) -> str:
    raw = await session.required_checkout.read_file(commit, path) if commit else None
    return (raw or b"").decode("utf-8", "surrogateescape")


def _match_items(
    earlier: Run, found: Sequence[Finding], known: Sequence[Finding], how: str
) -> dict[int, str]:
    """Return by item how it is reported; `known` is what the earlier commit hid as well."""
    own = [(item.number, each) for item in earlier.items.values() for each in item.findings]
    hidden = subtract_findings(known, [each for _, each in own])
    pairs = match_findings([*(each for _, each in own), *hidden], found)
    seen: dict[int, str] = {}
    for new, old in pairs.items():
        if old < len(own):
            finding = found[new]
            where = f"{finding.spot.path}:{finding.spot.line or '?'}"
            seen[own[old][0]] = f"{how}, {finding.source} reports it at {where}"
    return seen
