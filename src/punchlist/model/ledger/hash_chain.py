"""Hash chain of the ledger: each line has the hash of the one before it."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import MsgspecError, Struct
from msgspec.structs import replace

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Entry

_NO_HASH = b',"hash":""}'
_TAIL = len(_NO_HASH) + 64
"""How many bytes of a line are its own hash."""


def encode_unhashed(entry: Entry) -> bytes:
    """Return the bytes that are hashed: the entry as compact JSON, without its hash."""
    return wire.encode(replace(entry, hash="")).removesuffix(_NO_HASH) + b"}"


def link_entry(entry: Entry, prev: str) -> Entry:
    """Return the entry linked to the one before it."""
    linked = replace(entry, prev=prev)
    return replace(linked, hash=sha256(encode_unhashed(linked)).hexdigest())


def encode_line(entry: Entry) -> bytes:
    """Return the entry's line in an exported ledger."""
    return wire.encode(entry)


def hash_line(line: bytes) -> str:
    """Return the hash a line should have, from its bytes alone, whatever version wrote it."""
    return sha256(line[:-_TAIL] + b"}").hexdigest()


def verify_entries(entries: Iterable[Entry]) -> str:
    """Return what is wrong at which entry, or "". Takes all entries of one run."""
    return verify_lines(encode_line(entry) for entry in entries)


class _Link(Struct, frozen=True):
    """The fields of a line that the chain needs."""

    run: str
    seq: int
    prev: str
    hash: str


def verify_lines(lines: Iterable[bytes]) -> str:
    """The same for exported lines, checked as bytes."""
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
        if hash_line(line) != entry.hash:
            return f"entry {number} was changed after it was written: its hash does not fit"
        prev = entry.hash
    return ""
