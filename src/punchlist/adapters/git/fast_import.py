"""Render a chain of commits as one `git fast-import` stream."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.adapters.git.command import encode_text, escape_path, quote_path
from punchlist.adapters.git.overlay import (
    FileState,
    Overlay,
    PatchParts,
    make_file_state,
    splice_content,
    split_patches,
)
from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import Patch
from punchlist.ports.repository import Draft


class CommitChain(Struct, frozen=True):
    """`identity`: name, mail and date in one line."""

    ref: str
    parent: str
    identity: str


class PatchStages:
    """Applies patches one after another: each stage is the first text with all splices so far."""

    def __init__(self, sources: Mapping[str, FileState]) -> None:
        self._sources = sources
        self._splices: dict[str, list[Splice]] = {}
        self._last: Overlay = {}

    def apply_patch(self, patch: Patch) -> Overlay:
        """Return the files this patch touches, after it and all earlier patches."""
        parts = split_patches([patch])
        for path, splices in parts.splices.items():
            self._splices.setdefault(path, []).extend(splices)
        so_far = {path: self._splices[path] for path in parts.splices}
        changes = self._build_files(PatchParts(so_far, parts.files))
        self._last |= changes
        return changes

    def check_combined(self, patches: Sequence[Patch]) -> None:
        """Raise RepositoryError unless the patches one by one give the same files as all at
        once.
        """
        whole = self._build_files(split_patches(reversed(patches)))
        for path in sorted(whole.keys() | self._last.keys()):
            if path not in whole or path not in self._last or whole[path] != self._last[path]:
                raise RepositoryError(
                    f"{escape_path(path)}: the drafts one after another give another text than"
                    " all at once"
                )

    def _build_files(self, parts: PatchParts) -> Overlay:
        files: Overlay = {path: make_file_state(change) for path, change in parts.files.items()}
        for path, splices in parts.splices.items():
            source = self._sources[path]
            files[path] = FileState(splice_content(source.content, splices), source.mode)
        return files


def build_stream(
    chain: CommitChain, drafts: Iterable[Draft], sources: Mapping[str, FileState]
) -> bytes:
    """Return the stream; git prints each commit's id and moves the ref once, at the end."""
    drafts = tuple(drafts)
    stages = PatchStages(sources)
    parts: list[bytes] = []
    for number, draft in enumerate(drafts, start=1):
        start = chain.parent if number == 1 else f":{number - 1}"
        parts += _render_commit(chain, draft.message, number, start)
        parts += _render_files(stages.apply_patch(draft.patch))
        parts.append(b"\nget-mark :%d\n" % number)
    stages.check_combined([draft.patch for draft in drafts])
    parts.append(b"done\n")
    return b"".join(parts)


def _render_commit(chain: CommitChain, message: str, number: int, start: str) -> Iterator[bytes]:
    who = chain.identity
    yield f"commit {chain.ref}\nmark :{number}\nauthor {who}\ncommitter {who}\n".encode()
    yield from _render_data(message.encode("utf-8", "replace"))
    yield f"from {start}\n".encode()


def _render_files(changes: Overlay) -> Iterator[bytes]:
    # Deletions go first: a file may make room for a folder of its name.
    paths = sorted(changes)
    yield from (b"D %s\n" % _quote_path(path) for path in paths if changes[path] is None)
    for path in paths:
        if (change := changes[path]) is not None:
            yield b"M %s inline %s\n" % (change.mode.encode(), _quote_path(path))
            yield from _render_data(change.content)


def _render_data(content: bytes) -> Iterator[bytes]:
    yield b"data %d\n" % len(content)
    yield content
    yield b"\n"


def _quote_path(path: str) -> bytes:
    return encode_text(quote_path(path))
