"""Refuse a fix that moves what an analyzer reported to another file, whether it looks there or not.

The text of each other file that the patch writes is shown to the analyzer beside the file of its
finding, where no exclusion and no rule that is off for a folder applies.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from punchlist.model.checks.protected import matches_any
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.languages import find_language
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import FileChange, Patch, combine_patches
from punchlist.ports.analyzer import Analysis
from punchlist.ports.world import World
from punchlist.steps.judging.silence import Look, steering_of_base

_COPY = "punchlist_look_{}"


_MIXED = (
    frozenset(("JavaScript", "TypeScript", "Vue", "Svelte", "Astro", "CoffeeScript")),
    frozenset(("C", "C++", "Objective-C")),
    frozenset(("Java", "Kotlin", "Scala", "Groovy")),
)
"""Languages whose files make up one program."""


class Copy(NamedTuple):
    """A file that a patch writes, and where its texts stand to be looked at: under the suffix of
    the finding's file, and under its own.
    """

    path: str
    target: Finding
    before: tuple[str, ...]
    after: tuple[str, ...]


async def find_moved(
    look: Look, targets: Mapping[int, Sequence[Finding]], run: Run, world: World
) -> dict[int, str]:
    """Return the agents' batches after which another file breaks a rule that the batch was to see
    to, and why. `targets`: by batch, the analyzers' findings on what it claims to have fixed.
    """
    files: dict[str, str] = {}
    copies: dict[int, list[Copy]] = {}
    for batch in look.batches:
        if batch.uses_agent:
            texts = _Texts(run.work.patches[batch.number], look.before, world.protected.tests)
            copies[batch.number] = list(texts.copy_files(targets[batch.number], files))
    if not files:
        return {}
    said = await _look_at_copies(look, files, copies, run, world)
    found = {number: _describe_moved(each, said) for number, each in copies.items()}
    return {number: why for number, why in found.items() if why}


class _Texts:
    """The files of one patch."""

    def __init__(self, patch: Patch, before: Mapping[str, str], tests: tuple[str, ...]) -> None:
        known = {path: text for path, text in before.items() if path in patch.paths}
        whole = {each.path: each.text for each in patch.files if each.content is not None}
        self._before = known
        self._after = {**combine_patches([patch], known), **whole}
        self._tests = tests
        self._copies: dict[tuple[str, str, str], str] = {}

    def copy_files(self, targets: Sequence[Finding], files: dict[str, str]) -> Iterator[Copy]:
        """Yield a copy of each file to be looked at, and add its texts to `files`."""
        own = {(finding.source, finding.spot.path) for finding in targets}
        seen = set()
        for target in targets:
            for path in self._after:
                key = (target.source, target.rule or target.title, path)
                if (target.source, path) in own or key in seen or not self._may_hide(path, target):
                    continue
                seen.add(key)
                before, after = self._pair(path)
                yield Copy(
                    path,
                    target,
                    self._put_copies(path, target, before, files),
                    self._put_copies(path, target, after, files),
                )

    def _pair(self, path: str) -> tuple[str, str]:
        return self._before.get(path, ""), self._after[path]

    def _may_hide(self, path: str, target: Finding) -> bool:
        """Return whether the file is of the target's language, and of the program: a test file
        only if the program names it, or if it takes over the very line.
        """
        before, after = self._pair(path)
        place = target.spot.path
        languages = {
            find_language(path, after[:100]),
            find_language(place, self._before.get(place, "")[:100]),
        }
        if len(languages) > 1 and not any(languages <= mixed for mixed in _MIXED):
            return False
        if not matches_any(path, self._tests) or self._is_named(path):
            return True
        return self._find_line(target) in {line.strip() for line in after.splitlines()} - {
            line.strip() for line in before.splitlines()
        }

    def _find_line(self, target: Finding) -> str:
        lines = self._before.get(target.spot.path, "").splitlines()
        line = target.spot.line or 0
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def _is_named(self, path: str) -> bool:
        """Return whether a file of the program names this one now, and did not before."""
        pure = PurePosixPath(path)
        word = re.compile(rf"\b{re.escape(pure.parent.name if '__' in pure.stem else pure.stem)}\b")
        return any(
            word.search(text) and not word.search(self._before.get(other, ""))
            for other, text in self._after.items()
            if not matches_any(other, self._tests)
        )

    def _put_copies(
        self, path: str, target: Finding, text: str, files: dict[str, str]
    ) -> tuple[str, ...]:
        """Return where a text stands; it stands beside the files of each folder once."""
        place, own = PurePosixPath(target.spot.path), PurePosixPath(path)
        names = []
        for suffix in dict.fromkeys((place.suffix, own.suffix or place.suffix)):
            key = (f"{place.parent}/{suffix}", path, text)
            if key not in self._copies:
                stem = _COPY.format(len(files))
                # A package's own file is read by other rules than a module.
                end = f"{stem}/{own.name}" if own.stem == "__init__" else f"{stem}{suffix}"
                self._copies[key] = str(place.parent / end)
                files[self._copies[key]] = text
            names.append(self._copies[key])
        return tuple(names)


async def _look_at_copies(
    look: Look,
    files: Mapping[str, str],
    copies: Mapping[int, Sequence[Copy]],
    run: Run,
    world: World,
) -> dict[str, Analysis]:
    """Return by analyzer what it says of the copies, with its suppressions off if it can."""
    changes = [
        FileChange(path, text.encode("utf-8", "surrogateescape").decode("latin-1"))
        for path, text in files.items()
    ]
    patches = [run.work.patches[batch.number] for batch in look.batches]
    said: dict[str, Analysis] = {}
    async with world.trees.open_tree(
        run.landing.tip, [*patches, Patch(files=tuple(changes))], pristine=steering_of_base(world)
    ) as tree:
        for source in sorted({copy.target.source for each in copies.values() for copy in each}):
            analyzer = world.unsuppressed.get(source) or world.analyzers[source]
            about = [copy for each in copies.values() for copy in each]
            ours = [copy for copy in about if copy.target.source == source]
            named = {name for copy in ours for name in (*copy.before, *copy.after)}
            said[source] = await analyzer.analyze(tree, sorted(named))
    return said


def _describe_moved(copies: Sequence[Copy], said: Mapping[str, Analysis]) -> str:
    """Return where code went that breaks the rule of a finding, or ''."""
    for copy in copies:
        target, analysis = copy.target, said[copy.target.source]
        unseen = {*analysis.unread, *analysis.left_out}
        if analysis.failed or analysis.skipped or unseen.issuperset(copy.after):
            why = analysis.failed or analysis.skipped or "it could not read it"
            return f"writes {copy.path}, and {target.source} could not look at that: {why}"
        counts = Counter(
            each.spot.path for each in analysis.findings if _rule(each) == _rule(target)
        )
        pairs = zip(copy.before, copy.after, strict=True)
        if any(counts[new] > counts[old] and new not in unseen for old, new in pairs):
            return (
                f"moves what {target.source} reported ({_rule(target)}) to {copy.path}"
                " instead of fixing it"
            )
    return ""


def _rule(finding: Finding) -> str:
    return finding.rule or finding.title
