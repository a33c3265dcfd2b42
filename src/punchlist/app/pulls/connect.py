"""The forge that the settings name, and which pull request is meant."""

import re
from urllib.parse import urlsplit

from punchlist.adapters.git.command import Git
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.ports.forge.forge import Forge
from punchlist.settings import Settings

_PATH = re.compile(r"/(?P<repository>[^/]+/[^/]+)/pull/(?P<number>\d{1,9})(?:/.*)?")


def parse_pull_name(name: str) -> tuple[str, int | None]:
    """Return repository and number of a pull request: of `7`, `#7`, or its address. Raise
    UsageError.
    """
    plain = name.removeprefix("#")
    if plain.isdecimal():
        return "", int(plain)
    found = _PATH.fullmatch(urlsplit(name).path) if "://" in name else None
    if name and found is None:
        hint = "give its number, or its address https://github.com/OWNER/NAME/pull/7"
        raise UsageError(f"{name}: names no pull request", hint=hint)
    return (found["repository"], int(found["number"])) if found else ("", None)


def open_forge(settings: Settings, git: Git, repository: str = "") -> Forge:
    """Return the forge; `repository` goes before the settings."""
    # The client loads slowly, so only commands that need it import it.
    from punchlist.adapters.forges.github.forge import GithubForge, GithubPlace
    from punchlist.adapters.trackers.github.remote import make_token_reader
    from punchlist.adapters.trackers.github.retry import Pacing

    track = settings.track
    place = GithubPlace(
        token=make_token_reader(track.token),
        git=git,
        repository=repository or track.repository,
        api=track.api,
    )
    return GithubForge(place, Pacing(between_writes=settings.pr.pause))


async def find_number(session: Session, forge: Forge) -> int:
    """Return the pull request of the branch that is checked out. Raise UsageError."""
    branch = await session.required_checkout.current_branch()
    number = await forge.find_pull(branch) if branch else None
    if number is None:
        what = f"the branch {branch} has no open pull request" if branch else "HEAD is detached"
        raise UsageError(what, hint="punchlist pr NUMBER")
    return number
