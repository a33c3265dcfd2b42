"""What was done to a work tree, read from the tree itself: whoever did it, and whatever they say
about it.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from punchlist.adapters.git.command import REGULAR, SUBMODULE, Git, fields, speakable, text_of
from punchlist.adapters.git.workshop import Workshop
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import FileChange, Patch, splices_between

_GONE = "000000"
_COMPILED = (".pyc", ".pyo")
"""What running the code leaves behind. A made one can also say something else than its source, and
Python would believe it.
"""


class _Raw(Struct, frozen=True):
    """One line of git's comparison: what a path was, and what it is."""

    path: str
    old_mode: str
    mode: str
    old_blob: str
    blob: str


async def taken(workshop: Workshop, git: Git, commit: str, index: Path) -> Patch:
    """Everything in the tree that differs from the commit, as a patch; what git ignores is not part
    of it, nor new bytecode.

    `index` is the tree's own as we made it: a copy is filled with what is there now, so that
    nothing anybody staged, committed or marked in the tree has a say.
    """
    with TemporaryDirectory(prefix="punchlist-index-") as folder:
        own = Path(folder) / "index"
        shutil.copy2(
            index,
            own,
            # with its time: git looks closer at files that were written in the same second as the
            # index
        )
        env = {"GIT_INDEX_FILE": str(own)}
        await git.out("add", "--all", ".", env=env)
        printed = await git.out(
            "diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev=64", commit, env=env
        )
    found = [raw for raw in _raws(fields(printed)) if _is_work(raw)]
    wanted = [blob for raw in found for blob in (raw.old_blob, raw.blob) if blob.strip("0")]
    contents = dict(zip(wanted, await workshop.blobs(wanted), strict=True))
    return _patch(found, contents)


def _is_work(raw: _Raw) -> bool:
    compiled = raw.old_mode == _GONE and raw.path.endswith(_COMPILED)
    return SUBMODULE not in (raw.mode, raw.old_mode) and speakable(raw.path) and not compiled


def _raws(lines: Iterator[str]) -> Iterator[_Raw]:
    for facts in lines:
        old_mode, mode, old_blob, blob, _ = facts.removeprefix(":").split(" ")
        yield _Raw(next(lines), old_mode, mode, old_blob, blob)


def _patch(found: list[_Raw], contents: dict[str, bytes]) -> Patch:
    splices: list[Splice] = []
    files: list[FileChange] = []
    for raw in found:
        old, new = contents.get(raw.old_blob, b""), contents.get(raw.blob, b"")
        if raw.mode == raw.old_mode and raw.mode in REGULAR and b"\0" not in old + new:
            splices += splices_between(raw.path, text_of(old), text_of(new))
        elif raw.mode == _GONE:
            files.append(FileChange(raw.path, None))
        else:
            files.append(FileChange(raw.path, new.decode("latin-1"), raw.mode))
    return Patch(splices=tuple(splices), files=tuple(files))
