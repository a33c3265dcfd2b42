"""A patch as a unified diff, as reviewers and challengers see it."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff

from punchlist.model.patch.patch import FileChange, Patch, combine_patches


def render_diff(patch: Patch, before: Mapping[str, str]) -> str:
    """Return the patch as a unified diff; `before` has the old texts."""
    after = combine_patches([patch], before)
    parts = [part for path in sorted(after) for part in _diff_text(path, before[path], after[path])]
    parts += [part for change in patch.files for part in _diff_file(change, before)]
    return "".join(parts)


def _diff_file(change: FileChange, before: Mapping[str, str]) -> Iterator[str]:
    if "\0" in (change.content or ""):
        yield f"Binary file {change.path} differs\n"
        return
    path, gone = change.path, change.content is None
    old = before.get(path, "")
    yield from _diff_text(path, old, change.text, new_file=path not in before, gone=gone)


def _diff_text(
    path: str, old: str, new: str, *, new_file: bool = False, gone: bool = False
) -> Iterator[str]:
    names = ("/dev/null" if new_file else f"a/{path}", "/dev/null" if gone else f"b/{path}")
    for line in unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), *names):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
