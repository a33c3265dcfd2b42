"""Find the GitHub repository of a checkout, and the token for it."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from punchlist.adapters.git.command import Git, decode_text
from punchlist.adapters.process.run import base_environment, named_environment, run, which
from punchlist.adapters.trackers.github.retry import Unavailable
from punchlist.views.safe_text import safe_text

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}")
_SCP = re.compile(r"(?:[^\s/@:]+@)?(?P<host>[A-Za-z0-9.-]+):(?!//)(?P<path>.+)")
_SSH_OVER_HTTPS = "ssh.github.com"
_SET = "set track.repository to OWNER/NAME"
_SIGN_IN_TIMEOUT = 20.0


def web_host(api: httpx.URL) -> str:
    """Return the web host of an API: github.com for api.github.com, else the host itself."""
    return api.host.removeprefix("api.")


def parse_name(repository: str) -> str:
    """Return the user's OWNER/NAME; raises Unavailable if it is invalid."""
    name = repository.strip().removesuffix(".git")
    if not _NAME.fullmatch(name):
        why = f"track.repository: {safe_text(repository)!r} is not OWNER/NAME"
        raise Unavailable(why, hint=_SET)
    return name


def parse_remote(remote: str, host: str) -> str:
    """Parse OWNER/NAME from a remote URL (https, ssh, scp form) on that host; the rest may be
    secret and is not shown.
    """
    there, path = _split_address(remote.strip())
    if there.casefold() == _SSH_OVER_HTTPS and host == "github.com":
        there = host
    if there.casefold() != host.casefold():
        where = f"points to {safe_text(there)}" if there else "points to no host"
        raise Unavailable(f"the remote origin {where}, not to {host}", hint=_SET)
    name = path.strip("/").removesuffix(".git")
    if not _NAME.fullmatch(name):
        raise Unavailable(f"the remote origin names no OWNER/NAME on {host}", hint=_SET)
    return name


def _split_address(address: str) -> tuple[str, str]:
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
        why = "there is no remote called origin, which would say which repository on GitHub this is"
        raise Unavailable(why, hint=_SET)
    return decode_text(ran.stdout).splitlines()[0] if ran.stdout.strip() else ""


def make_token_reader(variable: str) -> Callable[[str], Awaitable[str]]:
    """Return a function that reads the token for a host from the variable, else from `gh`."""

    async def read_token(host: str) -> str:
        held = named_environment([variable]).get(variable, "").strip() if variable else ""
        return held or await _read_gh_token(host, variable)

    return read_token


async def _read_gh_token(host: str, variable: str) -> str:
    hint = f"set {variable or 'the variable that track.token names'}, or sign in: gh auth login"
    why = f"there is no token for {host}: {variable or 'track.token'} is not set, gh is not"
    if which("gh") is None:
        raise Unavailable(f"{why} installed", hint=hint)
    env = {**base_environment(home=True), "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1"}
    command = ["gh", "auth", "token", "--hostname", host]
    ran = await run(command, cwd=Path("/"), env=env, timeout=_SIGN_IN_TIMEOUT)
    token = ran.stdout.decode("utf-8", "replace").strip()
    if not ran.ok or not token:
        raise Unavailable(f"{why} signed in", hint=hint)
    return token
