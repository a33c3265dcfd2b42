"""Files of findings for a run: from a request, or items of an earlier run."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.documents.document import FindingsDocument
from punchlist.adapters.reports import REPORTS
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.app.state_folder import write_state
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.settings import run_folder

SETTLED = frozenset({Status.FIXED, Status.DISMISSED})


def keep_findings(home: Path, name: str, content: bytes, key: bytes = b"") -> str:
    """Write received findings to a file and return its path, which depends on key and content only.
    Raise UsageError for an unknown format.
    """
    digest = sha256(key + content).hexdigest()[:24]
    path = write_state(home, f"requests/findings/{digest}/{name}", content)
    FindingsDocument.open(path)
    return str(path)


def write_items(home: Path, run: Run, numbers: Iterable[int], *, hashed: bool = False) -> str:
    """Write items of a run as SARIF into its folder; return the path, with a hash if `hashed`."""
    items = {number: run.items[number] for number in numbers}
    content = REPORTS["report.sarif"](replace(run, items=items))
    name = f"handed-on-{sha256(content).hexdigest()[:12]}" if hashed else "handed-on"
    return FolderArtifacts(run_folder(home, run.id)).write(f"{name}.sarif", content)
