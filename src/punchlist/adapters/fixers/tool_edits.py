"""Fixer that applies the edits analyzers propose, and refuses those that fix nothing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from punchlist.model.finding.finding import Splice
from punchlist.model.integrity.suppressions import Suppressions, find_syntax_error
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Item
from punchlist.model.patch.patch import Patch, apply_splices, has_overlap
from punchlist.ports.fixer import BatchFix
from punchlist.ports.tree import Tree


class EditFixer:
    """Deterministic fixer. A file is parsed once with all its batches; if that fails, once per
    batch.
    """

    def __init__(self, suppressions: Suppressions) -> None:
        self._suppressions = suppressions

    async def fix(
        self, batches: Sequence[Batch], items: Mapping[int, Item], tree: Tree
    ) -> Sequence[BatchFix]:
        texts = {path: tree.text(path) for batch in batches for path in batch.paths}
        refused: dict[int, str] = {}
        sound: list[tuple[Batch, Patch]] = []
        for batch in batches:
            patch = batch.patch or Patch()
            reason = _refusal_reason(batch, patch, items, texts) or self._silencing(patch, texts)
            if reason:
                refused[batch.number] = reason
            else:
                sound.append((batch, patch))
        refused |= dict(_find_unparsable(sound, texts))
        return [
            BatchFix(batch=b.number, refused=refused[b.number])
            if b.number in refused
            else BatchFix(batch=b.number, patch=b.patch)
            for b in batches
        ]

    def _silencing(self, patch: Patch, texts: Mapping[str, str | None]) -> str:
        """Why edits that fit only hide a finding, as far as the texts alone say."""
        before, after = "", ""
        for splice in patch.splices:
            text = texts[splice.path] or ""
            # Whole lines: a mark that hides a finding may stand half in the old text and half in
            # the new.
            first, last = text.rfind("\n", 0, splice.start) + 1, text.find("\n", splice.end)
            head = text[first : splice.start]
            tail = text[splice.end : last if last >= 0 else len(text)]
            before += f"{head}{text[splice.start : splice.end]}{tail}\n"
            after += f"{head}{splice.text}{tail}\n"
        count = self._suppressions.count
        return "it only adds a suppression" if count(after) > count(before) else ""


def _refusal_reason(
    batch: Batch, patch: Patch, items: Mapping[int, Item], texts: Mapping[str, str | None]
) -> str:
    if not patch:
        return "no change was made"
    if batch.mixed:
        return "it changes tests or CI configuration together with the code"
    about = {items[number].current.spot.path for number in batch.items}
    if batch.protected and not set(patch.paths) <= about:
        return "it would change tests or CI configuration that the finding is not about"
    return _misfit_reason(patch, texts) or ("" if _changes(patch, texts) else "no change was made")


def _misfit_reason(patch: Patch, texts: Mapping[str, str | None]) -> str:
    """Return why the edits cannot be applied to the texts, or ''."""
    for splice in patch.splices:
        text = texts.get(splice.path)
        if text is None:
            return f"{splice.path} cannot be read as text"
        if not 0 <= splice.start <= splice.end <= len(text):
            return f"the proposed edit lies outside {splice.path}"
    return "the proposed edits overlap" if has_overlap(patch.splices) else ""


def _changes(patch: Patch, texts: Mapping[str, str | None]) -> bool:
    return any(
        (texts[splice.path] or "")[splice.start : splice.end] != splice.text
        for splice in patch.splices
    )


def _find_unparsable(
    sound: Sequence[tuple[Batch, Patch]], texts: Mapping[str, str | None]
) -> Iterator[tuple[int, str]]:
    by_path: dict[str, list[tuple[int, tuple[Splice, ...]]]] = defaultdict(list)
    for batch, patch in sound:
        for path in patch.paths:
            by_path[path].append(
                (batch.number, tuple(splice for splice in patch.splices if splice.path == path))
            )
    for path, edits in by_path.items():
        text = texts[path]
        if text is None or find_syntax_error(path, text):
            continue  # what did not parse before is no measure
        if find_syntax_error(
            path, apply_splices(text, [splice for _, splices in edits for splice in splices])
        ):
            yield from (
                (number, broken)
                for number, splices in edits
                if (broken := find_syntax_error(path, apply_splices(text, splices)))
            )
