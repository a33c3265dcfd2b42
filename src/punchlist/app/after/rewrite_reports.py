"""What lies on the disk about a run follows what people say of it after its end: its reports, and
the issues it filed.
"""

from collections.abc import Sequence
from pathlib import Path

from punchlist.adapters.reports import WRITTEN
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.trackers.files import FilesTracker
from punchlist.model.item.item import Item
from punchlist.model.ledger.events import Dismissed
from punchlist.model.ledger.run import Run
from punchlist.settings import unpinned


def follow(
    run: Run, items: Sequence[Item], event: Dismissed, *, folder: Path, workshop: Path
) -> None:
    """`folder` is the run's own, `workshop` the repository's."""
    _tell_trackers(_issue_folders(run, items, workshop), items, event)
    if run.ended and run.filing.artifacts:
        artifacts = FolderArtifacts(folder)
        for name, content in ((name, render(run)) for name, render in WRITTEN.items()):
            if content:
                artifacts.write(name, content)


def _tell_trackers(folders: Sequence[Path], items: Sequence[Item], event: Dismissed) -> None:
    fingerprints = {item.fingerprint for item in items}
    for tracker in map(FilesTracker, folders):
        if event.revoked:
            tracker.reopen(fingerprints)
        else:
            tracker.close(fingerprints, event.by, event.why)


def _issue_folders(run: Run, items: Sequence[Item], workshop: Path) -> list[Path]:
    """Where this run files, and where its items were filed: an earlier run may have filed them,
    under other settings.
    """
    own = unpinned(run.started.settings).settings.track.folder
    default = Path(own).expanduser() if own else workshop / "issues"
    return list(
        dict.fromkeys(
            [
                default,
                *(
                    Path(item.issue).parent
                    for item in items
                    if item.issue and "://" not in item.issue
                ),
            ]
        )
    )
