"""Start a run: write its first entry in the ledger, then drive it."""

import asyncio
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from punchlist.app.after.dismissals import load_dismissals
from punchlist.app.drive.budget import require_budget
from punchlist.app.drive.drive import drive_run, tell_in_loop
from punchlist.app.drive.run_cache import read_start
from punchlist.app.drive.tracing import require_telemetry
from punchlist.app.session import Session
from punchlist.app.start.agents import choose_prompts
from punchlist.app.start.request import Prepared
from punchlist.engine import Watcher
from punchlist.errors import AlreadyRunning, UsageError
from punchlist.model.ledger.earlier_runs import Debt
from punchlist.model.ledger.events import Filed, Started
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.ports.artifacts import Artifacts
from punchlist.ports.state import SharedState
from punchlist.ports.store import Ledgers


def make_run_id() -> str:
    return f"{time.strftime('%y%m%d')}-{secrets.token_hex(3)}"


async def start_run(session: Session, ready: Prepared, watcher: Watcher) -> Run:
    """Start a run and drive it to its end, a question or a limit."""
    workshop, repository = await session.workshop(fresh=False), session.repository
    require_agents(ready)
    require_telemetry(session.settings().settings.traces)
    if ready.crew:
        require_budget(session)
    run_id = ready.run_id or choose_run_id(session.state)
    request = ready.fingerprint(repository)
    with session.state.leases.acquire(run_id, request, force=ready.force) as lease:
        if read_start(session.store, run_id) is not None:
            what = f"run {run_id} was begun by another process"
            raise AlreadyRunning(what, run=run_id, hint=f"punchlist status {run_id}")
        artifacts = session.artifacts(run_id, tell_in_loop(watcher))
        started = await make_started(session, ready, artifacts)
        entry = session.store.append(run_id, "start", "started", started, time.time())
        run = fold_entries(run_id, (entry,))
        watcher.handle_event(entry, run)
        return await drive_run(session, run, workshop, watcher, lease)


def choose_run_id(state: SharedState, make: Callable[[], str] = make_run_id) -> str:
    """Return an id that no run has yet, and that no other machine has chosen for one."""
    while read_start(state.store, run := make()) is not None or not state.claim_run(run):
        pass
    return run


async def make_started(session: Session, ready: Prepared, artifacts: Artifacts) -> Started:
    """Store the files that were given and the prompts; return the run's first event."""
    repository, workshop = session.repository, await session.workshop(fresh=False)
    documents = {
        f"findings-{index}-{Path(path).name}": path
        for index, path in enumerate(ready.documents.values())
    }
    files = {name: _read_findings(path) for name, path in documents.items()}
    prompts = choose_prompts(ready.crew, ready.loaded.settings)
    prompt_files = {role: f"prompts/{role}.md" for role in prompts}
    files |= {prompt_files[role]: text.encode() for role, text in prompts.items()}
    for name, content in files.items():
        await asyncio.to_thread(artifacts.write, name, content)
    return replace(
        ready.started(repository),
        identity=session.key.identity or "",
        document_files=tuple(documents),
        prompt_files=prompt_files,
        pins={name: sha256(content).hexdigest() for name, content in files.items()},
        committer_name=workshop.identity.name,
        committer_email=workshop.identity.email,
        request=ready.fingerprint(repository),
        owed=() if ready.issue_ids else load_debts(session.store, session.key),
        dismissed=load_dismissals(session.store, session.key) | ready.gate.dismissed,
        outside=ready.outside,
    )


def require_agents(ready: Prepared) -> None:
    """Raise SettingsError with the line that installs it if the program of an agent is missing."""
    agents = dict.fromkeys(name for players in ready.crew.values() for name in players)
    if agents:
        from punchlist.adapters.agents.detect import check_installed

        check_installed(agents, ready.loaded.settings.agent)


def _read_findings(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read any more: {error.strerror}",
            hint="give the path of a findings file",
        ) from error


def load_debts(store: Ledgers, repository: RepositoryKey) -> tuple[Debt, ...]:
    """Return the items that earlier runs could not file and no later run has filed, oldest first.
    Only runs that have some are folded.
    """
    due: dict[str, list[int]] = {}
    settled: set[str] = set()
    for entry in store.read_kind("filed", repository.path, repository.identity):
        if isinstance(entry.event, Filed):
            settled.update(entry.event.settled)
            due.setdefault(entry.run, []).extend(entry.event.failed)
    debts = []
    for run_id, numbers in due.items():
        if any(f"{run_id}/{number}" not in settled for number in numbers):
            items = fold_entries(run_id, store.read(run_id)).items
            known = sorted(items.keys() & set(numbers))
            debts += [Debt(run_id, items[number]) for number in known]
    return tuple(debt for debt in debts if debt.name not in settled)
