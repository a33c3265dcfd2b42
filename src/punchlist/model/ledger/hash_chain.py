"""Hash chain of the ledger: each line has the hash of the one before it."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec.structs import replace

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.verify_ledger import Ledger

_NO_HASH = b',"hash":""}'


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


def verify_entries(entries: Iterable[Entry]) -> str:
    """Return what is wrong at which entry, or "". Takes all entries of one run."""
    return verify_lines(encode_line(entry) for entry in entries)


def verify_lines(lines: Iterable[bytes]) -> str:
    """The same for exported lines, checked as bytes."""
    ledger = Ledger()
    for line in lines:
        ledger.add_line(line, chain_only=True)
        if ledger.problems:
            return ledger.problems[0]
    return ""
