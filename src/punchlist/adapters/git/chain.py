"""Read what each commit of a chain changes, and draft other commits with the same result."""

import re
from collections.abc import Iterator, Mapping, Sequence

from punchlist.adapters.git.command import REGULAR, Git, TreeEntry, decode_text
from punchlist.adapters.git.workshop import Workshop
from punchlist.model.finding.finding import Splice
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.patch.line_regions import ChangeLines, LineEdit, Region
from punchlist.model.patch.parse_diff import DiffFile, parse_diff, parse_hunks
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.ports.repository import Draft, MadeCommit, RegionDraft

_COMMIT = late_pattern(r"^commit ([0-9a-f]{40,64})\n", re.MULTILINE)  # no line of a diff is like it
_DIFF = ("-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_REPLACED = ("new file mode", "deleted file mode", "old mode")


def arranged_ref(branch: str) -> str:
    """Return the workshop's ref of the branch with its commits grouped."""
    return f"refs/arranged/{branch}"


async def read_chain(git: Git, parent: str, tip: str) -> tuple[MadeCommit, ...]:
    log = ("log", "--reverse", "--first-parent")
    span = f"{parent}..{tip}"
    printed = await git.check_output(*log, "-z", "--format=%H%n%B", span)
    told = (decode_text(each).partition("\n") for each in printed.split(b"\0") if each.strip())
    messages = {commit: message for commit, _, message in told}
    diffs = decode_text(await git.check_output(*log, *_DIFF, "--format=commit %H", span))
    _, *parts = _COMMIT.split(diffs)
    return tuple(
        MadeCommit(commit, messages[commit], _read_lines(diff))
        for commit, diff in zip(parts[::2], parts[1::2], strict=True)
    )


def _read_lines(diff: str) -> ChangeLines:
    edits: list[LineEdit] = []
    replaced: list[str] = []
    for file in parse_diff(diff.strip("\n")):
        if _is_replaced(file):
            replaced.append(file.path)
            continue
        for hunk in parse_hunks(file.body):
            gone = sum(line.startswith("-") for line in hunk.lines[1:])
            first = hunk.old - 1 if gone else hunk.old  # git names the line before an insertion
            added = sum(line.startswith("+") for line in hunk.lines[1:])
            edits.append(LineEdit(file.path, first, first + gone, added))
    return ChangeLines(tuple(edits), tuple(replaced))


def _is_replaced(file: DiffFile) -> bool:
    """Return whether the file is made, deleted, binary or a link, or gets another mode."""
    mode = file.value("index ").rpartition(" ")[2]
    return not file.body or mode not in REGULAR or any(map(file.value, _REPLACED))


async def draft_regions(
    workshop: Workshop, parent: str, tip: str, commits: Sequence[RegionDraft]
) -> tuple[Draft, ...]:
    """Return the commits as patches against the parent."""
    old, new = await workshop.list_tree(parent), await workshop.list_tree(tip)
    regions = [region for commit in commits for region in commit.regions]
    paths = {region.path for region in regions}
    after = await _read_files(workshop, new, paths & new.keys())
    edited = {region.path for region in regions if not region.whole}
    before = await _read_files(workshop, old, edited)
    return tuple(
        Draft(commit.message, _make_patch(commit.regions, before, after, new)) for commit in commits
    )


async def _read_files(
    workshop: Workshop, listing: Mapping[str, TreeEntry], paths: set[str]
) -> dict[str, bytes]:
    names = sorted(paths)
    contents = await workshop.read_blobs([listing[path].blob for path in names])
    return dict(zip(names, contents, strict=True))


def _make_patch(
    regions: Sequence[Region],
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    listing: Mapping[str, TreeEntry],
) -> Patch:
    files = tuple(
        FileChange(path, after[path].decode("latin-1"), listing[path].mode)
        if path in after
        else FileChange(path, None)
        for path in (region.path for region in regions if region.whole)
    )
    by_path: dict[str, list[Region]] = {}
    for region in regions:
        if not region.whole:
            by_path.setdefault(region.path, []).append(region)
    splices = (
        splice
        for path, mine in by_path.items()
        for splice in _make_splices(mine, decode_text(before[path]), decode_text(after[path]))
    )
    return Patch(tuple(splices), files)


def _make_splices(regions: Sequence[Region], before: str, after: str) -> Iterator[Splice]:
    old, new = _line_starts(before), _line_starts(after)
    for region in regions:
        text = after[new[region.first] : new[region.last]]
        yield Splice(region.path, old[region.old_first], old[region.old_last], text)


def _line_starts(text: str) -> list[int]:
    """Return where each line begins, and the end; only \\n ends a line, as in git."""
    return [0, *(found.end() for found in re.finditer("\n", text)), len(text)]
