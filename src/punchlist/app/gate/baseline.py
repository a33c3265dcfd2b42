"""Make the baseline of a repository: what its analyzers report now, in files to be committed."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.git.checkout_files import (
    list_plain_files,
    read_plain_file,
    replace_folder,
    write_checkout_file,
)
from punchlist.app.gate.shared_files import BASELINE, SHARED, parse_baseline
from punchlist.errors import RepositoryError
from punchlist.model.dedup.baseline import BASELINE as BY_BASELINE
from punchlist.model.dedup.baseline import make_known, match_baseline, number_copies
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.known_finding import KnownFinding
from punchlist.model.ledger.run import Run

_ATTRIBUTES = b"baseline/* merge=union linguist-generated\n"
"""Two branches that add lines to one file are merged without a conflict."""
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80


class BaselineState(Struct, frozen=True, kw_only=True):
    """The baseline in the checkout beside a review of everything."""

    found: tuple[KnownFinding, ...]
    """What counts now."""
    kept: tuple[KnownFinding, ...]
    """Lines that are still reported, as they are reported now."""
    stale: tuple[KnownFinding, ...]
    unseen: tuple[KnownFinding, ...]
    """Lines of tools that did not look this time, or could not read the file."""
    dismissals: tuple[str, ...] = ()
    """Files of dismissals that are about nothing that is reported now."""


def compare_baseline(root: Path, run: Run) -> BaselineState:
    """Compare the baseline in the checkout with what a review of everything reports."""
    known = read_baseline(root)
    seen = [each for each in known if run.could_see(each)]
    findings = list(_list_findings(run))
    pairs = match_baseline(seen, findings, {each.path for each in seen})
    matched = set(pairs.values())
    return BaselineState(
        found=tuple(map(make_known, findings)),
        kept=tuple(make_known(findings[index]) for index in sorted(pairs)),
        stale=tuple(each for index, each in enumerate(seen) if index not in matched),
        unseen=tuple(each for each in known if not run.could_see(each)),
        dismissals=tuple(_find_stale_dismissals(run)),
    )


def _find_stale_dismissals(run: Run) -> list[str]:
    """Return the files of shared dismissals, as the base has them, that fit no item."""
    known = {name: each.run for name, each in run.started.dismissed.items() if "/" in each.run}
    items = run.items.values()
    used = {known[item.fingerprint] for item in items if item.fingerprint in known}
    return sorted(set(known.values()) - used)


def _list_findings(run: Run) -> Iterator[Finding]:
    """Yield the analyzers' findings that count, or would without a baseline; what is dismissed in
    the repository itself needs no baseline.
    """
    shared = {name for name, each in run.started.dismissed.items() if "/" in each.run}
    for item in run.items.values():
        if item.left_out in ("", BY_BASELINE) and item.fingerprint not in shared:
            yield from (each for each in item.findings if each.source in run.started.reviewers)


def read_baseline(root: Path) -> list[KnownFinding]:
    """Return the baseline in the checkout. Raise RepositoryError if a file cannot be understood."""
    names = [f"{BASELINE}/{name}" for name in list_plain_files(root, BASELINE)]
    known, unread = parse_baseline({name: read_plain_file(root, name) or b"" for name in names})
    if unread:
        hint = "repair it, for example after a merge, or remove it"
        raise RepositoryError(f"{unread[0]} cannot be understood", hint=hint)
    return known


def write_baseline(root: Path, known: Iterable[KnownFinding]) -> None:
    """Write one file for each file with findings, one finding a line, in a stable order."""
    by_path: dict[str, list[KnownFinding]] = defaultdict(list)
    for each in number_copies(known):
        by_path[each.path].append(each)
    encode = msgspec.json.encode
    contents = {
        _name_file(path): b"".join(encode(each) + b"\n" for each in lines)
        for path, lines in by_path.items()
    }
    replace_folder(root, BASELINE, contents)
    write_checkout_file(root, f"{SHARED}/.gitattributes", _ATTRIBUTES, b"")


def _name_file(path: str) -> str:
    """Return a name for a path's file: readable, and of any path another one."""
    mark = sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_ODD.sub('-', path)[-_LONGEST:].lstrip('.-')}-{mark}.jsonl"
