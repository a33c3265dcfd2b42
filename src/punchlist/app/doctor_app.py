"""Check whether the key of a GitHub App works, and what the App is allowed in a repository."""

from pathlib import Path

from punchlist.adapters.git.command import Git
from punchlist.app.probe import Probe
from punchlist.app.session import Session
from punchlist.errors import PunchlistError, ToolError
from punchlist.model.ledger.timeline import pluralize

_NAME = "GitHub App"
_PATIENCE = 10.0
"""Seconds that GitHub may take to answer."""
_MINUTE = 60.0


async def examine_app(session: Session, folder: Path) -> list[Probe]:
    """Return whether the App of the settings can be used, also on the repository around the folder;
    nothing if they name no App.
    """
    if not session.settings().settings.track.app:
        return []
    try:
        return [await _probe_app(session, folder)]
    except PunchlistError as error:
        return [_fail(str(error), error.hint)]


async def _probe_app(session: Session, folder: Path) -> Probe:
    # The client loads slowly, so only what needs it imports it.
    from punchlist.adapters.rest.github_app.permissions import find_missing_permissions
    from punchlist.adapters.rest.retry import Pacing
    from punchlist.adapters.rest.style import GITHUB
    from punchlist.app.places import make_place

    place = make_place(GITHUB, session.settings().settings.track, Git(folder, theirs=True))
    if place.app is None:
        return _fail("the settings name no App", "set track.app")
    pacing = Pacing(patience=_PATIENCE, timeout=_PATIENCE)
    access = place.open_app(place.app, pacing)
    app = await access.read_app()
    said = f"its key works, it comments as {app.slug}[bot]"
    if ahead := access.seconds_ahead:
        said = f"{said}; this machine's clock is {_tell_difference(ahead)}"
    try:
        repository = await place.find_repository()
    except ToolError:  # no repository, or one that is elsewhere
        return Probe(name=_NAME, found=True, version=app.name, note=said, needed=True)
    there = await place.open_app(place.app, pacing, repository).find_installation()
    if there.suspended_at:
        why = f"{said}; it is suspended on {repository}"
        return _fail(why, f"an owner can lift that: {there.html_url}", app.name)
    said = f"{said}, it is installed on {repository}"
    lacks = find_missing_permissions(there.permissions)
    named = ", ".join(f"{each.title}: {each.level} ({each.use})" for each in lacks)
    return Probe(
        name=_NAME,
        found=True,
        version=app.name,
        note=f"{said} and lacks {named}" if lacks else said,
        needed=True,
        mark="lacks" if lacks else "",
        remedy=f"allow it in the App's settings, then accept it: {there.html_url}" if lacks else "",
    )


def _tell_difference(ahead: float) -> str:
    minutes = max(1, round(abs(ahead) / _MINUTE))
    return f"{pluralize(minutes, 'minute')} {'slow' if ahead > 0 else 'fast'}"


def _fail(why: str, remedy: str, version: str = "") -> Probe:
    return Probe(
        name=_NAME, found=False, version=version, note=why, needed=True, mark="fails", remedy=remedy
    )
