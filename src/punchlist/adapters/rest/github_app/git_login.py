"""Let one git command log in with a token: by its environment, and at one host only."""

import re

import httpx

from punchlist.adapters.git.command import Git, decode_text
from punchlist.adapters.rest.style import ApiStyle

_SAYS = r'printf "username=x-access-token\npassword=%s\n" "$FORGE_TOKEN"'
_HELPER = f'!f() {{ test "$1" = get && {_SAYS}; }}; f'
"""A credential helper of git. It stores nothing."""
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?:[^\s/?#@\\]*@)?(?P<host>[^\s/?#@\\:]+)(?::(?P<port>[0-9]{1,5}))?/\S*"
)
_PORTS = {"http": 80, "https": 443}
_ASKED = (("origin",), ("--push", "--all", "origin"))
"""What git is asked for to learn where it fetches from, and all that it pushes to."""


def make_git_login(style: ApiStyle, api: httpx.URL, token: str) -> dict[str, str]:
    """Return the variables of one git command. For the host the user's own credential helpers are
    switched off: git would tell them the token, and some write down what they are told.
    """
    port = f":{api.port}" if api.port else ""
    place = f"{api.scheme}://{style.web_host(api)}{port}"
    return {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": f"credential.{place}.helper",
        "GIT_CONFIG_VALUE_0": "",
        "GIT_CONFIG_KEY_1": f"credential.{place}.helper",
        "GIT_CONFIG_VALUE_1": _HELPER,
        "FORGE_TOKEN": token,
    }


async def takes_login(git: Git, style: ApiStyle, api: httpx.URL) -> bool:
    """Return whether the remote `origin` is at the forge's own server and nowhere else, also for
    `git push`. Else programs that git starts would see the token in their environment: ssh, hooks
    of a repository on this machine, credential helpers for other hosts.
    """
    wanted = (api.scheme, style.web_host(api).casefold(), api.port or _PORTS.get(api.scheme))
    for words in _ASKED:
        ran = await git.run("remote", "get-url", *words)
        addresses = decode_text(ran.stdout).splitlines() if ran.ok else []
        if not addresses or any(_find_server(each) != wanted for each in addresses):
            return False
    return True


def _find_server(address: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an address; None for one that is not plainly of HTTP."""
    found = _ADDRESS.fullmatch(address)
    if not found:
        return None
    port = int(found["port"] or _PORTS[found["scheme"]])
    return found["scheme"], found["host"].casefold(), port
