"""Trailers of commits and comments of issues: which run and items they are of, what was proven,
and the hash of the ledger's last entry at that time, which anchors the ledger outside its store.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.item.proof import ProofClass

RUN, ITEMS, PROOFS, LEDGER = (f"Punchlist-{name}" for name in ("Run", "Items", "Proofs", "Ledger"))
_KEYS = (RUN, ITEMS, PROOFS, LEDGER)
_LINE = late_pattern(r"^(Punchlist-[A-Za-z]+): (.*?)\s*$")
_HASH = late_pattern(r"[0-9a-f]{64}")
_COMMENT = late_pattern(r"<!-- punchlist:ledger ([A-Za-z0-9._-]+) ([0-9a-f]{64}) -->")

ItemProofs = dict[int, tuple[ProofClass, ...]]


class Anchor(Struct, frozen=True):
    """The hash of an entry of a run's ledger, and where it is kept."""

    run: str
    hash: str
    where: str


class CommitTrailers(Struct, frozen=True):
    """What the trailers of a commit claim. `faults`: trailers that are doubled or unreadable."""

    run: str = ""
    items: tuple[int, ...] = ()
    proofs: ItemProofs = {}
    ledger: str = ""
    faults: tuple[str, ...] = ()


def render_proofs(proofs: Mapping[int, Sequence[ProofClass]]) -> str:
    """Render "3 rechecked checked, 4 claim"."""
    return ", ".join(" ".join((str(item), *dict.fromkeys(kinds))) for item, kinds in proofs.items())


def render_anchor(run: str, head: str) -> str:
    """Return the two trailers that anchor a ledger."""
    return f"{RUN}: {run}\n{LEDGER}: {head}"


def render_comment(run: str, head: str) -> str:
    """Return the comment that anchors a ledger in an issue; safe text cannot contain it."""
    return f"<!-- punchlist:ledger {run} {head} -->" if head else ""


def find_comments(text: str, where: str) -> list[Anchor]:
    return [Anchor(run, known, where) for run, known in _COMMENT.findall(text)]


def read_trailers(message: str) -> CommitTrailers:
    """Parse the trailers of a commit message; users' own may stand around and below them."""
    values: dict[str, list[str]] = {}
    for key, value in _find_lines(message):
        values.setdefault(key, []).append(value)
    faults = [
        f"{key} stands there {len(values[key])} times"
        for key in _KEYS
        if len(values.get(key, ())) > 1
    ]
    first = {key: each[0] for key, each in values.items()}
    items = [each.strip() for each in first.get(ITEMS, "").split(",") if each.strip()]
    ledger = first.get(LEDGER, "")
    if not all(each.isdecimal() for each in items):
        faults.append(f"{ITEMS} is no list of numbers")
    if ledger and not _HASH.fullmatch(ledger):
        faults.append(f"{LEDGER} is no hash")
    proofs = _read_proofs(first.get(PROOFS, ""))
    if proofs is None:
        faults.append(f"{PROOFS} cannot be read")
    return CommitTrailers(
        run=first.get(RUN, ""),
        items=tuple(int(each) for each in items if each.isdecimal()),
        proofs=proofs or {},
        ledger=ledger,
        faults=tuple(faults),
    )


def _find_lines(message: str) -> Iterator[tuple[str, str]]:
    """Yield our trailers: those of the last paragraph that names a run."""
    for paragraph in reversed(re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n"))):
        found = [match.groups() for line in paragraph.splitlines() if (match := _LINE.match(line))]
        if any(key == RUN for key, _ in found):
            yield from ((key, value) for key, value in found)
            return


def _read_proofs(text: str) -> ItemProofs | None:
    known: ItemProofs = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        item, *kinds = part.split()
        if not item.isdecimal() or int(item) in known or not set(kinds) <= set(ProofClass):
            return None
        known[int(item)] = tuple(map(ProofClass, kinds))
    return known
