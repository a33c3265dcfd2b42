"""What lies on the disk about a run follows what people say of it after its end: its reports, and
the issues it filed.
"""

from collections.abc import Sequence
from pathlib import Path

from punchlist.adapters.reports import WRITTEN
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.app.start.tracker import trackers_of
from punchlist.model.item.item import Item
from punchlist.model.ledger.events import Dismissed
from punchlist.model.ledger.run import Run
from punchlist.settings import TrackSettings, unpinned


def follow(
    run: Run, items: Sequence[Item], event: Dismissed, *, folder: Path, workshop: Path
) -> None:
    """`folder` is the run's own, `workshop` the repository's."""
    track = unpinned(run.started.settings).settings.track if run.started else TrackSettings()
    fingerprints = {item.fingerprint for item in items}
    for tracker in trackers_of(track, (item.issue for item in items), workshop):
        if event.revoked:
            tracker.reopen(fingerprints)
        else:
            tracker.close(fingerprints, event.by, event.why)
    if run.ended and run.filing.artifacts:
        artifacts = FolderArtifacts(folder)
        for name, content in ((name, render(run)) for name, render in WRITTEN.items()):
            if content:
                artifacts.write(name, content)
