"""Which kind of forge the settings mean, and the repository there."""

from contextlib import suppress

import httpx

from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.github_app.app_key import VARIABLE, AppKey
from punchlist.adapters.rest.github_app.permissions import ANSWERING, AppPermission
from punchlist.adapters.rest.place import ForgePlace
from punchlist.adapters.rest.remote import make_token_reader, read_origin, split_address
from punchlist.adapters.rest.style import GITHUB, STYLES, ApiStyle
from punchlist.errors import SettingsError, ToolError
from punchlist.settings import TrackSettings


async def choose_style(track: TrackSettings, git: Git, named: str = "") -> ApiStyle:
    """Return the kind of forge that the user named, else the one that the address of the API or
    the remote `origin` shows, else GitHub. Raise SettingsError for an unknown one.
    """
    if track.forge and track.forge not in STYLES:
        why = f"track.forge: no forge is called {track.forge!r}"
        raise SettingsError(why, hint=f"one of: {', '.join(STYLES)}")
    for kind in (named, track.forge, track.to):
        if kind in STYLES:
            return STYLES[kind]
    if track.api:
        path = split_address(track.api)[1].rstrip("/")
        shown = (style for style in STYLES.values() if style.ending and path.endswith(style.ending))
        return next(shown, GITHUB)
    with suppress(ToolError):
        host = split_address((await read_origin(git)).strip())[0].casefold()
        for style in STYLES.values():
            public = style.web_host(httpx.URL(style.api))
            if style.other_hosts.get(host, host) == public or style.kind in host.split("."):
                return style
    return GITHUB


def make_place(
    style: ApiStyle,
    track: TrackSettings,
    git: Git,
    repository: str = "",
    *,
    needed: tuple[AppPermission, ...] = ANSWERING,
) -> ForgePlace:
    """Return the place of the settings; `repository` goes before theirs. `needed`: what a GitHub
    App must be allowed there.
    """
    return ForgePlace(
        style=style,
        token=make_token_reader(style, track.token or style.variable),
        git=git,
        api=track.api or style.api,
        repository=repository or track.repository,
        app=make_app_key(style, track, git),
        needed=needed,
    )


def make_app_key(style: ApiStyle, track: TrackSettings, git: Git) -> AppKey | None:
    """Return the GitHub App of the settings, or None; it goes before a token."""
    issuer = str(track.app)
    if not issuer or style is not GITHUB:
        return None
    variable = track.app_key or VARIABLE
    return AppKey(issuer=issuer, file=track.app_key_file, variable=variable, checkout=git.folder)
