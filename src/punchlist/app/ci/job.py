"""The job that punchlist runs in: its event, and the settings that come from its service."""

from collections.abc import Mapping

from msgspec import Struct

from punchlist.adapters.process.run import named_environment
from punchlist.app.ci.decide import CiPlan, decide_mode
from punchlist.app.ci.event import VARIABLES, CiEvent, read_event
from punchlist.app.pulls.connect import can_show
from punchlist.app.session import Session


class CiJob(Struct, frozen=True, kw_only=True):
    env: Mapping[str, str]
    """The variables of the service, no secrets."""
    event: CiEvent
    plan: CiPlan


def open_job(session: Session) -> CiJob:
    """Return the job. Raise UsageError if this is none. Where the settings name no forge, the
    service of the job counts: its kind, its API and the repository.
    """
    env = named_environment(VARIABLES)
    event = read_event(env)
    loaded = session.settings()
    shows = can_show(event.place)
    given = {"forge": event.place, "repository": event.repository, "api": event.api}
    for name, value in ((f"track.{key}", value) for key, value in given.items()):
        if shows and value and name not in loaded.origins:
            session.flags[name] = value
    return CiJob(
        env=env,
        event=event,
        plan=decide_mode(event, token=shows and _has_token(session, event), shows=shows),
    )


def _has_token(session: Session, event: CiEvent) -> bool:
    # The client of forges loads slowly, so only what needs it imports it.
    from punchlist.adapters.rest.github_app.app_key import VARIABLE
    from punchlist.adapters.rest.style import STYLES

    track = session.settings().settings.track
    if track.app and event.place == "github":
        return bool(track.app_key_file or named_environment([track.app_key or VARIABLE]))
    return bool(named_environment([track.token or STYLES[event.place].variable]))
