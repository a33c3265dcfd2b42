"""Turn a child's request to the proxy itself into one to its model's service, with the key."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, unquote, urlencode

from punchlist.adapters.egress.http_head import MessageHead, Refused
from punchlist.adapters.egress.policy import HTTP, HTTPS, ModelRoute, format_target

_LOGINS = frozenset(
    "authorization x-api-key x-goog-api-key api-key x-auth-token x-amz-security-token"
    " cookie".split()
)
"""Headers that say whose account is used."""
_OURS = frozenset({"host", "accept-encoding"})
_SCHEMES = frozenset({"", "bearer", "token"})
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
_LOGIN_PARAMETERS = frozenset({"key", "api_key", "api-key", "access_token", "oauth_token"})
_CODED = re.compile(r"%(?![0-9A-Fa-f]{2})")


def find_route(routes: Sequence[ModelRoute], target: str) -> ModelRoute:
    """Return the route whose prefix the target is below; raise Refused if there is none."""
    path = target.partition("?")[0]
    for route in routes:
        if path == route.prefix or path.startswith(f"{route.prefix}/"):
            return route
    raise Refused("not a request to a proxy", 400)


def check_method(route: ModelRoute, method: str) -> None:
    """Raise Refused for a method that no model is asked with: the key could also delete things."""
    if route.keys and method not in _METHODS:
        raise Refused(f"a model is not asked with {method}")


def model_path(route: ModelRoute, target: str) -> str:
    """Return the path at the service. Parameters that hold a login are dropped, unless they hold a
    placeholder: then they hold the key.
    """
    path, mark, query = target.removeprefix(route.prefix).partition("?")
    segments = unquote(unquote(path)).replace("\\", "/").split("/")
    strange = path.startswith("//") or _CODED.search(path) or "#" in target
    if ".." in segments or "." in segments or strange:
        raise Refused("malformed request", 400)
    pairs = parse_qsl(query, keep_blank_values=True, separator="&")
    logins = [(name, value) for name, value in pairs if name.lower() in _LOGIN_PARAMETERS]
    if logins and route.keys:
        kept = [pair for pair in pairs if pair not in logins]
        held = [(name, route.keys[value]) for name, value in logins if value in route.keys]
        query = urlencode([*kept, *held])
    return f"{f'{route.base.path}{path}' or '/'}{mark if query else ''}{query}"


def model_fields(route: ModelRoute, request: MessageHead) -> list[tuple[str, str]]:
    """Return the header fields with keys in the place of placeholders. The answer must not be
    compressed: what it used is read from it.
    """
    base = route.base
    usual = HTTPS if base.scheme == "https" else HTTP
    target = format_target(base.host, base.port)
    host = target.rpartition(":")[0] if base.port == usual else target
    fields = [("Host", host), ("Accept-Encoding", "identity")]
    for name, value in request.end_to_end_fields():
        if name.lower() in _LOGINS and route.keys:
            fields += [(name, login) for login in _fill_login(route, value)]
        elif name.lower() not in _OURS:
            fields.append((name, value))
    return fields


def _fill_login(route: ModelRoute, value: str) -> Iterator[str]:
    """Yield the value with the key, if there is nothing but a placeholder in it."""
    for mark, key in route.keys.items():
        before, found, after = value.partition(mark)
        if found and before.strip().lower() in _SCHEMES and not after:
            yield f"{before}{key}"
