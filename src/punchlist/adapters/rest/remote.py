"""Find the repository of a checkout on a forge, and the token for it."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from punchlist.adapters.git.command import Git, decode_text
from punchlist.adapters.process.run import Origin, base_environment, named_environment, run, which
from punchlist.adapters.rest.retry import Unavailable
from punchlist.adapters.rest.style import ApiStyle
from punchlist.views.safe_text import safe_text

_SCP = re.compile(r"(?:[^\s/@:]+@)?(?P<host>[A-Za-z0-9.-]+):(?!//)(?P<path>.+)")
_SIGN_IN_TIMEOUT = 20.0


def _set_hint(style: ApiStyle) -> str:
    return f"set track.repository to {style.repository}"


def parse_name(repository: str, style: ApiStyle) -> str:
    """Return the user's OWNER/NAME; raises Unavailable if it is invalid."""
    name = repository.strip().removesuffix(".git")
    if not style.is_name(name):
        why = f"track.repository: {safe_text(repository)!r} is not {style.repository}"
        raise Unavailable(why, hint=_set_hint(style))
    return name


def parse_remote(remote: str, style: ApiStyle, api: httpx.URL) -> str:
    """Parse OWNER/NAME from a remote URL (https, ssh, scp form) on the forge's host; the rest may
    be secret and is not shown.
    """
    host, below = style.web_host(api), style.web_path(api)
    there, path = split_address(remote.strip())
    there = style.other_hosts.get(there.casefold(), there)
    if there.casefold() != host.casefold():
        where = f"points to {safe_text(there)}" if there else "points to no host"
        own = f"; for a server of your own, track.api to https://{safe_text(there)}{style.server}"
        hint = f"{_set_hint(style)}{own if there else ''}"
        raise Unavailable(f"the remote origin {where}, not to {host}", hint=hint)
    name = path.removeprefix(f"{below}/").strip("/").removesuffix(".git")
    if not style.is_name(name):
        why = f"the remote origin names no {style.repository} on {host}"
        raise Unavailable(why, hint=_set_hint(style))
    return name


def name_remote(remote: str) -> str:
    """Return the path of a remote URL without its end `.git`; OWNER/NAME on a forge."""
    return split_address(remote.strip())[1].strip("/").removesuffix(".git")


def split_address(address: str) -> tuple[str, str]:
    """Return the host and the path, '' if there is none."""
    short = _SCP.fullmatch(address) if "://" not in address else None
    if short:
        return short["host"], short["path"]
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", ""
    return parts.hostname or "", parts.path


async def read_origin(git: Git) -> str:
    """Return the URL of the remote origin, after git's own rewriting."""
    ran = await git.run("remote", "get-url", "origin")
    if not ran.ok:
        why = "there is no remote called origin, which would say which repository this is"
        raise Unavailable(why, hint="set track.repository to OWNER/NAME")
    return decode_text(ran.stdout).splitlines()[0] if ran.stdout.strip() else ""


def make_token_reader(style: ApiStyle, variable: str) -> Callable[[str], Awaitable[str]]:
    """Return a function that reads the token for a host from the variable, else from the forge's
    own command.
    """

    async def read_token(host: str) -> str:
        held = named_environment([variable]).get(variable, "").strip() if variable else ""
        name, start = style.job
        if start and (variable == name or held.startswith(start)):
            why = f"the token of a CI job may not write what punchlist writes to {style.name}"
            hint = f"put a project access token into {style.variable}"
            raise Unavailable(why, hint=hint)
        return held or await _ask_command(style, host, variable)

    return read_token


async def _ask_command(style: ApiStyle, host: str, variable: str) -> str:
    hint = f"set {variable or 'the variable that track.token names'}"
    why = f"there is no token for {host}: {variable or 'track.token'} is not set"
    if not style.sign_in:
        raise Unavailable(why, hint=hint)
    program, hint = style.sign_in[0], f"{hint}, or sign in: {style.sign_in_hint}"
    if which(program) is None:
        raise Unavailable(f"{why}, {program} is not installed", hint=hint)
    env = {**base_environment(home=True), "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1"}
    ran = await run(
        [*style.sign_in, host],
        origin=Origin.USERS,
        cwd=Path("/"),
        env=env,
        timeout=_SIGN_IN_TIMEOUT,
    )
    token = ran.stdout.decode("utf-8", "replace").strip()
    if not ran.ok or not token:
        raise Unavailable(f"{why}, {program} is not signed in", hint=hint)
    return token
