"""A patch as a unified diff: the form in which reviewers and challengers are shown what changed."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff

from punchlist.model.patch.patch import FileChange, Patch, combined


def unified(patch: Patch, before: Mapping[str, str]) -> str:
    """`before` has the old texts of the files there were."""
    after = combined([patch], before)
    parts = [part for path in sorted(after) for part in _text(path, before[path], after[path])]
    return "".join([*parts, *(part for change in patch.files for part in _file(change, before))])


def _file(change: FileChange, before: Mapping[str, str]) -> Iterator[str]:
    if "\0" in (change.content or ""):
        yield f"Binary file {change.path} differs\n"
        return
    old = before.get(change.path, "")
    yield from _text(
        change.path,
        old,
        change.text,
        new_file=change.path not in before,
        gone=change.content is None,
    )


def _text(
    path: str, old: str, new: str, *, new_file: bool = False, gone: bool = False
) -> Iterator[str]:
    names = ("/dev/null" if new_file else f"a/{path}", "/dev/null" if gone else f"b/{path}")
    for line in unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), *names):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
