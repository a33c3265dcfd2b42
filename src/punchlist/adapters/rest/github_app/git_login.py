"""Let one git command log in with a token: by its environment, and at one host only."""

import httpx

from punchlist.adapters.rest.style import ApiStyle

_SAYS = r'printf "username=x-access-token\npassword=%s\n" "$FORGE_TOKEN"'
_HELPER = f'!f() {{ test "$1" = get && {_SAYS}; }}; f'
"""A credential helper of git. It stores nothing."""


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
