"""The tracker that the settings name."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from punchlist.adapters.git.command import Git
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.trackers.files import FilesTracker, is_issue_file
from punchlist.errors import SettingsError
from punchlist.ports.tracker import Tracker
from punchlist.settings import REPOSITORY_FILE, LoadedSettings, TrackSettings

_WITH_THE_TOKEN = (
    *("track.api", "track.token", "track.forge"),
    *("track.app", "track.app-key", "track.app-key-file"),
)


class TrackerPlace(NamedTuple):
    """The repository's state folder, and git in the user's checkout."""

    state: Path
    git: Git


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
    place = TrackerPlace(workshop.folder, workshop.checkout.user_git)
    return _TRACKERS[loaded.settings.track.to](loaded.settings.track, place)


def trackers_of(track: TrackSettings, refs: Iterable[str], place: TrackerPlace) -> list[Tracker]:
    """Return the trackers that a dismissal must update: where a run with these settings files, and
    the folders of issue files where earlier runs filed `refs`. A forge is not asked about items
    that were not filed there.
    """
    names = list(filter(None, refs))
    folders = {Path(ref).parent for ref in names if is_issue_file(ref)}
    if track.to == "files":
        folders.discard(_issue_folder(track, place.state))
    elsewhere = any(not is_issue_file(ref) for ref in names)
    main = [_TRACKERS[track.to](track, place)] if track.to == "files" or elsewhere else []
    return [*main, *map(FilesTracker, sorted(folders))]


def _issue_folder(track: TrackSettings, state: Path) -> Path:
    return Path(track.folder).expanduser() if track.folder else state / "issues"


def _make_files(track: TrackSettings, place: TrackerPlace) -> Tracker:
    return FilesTracker(_issue_folder(track, place.state))


def _make_github(track: TrackSettings, place: TrackerPlace) -> Tracker:
    # The client loads slowly, so only runs that need it import it.
    from punchlist.adapters.rest.github_app.permissions import FILING
    from punchlist.adapters.rest.style import GITHUB
    from punchlist.adapters.trackers.github.issues import GithubIssues
    from punchlist.adapters.trackers.issues.tracker import IssueTracker
    from punchlist.app.places import make_place

    there = make_place(GITHUB, track, place.git, needed=FILING)
    return IssueTracker(there, GithubIssues.open, track.labels)


def _make_gitlab(track: TrackSettings, place: TrackerPlace) -> Tracker:
    from punchlist.adapters.rest.style import GITLAB
    from punchlist.adapters.trackers.gitlab.issues import GitlabIssues
    from punchlist.adapters.trackers.issues.tracker import IssueTracker
    from punchlist.app.places import make_place

    return IssueTracker(make_place(GITLAB, track, place.git), GitlabIssues.open, track.labels)


def _make_gitea(track: TrackSettings, place: TrackerPlace) -> Tracker:
    from punchlist.adapters.rest.style import STYLES
    from punchlist.adapters.trackers.gitea.issues import GiteaIssues
    from punchlist.adapters.trackers.issues.tracker import IssueTracker
    from punchlist.app.places import make_place

    style = STYLES[track.to]
    return IssueTracker(make_place(style, track, place.git), GiteaIssues.open, track.labels)


_TRACKERS: dict[str, Callable[[TrackSettings, TrackerPlace], Tracker]] = {
    "files": _make_files,
    "github": _make_github,
    "gitlab": _make_gitlab,
    "gitea": _make_gitea,
    "forgejo": _make_gitea,
}
