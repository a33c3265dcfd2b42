"""Start a run: write its first entry in the ledger, then drive it."""

import secrets
import time
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.store.lease import Lease
from punchlist.app.after.dismissals import load_dismissals
from punchlist.app.drive.drive import drive_run
from punchlist.app.session import Session
from punchlist.app.start.request import Prepared
from punchlist.app.start.unfiled import load_debts
from punchlist.engine import Watcher
from punchlist.errors import UsageError
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run


async def start_run(session: Session, ready: Prepared, watcher: Watcher) -> Run:
    """Start a run and drive it to its end, a question or a limit."""
    workshop, repository = await session.workshop(), session.repository
    run_id = f"{time.strftime('%y%m%d')}-{secrets.token_hex(3)}"
    request = ready.fingerprint(repository)
    paths = enumerate(ready.documents.values())
    files = {f"findings-{index}-{Path(path).name}": path for index, path in paths}
    with Lease.acquire(session.home, run_id, request, force=ready.force):
        artifacts = session.artifacts(run_id)
        for name, path in files.items():
            artifacts.write(name, _read_findings(path))
        started = replace(
            ready.started(repository),
            document_files=tuple(files),
            request=request,
            owed=load_debts(session.store, repository),
            dismissed=load_dismissals(session.store, repository),
            outside=ready.outside,
        )
        entry = session.store.append(run_id, "start", "started", started, time.time())
        run = fold_entries(run_id, (entry,))
        watcher.handle_event(entry, run)
        return await drive_run(session, run, workshop, watcher)


def _read_findings(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read any more: {error.strerror}",
            hint="give the path of a findings file",
        ) from error
