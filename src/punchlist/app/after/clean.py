"""What may go from the state folder: old reports, and all that is kept of repositories that are
gone; never a ledger.
"""

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from punchlist.adapters.git.workshop import id_of
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.store.lease import holder
from punchlist.app.session import Session
from punchlist.app.start.wiring import run_folder
from punchlist.model.ledger.run_row import RunRow
from punchlist.model.ledger.timeline import amount

_WORKSHOP = ("git", "trees")


def old_reports(home: Path, rows: Iterable[RunRow], before: float) -> list[str]:
    """Removes the folders of runs that ended before then; returns which runs."""
    ended = (row.id for row in rows if row.outcome and row.ended_at < before)
    return [run for run in ended if holder(home, run) is None and remove(run_folder(home, run))]


def gone_repositories(home: Path, rows: Sequence[RunRow]) -> Iterator[str]:
    """Removes what is kept of repositories that are no longer there; names each."""
    runs: dict[str, list[str]] = {}
    for row in rows:
        runs.setdefault(row.repository, []).append(row.id)
    known = dict.fromkeys([*filter(None, runs), *_borrowed_from(home / "repos")])
    for repository in known:
        ids = runs.get(repository, [])
        if Path(repository).exists() or any(holder(home, run) for run in ids):
            continue
        folders = [
            home / "repos" / id_of(Path(repository)),
            *(run_folder(home, run) for run in ids),
        ]
        removed = [remove(folder) for folder in folders]
        if any(removed):
            yield repository


def drop_workshop(folder: Path) -> None:
    """Removes the repository of our own, and its trees; issues and permissions stay."""
    for name in _WORKSHOP:
        remove(folder / name)


def remove(folder: Path) -> bool:
    """Whether there was one, and it is gone now. Checks may have left folders that nobody may write
    to.
    """
    if not folder.is_dir():
        return False
    for below, _, _ in os.walk(folder):
        with suppress(OSError):
            os.chmod(below, 0o700)  # noqa: PTH101  # os.walk gives plain strings
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _borrowed_from(workshops: Path) -> Iterator[str]:
    """The repositories whose objects workshops use: not every workshop has a run in the ledger."""
    for alternates in workshops.glob("*/git/objects/info/alternates"):
        objects = Path(os.fsdecode(alternates.read_bytes()).removesuffix("\n"))
        if objects.is_absolute() and alternates.parents[3].name == id_of(objects.parent):
            yield str(objects.parent)


async def clean_state(
    session: Session, *, reports_older_than: float | None = None, everywhere: bool = False
) -> list[str]:
    """Removes work trees nobody uses; the reports of runs that ended so many days ago; what is
    kept of repositories that are gone. Ledgers stay. Returns what it did, a line each.
    """
    said = []
    if session.checkout is not None and (trees := WorkTrees(await session.workshop()).prune()):
        said.append(f"removed {amount(trees, 'work tree')}")
    if reports_older_than is not None:
        gone = old_reports(session.home, session.runs(), time.time() - reports_older_than * 86400)
        said += (
            [f"removed the reports of {amount(len(gone), 'run')}: {', '.join(gone)}"]
            if gone
            else []
        )
    if everywhere:
        repositories = gone_repositories(session.home, session.store.runs())
        said += [
            f"removed what was kept of {repository}, which is gone" for repository in repositories
        ]
    return said


async def drop_repository(session: Session) -> None:
    """The repository is about to go: so do its workshop and its work trees."""
    drop_workshop(session.repository_folder)
