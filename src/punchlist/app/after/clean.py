"""Delete old reports and data of deleted repositories from the state folder; never a ledger."""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from punchlist.adapters.folders.look import is_folder, path_exists
from punchlist.adapters.folders.remove import SET_ASIDE, list_set_aside, remove_folder
from punchlist.adapters.git.workshop import hash_git_dir
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.after.kept_results import remove_kept
from punchlist.app.session import Session
from punchlist.app.start.environment import FOLDER
from punchlist.app.start.findings_files import REQUESTS
from punchlist.model.ledger.run_row import RunRow
from punchlist.model.ledger.timeline import pluralize
from punchlist.ports.remarks import tell_remarks
from punchlist.ports.state import Leases
from punchlist.settings import run_folder
from punchlist.steps.judging.refutations import PREFIX

_BY_HAND = "look what holds it there, and delete it by hand"


def remove_reports(session: Session, before: float) -> list[str]:
    """Delete the files of runs that ended before that time, here and in the object store; return
    their ids.
    """
    leases, shared = session.state.leases, session.artifact_store.list_runs()
    ended = (row.id for row in session.runs() if row.outcome and row.ended_at < before)
    removed = []
    for run in ended:
        if leases.find_holder(run) is None:
            found = run in shared and session.artifacts(run).remove()
            if remove_folder(run_folder(session.home, run)) or found:
                removed.append(run)
    return removed


def remove_requests(home: Path, before: float) -> int:
    """Delete findings that clients sent before that time (runs have copies); return how many."""
    folders = [folder for folder in (home / REQUESTS).glob("*") if is_folder(folder)]
    return sum(remove_folder(each) for each in folders if each.stat().st_mtime < before)


def remove_orphans(home: Path, leases: Leases, rows: Sequence[RunRow]) -> Iterator[str]:
    """Delete the data of repositories that no longer exist; yield their paths. Files of a run stay
    if its repository has an identity: it may have moved, or be on another machine.
    """
    runs: dict[str, list[str]] = {}
    for row in rows:
        if not row.identity:
            runs.setdefault(row.repository, []).append(row.id)
    known = dict.fromkeys([*filter(None, runs), *_find_origins(home / "repos")])
    for repository in known:
        ids = runs.get(repository, [])
        if path_exists(Path(repository)) or any(leases.find_holder(run) for run in ids):
            continue
        folders = [home / "repos" / hash_git_dir(Path(repository))]
        folders += [run_folder(home, run) for run in ids]
        removed = [remove_folder(folder) for folder in folders]
        if any(removed):
            yield repository


def _remove_set_aside(home: Path) -> list[Path]:
    """Try again to delete what was set aside; return what is still there."""
    folders = [home / SET_ASIDE, *(home / "repos").glob(f"*/{SET_ASIDE}")]
    found = (place for folder in folders for place in list_set_aside(folder))
    return [place for place in found if not remove_folder(place)]


def _find_origins(workshops: Path) -> Iterator[str]:
    """Yield the repositories whose objects workshops use, also those without a run."""
    for alternates in workshops.glob("*/git/objects/info/alternates"):
        objects = Path(os.fsdecode(alternates.read_bytes()).removesuffix("\n"))
        if objects.is_absolute() and alternates.parents[3].name == hash_git_dir(objects.parent):
            yield str(objects.parent)


async def clean_state(
    session: Session,
    *,
    reports_older_than: float | None = None,
    everywhere: bool = False,
    refuted: bool = False,
    environments: bool = False,
) -> list[str]:
    """Delete work trees that no run needs, reports of runs that ended so many days ago, data of
    deleted repositories, and the environments made here; with `refuted` forget which fixes broke
    tests. Results in the store of the settings go when they are old enough. Return what was done,
    a line each.
    """
    said: list[str] = []
    leases = session.state.leases
    kept_aside = await asyncio.to_thread(_remove_set_aside, session.home)
    said += (f"could not be deleted: {place}; {_BY_HAND}" for place in kept_aside)
    if session.checkout is not None:
        unfinished = {row.id for row in session.runs() if not row.outcome}
        pool = WorkTrees(await session.workshop())
        with tell_remarks(said.append):
            if trees := await asyncio.to_thread(pool.prune, unfinished):
                said.append(f"removed {pluralize(trees, 'work tree')}")
    if reports_older_than is not None:
        before = time.time() - reports_older_than * 86400
        if gone := await asyncio.to_thread(remove_reports, session, before):
            runs = pluralize(len(gone), "run")
            said.append(f"removed the reports of {runs}: {', '.join(gone)}")
        if count := remove_requests(session.home, before):
            said.append(f"removed {pluralize(count, 'file')} of findings that clients had sent")
    if refuted and (count := session.store.forget(PREFIX)):
        said.append(f"forgot {pluralize(count, 'refuted fix', 'refuted fixes')}")
    if environments:
        made = (session.repository_folder / FOLDER).glob("*")
        if count := sum(remove_folder(folder) for folder in made):
            said.append(f"removed {pluralize(count, 'environment')}")
    if everywhere:
        orphans = remove_orphans(session.home, leases, session.store.runs())
        said += [f"removed what was kept of {orphan}, which is gone" for orphan in orphans]
    return [*said, *await remove_kept(session.settings().settings.keep)]


async def forget_broken_fixes(session: Session) -> None:
    """Forget which fixes broke tests in the runs of this repository, so that they are tried again
    on the same code.
    """
    for row in session.runs():
        session.store.forget(PREFIX, row.id)


async def drop_repository(session: Session) -> None:
    """Delete punchlist's own repository, trees and environments; issues and permissions stay."""
    for name in ("git", "trees", FOLDER):
        remove_folder(session.repository_folder / name)
