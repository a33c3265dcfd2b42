"""A chain of commits as one stream for `git fast-import`, each file as all patches up to its commit
make it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.adapters.git.command import bytes_of, shown
from punchlist.adapters.git.overlay import Laid, Overlay, edit, laid, parts_of
from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import Patch
from punchlist.ports.repository import Draft


class Chain(Struct, frozen=True):
    """Which ref the commits go to, what they stand on, and whose they are (name, mail and date in
    one line).
    """

    ref: str
    parent: str
    identity: str


class Stages:
    """What the patches make of the files one after another: each stage is the first text with all
    splices so far in it.
    """

    def __init__(self, sources: Mapping[str, Laid]) -> None:
        self._sources = sources
        self._splices: dict[str, list[Splice]] = {}
        self._last: Overlay = {}

    def after(self, patch: Patch) -> Overlay:
        """The files this patch touches, as they are with it and those before it."""
        parts = parts_of([patch])
        changes: Overlay = {path: laid(change) for path, change in parts.files.items()}
        for path, splices in parts.splices.items():
            so_far = self._splices.setdefault(path, [])
            so_far += splices
            changes[path] = _edited(self._sources[path], so_far)
        self._last |= changes
        return changes

    def refuse_other_than(self, patches: Sequence[Patch]) -> None:
        """What was verified is all patches at once; what they come to one by one must be that,
        whichever comes first.
        """
        parts = parts_of(reversed(patches))
        whole: Overlay = {path: laid(change) for path, change in parts.files.items()}
        whole |= {
            path: _edited(self._sources[path], splices) for path, splices in parts.splices.items()
        }
        for path in sorted(whole.keys() | self._last.keys()):
            if path not in whole or path not in self._last or whole[path] != self._last[path]:
                raise RepositoryError(
                    f"{shown(path)}: the drafts one after another give another text than all at"
                    " once"
                )


def fast_import(chain: Chain, drafts: Iterable[Draft], sources: Mapping[str, Laid]) -> bytes:
    """The stream; git answers it with the name of each commit, and moves the ref
    once, at the end.
    """
    drafts = tuple(drafts)
    stages = Stages(sources)
    parts: list[bytes] = []
    for number, draft in enumerate(drafts, start=1):
        start = chain.parent if number == 1 else f":{number - 1}"
        parts += _commit(chain, draft.message, number, start)
        parts += _files(stages.after(draft.patch))
        parts.append(b"\nget-mark :%d\n" % number)
    stages.refuse_other_than([draft.patch for draft in drafts])
    parts.append(b"done\n")
    return b"".join(parts)


def _edited(source: Laid, splices: Iterable[Splice]) -> Laid:
    return Laid(edit(source.content, splices), source.mode)


def _commit(chain: Chain, message: str, number: int, start: str) -> Iterator[bytes]:
    who = chain.identity
    yield f"commit {chain.ref}\nmark :{number}\nauthor {who}\ncommitter {who}\n".encode()
    yield from _data(message.encode("utf-8", "replace"))
    yield f"from {start}\n".encode()


def _files(changes: Overlay) -> Iterator[bytes]:
    # What goes, goes first: a file may make room for a folder of its name.
    yield from (
        b"D %s\n" % _quoted(path) for path, change in sorted(changes.items()) if change is None
    )
    for path, change in sorted(changes.items()):
        if change is not None:
            yield b"M %s inline %s\n" % (change.mode.encode(), _quoted(path))
            yield from _data(change.content)


def _data(content: bytes) -> Iterator[bytes]:
    yield b"data %d\n" % len(content)
    yield content
    yield b"\n"


def _quoted(path: str) -> bytes:
    """A path as fast-import reads it, with anything in it."""
    return (
        b'"'
        + bytes_of(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        + b'"'
    )
