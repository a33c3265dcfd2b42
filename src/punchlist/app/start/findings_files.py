"""Files of findings for a run: from a request, or items of an earlier run."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import to_builtins
from msgspec.structs import replace

from punchlist.adapters.documents.document import FindingsDocument
from punchlist.adapters.reports import REPORTS
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.app.state_folder import write_state
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.settings import run_folder

REQUESTS = "requests/findings"
"""The folder of findings that clients send."""
SETTLED = frozenset({Status.FIXED, Status.DISMISSED})


def keep_findings(home: Path, name: str, content: bytes, key: bytes = b"") -> str:
    """Write received findings to a file and return its path, which depends on key and content only.
    Raise UsageError for an unknown format.
    """
    digest = sha256(key + content).hexdigest()[:24]
    path = write_state(home, f"{REQUESTS}/{digest}/{name}", content)
    FindingsDocument.open(path)
    return str(path)


def describe_item(item: Item) -> dict[str, Any]:
    """Return an item as an entry of a findings file, without tools' fixes: an agent fixes it."""
    lead, others = item.lead, item.findings[1:]
    also = (f"{each.source} reports: {each.title}" for each in others if each.title != lead.title)
    fields = {
        **to_builtins(lead.spot),
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
    return keep_findings(home, "issues.json", content)


def write_items(home: Path, run: Run, numbers: Iterable[int]) -> str:
    """Write items of a run as SARIF into its folder; return the path."""
    items = {number: run.items[number] for number in numbers}
    content = REPORTS["report.sarif"].render(replace(run, items=items))
    return FolderArtifacts(run_folder(home, run.id)).write("handed-on.sarif", content)
