"""Which registered repository a notice of a forge is about."""

import logging
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from punchlist.adapters.folders.look import is_folder
from punchlist.app.repositories import RepositoryEntry
from punchlist.app.session import Session
from punchlist.app.workspace import Workspace
from punchlist.errors import PunchlistError, ToolError
from punchlist.ports.serving.pull_notices import PullNotice

_log = logging.getLogger("punchlist")
_FRESH = 30.0
"""Seconds for which the names of a repository are known: a flood of notices starts no git."""


class _Names(Struct, frozen=True):
    """`forge`: where it is; `name`: the one that counts; `origin`: that of the remote."""

    forge: str
    name: str
    origin: str
    at: float


class RegisteredNames:
    """The names of registered repositories on their forges."""

    def __init__(self, space: Workspace[Any]) -> None:
        self._space = space
        self._known: dict[str, _Names] = {}

    async def find(self, notice: PullNotice) -> RepositoryEntry | None:
        """Return the registered repository that a notice is about, or None. Where the setting
        track.repository names one for all, that very clone is preferred.
        """
        found = []
        for each in self._space.session.state.repositories.list_all():
            names = await self._look_up(each)
            if names and _is_about(names, notice):
                found.append((names.origin.casefold() != notice.repository.casefold(), each))
        return min(found, key=lambda pair: pair[0])[1] if found else None

    async def _look_up(self, repository: RepositoryEntry) -> _Names | None:
        known = self._known.get(repository.root)
        if known is not None and time.monotonic() < known.at + _FRESH:
            return known
        if not has_clone(repository):
            return None
        try:
            with closing(await self._space.opened(repository)) as session:
                known = self._known[repository.root] = await _read_names(session)
        except PunchlistError as error:
            _log.warning("%s cannot be looked at: %s", repository.name, error)
            return None
        return known


def has_clone(repository: RepositoryEntry) -> bool:
    """Return whether the clone is on this machine: servers of several share the list."""
    return is_folder(Path(repository.root))


def _is_about(names: _Names, notice: PullNotice) -> bool:
    kind = "gitea" if names.forge == "forgejo" else names.forge
    return kind == notice.forge and names.name.casefold() == notice.repository.casefold()


async def _read_names(session: Session) -> _Names:
    """Return the names: the setting track.repository counts, else the remote origin."""
    # The client of forges loads slowly, so only what needs it imports it.
    from punchlist.adapters.rest.remote import name_remote, read_origin
    from punchlist.app.places import choose_style

    track, git = session.settings().settings.track, session.required_checkout.user_git
    try:
        origin = name_remote(await read_origin(git))
    except ToolError:
        if not track.repository:
            raise
        origin = ""
    style = await choose_style(track, git)
    return _Names(style.kind, track.repository or origin, origin, time.monotonic())
