"""The hash chain of the ledger: each line names the hash of the one before it, so no line can
change unseen.
"""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import MsgspecError, Struct
from msgspec.structs import replace

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Entry

_NO_HASH = b',"hash":""}'
_TAIL = len(b',"hash":""}') + 64
"""How many bytes of a line are its own hash."""


def canonical(entry: Entry) -> bytes:
    """The bytes that are hashed: the entry as compact JSON, without its own hash."""
    return wire.encode(replace(entry, hash="")).removesuffix(_NO_HASH) + b"}"


def chained(entry: Entry, prev: str) -> Entry:
    """The entry, linked to the one before it."""
    linked = replace(entry, prev=prev)
    return replace(linked, hash=sha256(canonical(linked)).hexdigest())


def line_of(entry: Entry) -> bytes:
    """A line of an exported ledger: the hashed bytes with the hash put in before the last brace."""
    return wire.encode(entry)


def line_hash(line: bytes) -> str:
    """What a line's hash should be, computed from its bytes alone, whatever version of the model
    wrote them.
    """
    return sha256(line[:-_TAIL] + b"}").hexdigest()


def broken(entries: Iterable[Entry]) -> str:
    """An empty string, or what is wrong at which entry. Entries of one run, from its first."""
    return broken_lines(line_of(entry) for entry in entries)


class _Link(Struct, frozen=True):
    """What the chain needs of a line."""

    run: str
    seq: int
    prev: str
    hash: str


def broken_lines(lines: Iterable[bytes]) -> str:
    """The same of exported lines; what is checked is the bytes as they are, not what a model makes
    of them.
    """
    run, prev = "", ""
    for number, line in enumerate(lines, start=1):
        try:
            entry = wire.decode(line, _Link)
        except (MsgspecError, UnicodeDecodeError) as error:
            return f"entry {number} cannot be read: {error}"
        run = run or entry.run
        if entry.run != run:
            return f"entry {number} belongs to run {entry.run}, not to {run}"
        if entry.seq != number:
            return f"entry {number} is missing: the next one says it is {entry.seq}"
        if entry.prev != prev:
            return (
                f"entry {number} does not follow the one before it: an entry was changed, added or"
                " taken out"
            )
        if line_hash(line) != entry.hash:
            return f"entry {number} was changed after it was written: its hash does not fit"
        prev = entry.hash
    return ""
