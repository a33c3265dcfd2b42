"""A chain of commits as one stream for `git fast-import`, each file's text grown splice by splice."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from punchlist.adapters.git import bytes_of, text_of
from punchlist.adapters.overlay import Laid, laid, parts_of
from punchlist.errors import RepositoryError
from punchlist.model.finding import Splice
from punchlist.model.patch import Patch
from punchlist.ports import Draft


class Chain(Struct, frozen=True):
    """Which ref the commits go to, what they stand on, and whose they are (name, mail and date in one line)."""

    ref: str
    parent: str
    identity: str


class Growing:
    """A file's text while splices, given against its first state, come in one after another."""

    def __init__(self, source: Laid) -> None:
        self.mode = source.mode
        self._text = text_of(source.content)
        self._length = len(self._text)
        self._starts: list[int] = []
        self._done: list[tuple[int, int]] = []
        """End in the first state, and how much longer the text became, in the order of `_starts`."""

    def put(self, splice: Splice) -> None:
        at = bisect_left(self._starts, splice.start)
        before = self._done[at - 1][0] if at else 0
        after = self._starts[at] if at < len(self._starts) else self._length
        if not before <= splice.start <= splice.end <= after:
            raise RepositoryError(f"{splice.path}: two drafts edit the same place, or one outside the file, at {splice.start}")
        shift = sum(grown for _, grown in self._done[:at])
        self._text = self._text[: splice.start + shift] + splice.text + self._text[splice.end + shift :]
        self._starts.insert(at, splice.start)
        self._done.insert(at, (splice.end, len(splice.text) - (splice.end - splice.start)))

    def laid(self) -> Laid:
        return Laid(bytes_of(self._text), self.mode)


def fast_import(chain: Chain, drafts: Iterable[Draft], sources: Mapping[str, Laid]) -> bytes:
    """The stream; git answers it with the name of each commit, and moves the ref once, at the end."""
    growing = {path: Growing(source) for path, source in sources.items()}
    parts: list[bytes] = []
    for number, draft in enumerate(drafts, start=1):
        start = chain.parent if number == 1 else f":{number - 1}"
        parts += _commit(chain, draft.message, number, start)
        parts += _files(draft.patch, growing)
        parts.append(b"\nget-mark :%d\n" % number)
    parts.append(b"done\n")
    return b"".join(parts)


def _commit(chain: Chain, message: str, number: int, start: str) -> Iterator[bytes]:
    yield f"commit {chain.ref}\nmark :{number}\nauthor {chain.identity}\ncommitter {chain.identity}\n".encode()
    yield from _data(message.encode("utf-8", "replace"))
    yield f"from {start}\n".encode()


def _files(patch: Patch, growing: Mapping[str, Growing]) -> Iterator[bytes]:
    parts = parts_of([patch])
    changes = {path: laid(change) for path, change in parts.files.items()}
    for path, splices in parts.splices.items():
        for splice in splices:
            growing[path].put(splice)
        changes[path] = growing[path].laid()
    # What goes, goes first: a file may make room for a folder of its name.
    yield from (b"D %s\n" % _quoted(path) for path, change in sorted(changes.items()) if change is None)
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
    return b'"' + bytes_of(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
