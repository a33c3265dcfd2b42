"""Files of findings for a run: from a request, or items of an earlier run."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import to_builtins
from msgspec.structs import replace

from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.reports import REPORTS
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.app.state_folder import write_state
from punchlist.errors import RepositoryError, UsageError
from punchlist.model.finding.finding import Spot
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.model.patch.moved_lines import MovedFile, follow_spot, parse_moves
from punchlist.settings import run_folder

REQUESTS = "requests/findings"
"""The folder of findings that clients send."""
SEEN_AT = "seen_at"
"""The commit in which an issue has its place."""
_ISSUES = "issues.json"
_COMMIT = late_pattern(r"[0-9a-f]{40}([0-9a-f]{24})?")
_DIFF = ("--find-renames", "-U0", "--no-ext-diff", "--no-textconv", "--no-color")
SETTLED = frozenset({Status.FIXED, Status.DISMISSED})


def keep_findings(home: Path, name: str, content: bytes, key: bytes = b"") -> str:
    """Write received findings to a file and return its path, which depends on key and content only.
    Raise UsageError for an unknown format.
    """
    digest = sha256(key + content).hexdigest()[:24]
    path = write_state(home, f"{REQUESTS}/{digest}/{name}", content)
    from punchlist.adapters.documents.document import FindingsDocument

    FindingsDocument.open(path)
    return str(path)


def describe_item(item: Item, run: Run) -> dict[str, Any]:
    """Return an item as an entry of a findings file, without tools' fixes: an agent fixes it. It
    names the commit in which the item has this place.
    """
    lead, others, current = item.lead, item.findings[1:], item.current
    review = run.reviewing.reviews.get(current.source)
    also = (f"{each.source} reports: {each.title}" for each in others if each.title != lead.title)
    fields = {
        **to_builtins(current.spot),
        SEEN_AT: review.commit if review else run.started.change.head,
        "title": lead.title,
        "severity": item.severity.value,
        "rule": lead.rule,
        "category": lead.category,
        "description": "\n\n".join(filter(None, (lead.detail, *dict.fromkeys(also)))),
        "suggestion": lead.suggestion,
        "url": lead.url,
    }
    return {name: value for name, value in fields.items() if value}


def write_issues(home: Path, entries: Sequence[Mapping[str, Any]]) -> str:
    """Write chosen issues, each with its `issue_id`, to a findings file and return its path."""
    content = msgspec.json.format(msgspec.json.encode(entries), indent=1)
    return keep_findings(home, _ISSUES, content)


def choose_items(
    session: Session, request: Request, earlier: str, numbers: Sequence[int]
) -> Request:
    """Return the request to work on these items of the earlier run, and on nothing else. Raise
    UsageError for an item that it does not have, or that is settled.
    """
    run = session.load(earlier)
    for number in numbers:
        if number not in run.items:
            raise UsageError(f"run {run.id} has no item {number}", hint=f"punchlist show {run.id}")
        if run.items[number].status in SETTLED:
            what = f"item {number} of run {run.id} is {run.items[number].status} already"
            raise UsageError(what, hint="leave it out")
    ids = {f"{run.id}/{number}": number for number in sorted(set(numbers))}
    entries = [describe_item(run.items[n], run) | {"issue_id": name} for name, n in ids.items()]
    file = write_issues(session.home, entries)
    return replace(request, findings=(file,), issue_ids=tuple(ids))


def write_items(session: Session, run: Run, numbers: Iterable[int]) -> str:
    """Write items of a run as SARIF into its folder on this machine; return the path."""
    items = {number: run.items[number] for number in numbers}
    content = REPORTS["report.sarif"].render(replace(run, items=items))
    folder = run_folder(session.home, run.id)
    return FolderArtifacts(folder).write("handed-on.sarif", content)


async def move_issues(workshop: Workshop, home: Path, file: str, head: str) -> str:
    """Return the file that `write_issues` wrote, with the places that the issues have at `head`;
    another file as it is.
    """
    if Path(file).name != _ISSUES or not Path(file).is_relative_to(home / REQUESTS):
        return file
    entries = parse_json(Path(file).read_bytes(), list[dict[str, Any]])
    seen = {str(entry.get(SEEN_AT, "")) for entry in entries} - {head}
    moves = {each: await read_moves(workshop, each, head) for each in seen}
    moved = [_move_entry(entry, moves.get(entry.get(SEEN_AT, ""), {})) for entry in entries]
    return write_issues(home, moved) if moved != entries else file


async def read_moves(workshop: Workshop, old: str, new: str) -> dict[str, MovedFile]:
    """Return the files that changed between two commits; none if the old one is gone."""
    if not _COMMIT.fullmatch(old):
        return {}
    try:
        diff = await workshop.git.check_output("diff", *_DIFF, old, new, "--")
    except RepositoryError:
        return {}
    return parse_moves(diff.decode("utf-8", "surrogateescape"))


def _move_entry(entry: dict[str, Any], moves: Mapping[str, MovedFile]) -> dict[str, Any]:
    fields = {name: entry[name] for name in Spot.__struct_fields__ if name in entry}
    if not moves or "path" not in fields:
        return entry
    rest = {name: value for name, value in entry.items() if name not in fields}
    return {**to_builtins(follow_spot(Spot(**fields), moves)), **rest}
