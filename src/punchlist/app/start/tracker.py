"""The tracker that the settings name."""

from collections.abc import Callable, Iterable
from pathlib import Path

from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.trackers.files import FilesTracker
from punchlist.errors import SettingsError
from punchlist.ports.tracker import Tracker
from punchlist.settings import REPOSITORY_FILE, LoadedSettings, TrackSettings

_WITH_THE_TOKEN = ("track.api", "track.token")


def check_tracker_settings(loaded: LoadedSettings) -> None:
    """Raise SettingsError for an unknown tracker, or a repository that sets the API or token."""
    name, origin = loaded.settings.track.to, loaded.origins.get("track.to", "settings")
    if name not in _TRACKERS:
        raise SettingsError(
            f"{origin}: track.to: no tracker is called {name!r}",
            hint=f"one of: {', '.join(_TRACKERS)}",
        )
    for name in _WITH_THE_TOKEN:
        if loaded.origins.get(name) == REPOSITORY_FILE:
            raise SettingsError(
                f"{REPOSITORY_FILE}: {name}: code under review does not choose which token is sent"
                " where",
                hint="put it into your own settings file, or give it with --set",
            )


def make_tracker(loaded: LoadedSettings, workshop: Workshop) -> Tracker:
    check_tracker_settings(loaded)
    return _TRACKERS[loaded.settings.track.to](loaded.settings.track, workshop)


def trackers_of(track: TrackSettings, refs: Iterable[str], state: Path) -> list[Tracker]:
    """Return the trackers that a dismissal must update: where a run with these settings files, and
    where earlier runs filed the issues `refs`. `state` is the repository's state folder.
    """
    folders = (Path(ref).parent for ref in refs if ref and "://" not in ref)
    return list(map(FilesTracker, dict.fromkeys((_issue_folder(track, state), *folders))))


def _issue_folder(track: TrackSettings, state: Path) -> Path:
    return Path(track.folder).expanduser() if track.folder else state / "issues"


def _make_files(track: TrackSettings, workshop: Workshop) -> Tracker:
    return FilesTracker(_issue_folder(track, workshop.folder))


def _make_github(track: TrackSettings, workshop: Workshop) -> Tracker:
    # The GitHub client loads slowly, so only runs that need it import it.
    from punchlist.adapters.trackers.github.remote import make_token_reader
    from punchlist.adapters.trackers.github.tracker import GithubTarget, GithubTracker

    return GithubTracker(
        GithubTarget(
            token=make_token_reader(track.token),
            git=workshop.checkout.user_git,
            repository=track.repository,
            api=track.api,
            labels=track.labels,
        )
    )


_TRACKERS: dict[str, Callable[[TrackSettings, Workshop], Tracker]] = {
    "files": _make_files,
    "github": _make_github,
}
