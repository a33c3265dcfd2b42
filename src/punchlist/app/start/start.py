"""Starts a run: its first entry in the ledger, then drives it."""

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
    """Starts a run and drives it to its end, a question or a limit."""
    workshop = await session.workshop()
    run_id = _new_id()
    request = ready.fingerprint(session.repository)
    with Lease.acquire(session.home, run_id, request, force=ready.force):
        artifacts = session.artifacts(run_id)
        for index, path in enumerate(ready.documents.values()):
            artifacts.write(_document(index, path), _content(path))
        started = replace(
            ready.started(session.repository),
            document_files=tuple(
                _document(index, path) for index, path in enumerate(ready.documents.values())
            ),
            request=request,
            owed=load_debts(session.store, session.repository),
            dismissed=load_dismissals(session.store, session.repository),
            outside=ready.outside,
        )
        entry = session.store.append(run_id, "start", "started", started, time.time())
        run = fold_entries(run_id, (entry,))
        watcher.handle_event(entry, run)
        return await drive_run(session, run, workshop, watcher)


def _new_id() -> str:
    return f"{time.strftime('%y%m%d')}-{secrets.token_hex(3)}"


def _content(path: str) -> bytes:
    """A file of findings that was there a moment ago."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read any more: {error.strerror}",
            hint="give the path of a findings file",
        ) from error


def _document(index: int, path: str) -> str:
    return f"findings-{index}-{Path(path).name}"
