"""Update a run's reports and issues after a dismissal."""

from collections.abc import Sequence
from pathlib import Path

from punchlist.adapters.reports import WRITTEN
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.app.start.tracker import trackers_of
from punchlist.model.item.item import Item
from punchlist.model.ledger.events import Dismissed
from punchlist.model.ledger.run import Run
from punchlist.settings import TrackSettings, decode_settings


def apply_dismissal(
    run: Run, items: Sequence[Item], event: Dismissed, *, folder: Path, workshop: Path
) -> None:
    """Update the issues, and the reports of an ended run. `folder` is the run's, `workshop` the
    repository's.
    """
    track = decode_settings(run.started.settings).settings.track if run.started else TrackSettings()
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
