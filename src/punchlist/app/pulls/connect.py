"""Which pull request is meant, and the forge that it is on."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec import Struct

from punchlist.adapters.git.command import Git
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.ports.forge.forge import Forge
from punchlist.settings import Settings

_PATHS = {
    "github": r"/(?P<repository>[^/]+/[^/]+)/pull/(?P<number>[0-9]{1,9})(?:/.*)?",
    "gitlab": r"/(?P<repository>[^/].*?)(?:/-)?/merge_requests/(?P<number>[0-9]{1,9})(?:/.*)?",
    "gitea": r"(?:/.*)?/(?P<repository>[^/]+/[^/]+)/pulls/(?P<number>[0-9]{1,9})(?:/.*)?",
}
"""By kind of forge: the path of a pull request's page."""


class PullName(Struct, frozen=True):
    """A pull request as the user names it; what is not said is empty."""

    number: int | None = None
    kind: str = ""
    host: str = ""
    repository: str = ""


def parse_pull_name(name: str) -> PullName:
    """Return what `7`, `#7`, `!7`, or the address of a pull request says. Raise UsageError."""
    if found := re.fullmatch(r"[#!]?([0-9]{1,9})", name):
        return PullName(int(found[1]))
    if not name:
        return PullName()
    try:
        parts = urlsplit(name) if "://" in name else None
    except ValueError:
        parts = None
    for kind, path in _PATHS.items() if parts else ():
        if parts and (found := re.fullmatch(path, parts.path)):
            return PullName(int(found["number"]), kind, parts.hostname or "", found["repository"])
    hint = "give its number, or its address https://github.com/OWNER/NAME/pull/7"
    raise UsageError(f"{name}: names no pull request", hint=hint)


async def open_forge(settings: Settings, git: Git, pull: PullName) -> Forge:
    """Return the forge; what the pull request's name says goes before the settings."""
    # The client loads slowly, so only commands that need it import it.
    from punchlist.adapters.rest.retry import Pacing
    from punchlist.app.places import choose_style, make_place

    style = await choose_style(settings.track, git, _choose_kind(settings, pull))
    place = make_place(style, settings.track, git, pull.repository)
    if pull.host and pull.host.removeprefix("www.") != place.host.casefold():
        hint = f"set track.api to the address of the API of {pull.host}"
        raise UsageError(f"the token is for {place.host}, not for {pull.host}", hint=hint)
    return _FORGES[style.kind]()(place, Pacing(between_writes=settings.pr.pause))


def _choose_kind(settings: Settings, pull: PullName) -> str:
    """Return the kind of forge that the address of a pull request shows: those of Gitea and Forgejo
    look alike.
    """
    if pull.kind != "gitea":
        return pull.kind
    said = {settings.track.forge, settings.track.to}
    return "forgejo" if "forgejo" in said or pull.host == "codeberg.org" else "gitea"


def _github() -> Callable[..., Forge]:
    from punchlist.adapters.forges.github.forge import GithubForge

    return GithubForge


def _gitlab() -> Callable[..., Forge]:
    from punchlist.adapters.forges.gitlab.forge import GitlabForge

    return GitlabForge


def _gitea() -> Callable[..., Forge]:
    from punchlist.adapters.forges.gitea.forge import GiteaForge

    return GiteaForge


_FORGES: dict[str, Callable[[], Callable[..., Forge]]] = {
    "github": _github,
    "gitlab": _gitlab,
    "gitea": _gitea,
    "forgejo": _gitea,
}


async def find_number(session: Session, forge: Forge) -> int:
    """Return the pull request of the branch that is checked out. Raise UsageError."""
    branch = await session.required_checkout.current_branch()
    number = await forge.find_pull(branch) if branch else None
    if number is None:
        what = f"the branch {branch} has no open pull request" if branch else "HEAD is detached"
        raise UsageError(what, hint="punchlist pr NUMBER")
    return number


def can_show(kind: str) -> bool:
    """Return whether punchlist can show a run on pull requests of this kind of forge."""
    return kind in _FORGES
