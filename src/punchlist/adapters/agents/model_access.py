"""How a program reaches its model: the variables that hold its key and its base URL, and hosts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.adapters.egress.policy import (
    URL,
    BaseUrl,
    ModelRoute,
    make_placeholder,
    parse_base_url,
)


class ModelEndpoint(Struct, frozen=True):
    """A model's service as a program is told of it."""

    keys: tuple[str, ...]
    """Variables that hold its key."""
    url: str
    """The variable that holds its base URL."""
    usual: str = ""
    """The base URL where the variable is not set."""


class RouteTable:
    """The routes of one call: services that are asked through the proxy, which holds the keys."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}
        self._bases: list[tuple[str, BaseUrl]] = []

    def add_service(self, base: BaseUrl) -> str:
        """Return the URL under which the child asks this service."""
        known = next((prefix for prefix, other in self._bases if other == base), None)
        if known is None:
            known = f"/{len(self._bases)}{base.path}" if self._bases else base.path
            self._bases.append((known, base))
        return f"{URL}{known}"

    def hold_key(self, key: str) -> str:
        """Return what the child gets in the place of a key."""
        known = next((mark for mark, held in self._held.items() if held == key), "")
        mark = known or make_placeholder()
        self._held[mark] = key
        return mark

    def build_routes(self) -> tuple[ModelRoute, ...]:
        """Return the routes, the one with the longest prefix first."""
        routes = (ModelRoute(prefix, base, dict(self._held)) for prefix, base in self._bases)
        return tuple(sorted(routes, key=lambda route: -len(route.prefix)))


class ModelAccess:
    """What a dialect declares. `hosts` are those of its own login, where there is no key."""

    def __init__(self, *endpoints: ModelEndpoint, hosts: Iterable[str] = ()) -> None:
        self.endpoints = endpoints
        self.hosts = tuple(hosts)

    def find_services(self, env: Mapping[str, str]) -> list[BaseUrl]:
        """Return the services that the variables give access to."""
        return [base for each in self.endpoints if (base := _find_base(each, env))]

    def redirect(self, env: Mapping[str, str], routes: RouteTable) -> dict[str, str]:
        """Return the variables that send the program to the proxy, with placeholders for keys."""
        changed = {}
        for endpoint in self.endpoints:
            if base := _find_base(endpoint, env):
                changed[endpoint.url] = routes.add_service(base)
                changed |= {
                    name: routes.hold_key(env[name]) for name in endpoint.keys if env.get(name)
                }
        return changed


def _find_base(endpoint: ModelEndpoint, env: Mapping[str, str]) -> BaseUrl | None:
    if url := env.get(endpoint.url):
        return parse_base_url(url)
    keyed = any(map(env.get, endpoint.keys))
    return parse_base_url(endpoint.usual, configured=False) if keyed else None


class ConfiguredAccess(ModelAccess):
    """Access by providers in a JSON text, as opencode has it, each with key and base URL."""

    def __init__(self, variable: str, providers: Mapping[str, tuple[str, str]]) -> None:
        """`providers`: by name the variable of its key, and its usual base URL."""
        super().__init__(hosts=_hosts_of(url for _, url in providers.values()))
        self._variable = variable
        self._providers = providers

    def find_services(self, env: Mapping[str, str]) -> list[BaseUrl]:
        config = _decode(env.get(self._variable, ""))
        found = [self._find_base(name, options) for name, options in _list_options(config)]
        keyed = (name for name, (key, _) in self._providers.items() if env.get(key))
        return list(filter(None, (*found, *(self._find_base(name, {}) for name in keyed))))

    def redirect(self, env: Mapping[str, str], routes: RouteTable) -> dict[str, str]:
        config = _decode(env.get(self._variable, ""))
        keyed = {name: key for name, (key, _) in self._providers.items() if env.get(key)}
        providers = config.setdefault("provider", {}) if keyed else config.get("provider")
        if not isinstance(providers, dict):
            return {}
        for name in keyed:
            providers.setdefault(name, {})
        changed = {key: routes.hold_key(env[key]) for key in keyed.values()}
        for name, options in _list_options(config):
            if base := self._find_base(name, options):
                options["baseURL"] = routes.add_service(base)
                changed |= _hold_option(options, env, routes)
        return {**changed, self._variable: msgspec.json.encode(config).decode()}

    def _find_base(self, name: str, options: Mapping[str, Any]) -> BaseUrl | None:
        if url := options.get("baseURL"):
            return parse_base_url(str(url))
        return parse_base_url(self._providers.get(name, ("", ""))[1], configured=False)


def _hold_option(
    options: dict[str, Any], env: Mapping[str, str], routes: RouteTable
) -> dict[str, str]:
    """Put a placeholder in the place of a provider's key; return it as variables if the key stands
    in one.
    """
    key = options.get("apiKey")
    if not isinstance(key, str) or not key:
        return {}
    if key.startswith("{env:"):
        name = key.removeprefix("{env:").removesuffix("}")
        return {name: routes.hold_key(env[name])} if env.get(name) else {}
    options["apiKey"] = routes.hold_key(key)
    return {}


def _list_options(config: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and options of each provider; empty options are added where there are none."""
    providers = config.get("provider")
    for name, provider in (providers if isinstance(providers, dict) else {}).items():
        options = provider.setdefault("options", {}) if isinstance(provider, dict) else None
        if isinstance(options, dict):
            yield name, options


def _decode(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError:  # with comments, or nothing
        return {}


def _hosts_of(urls: Iterable[str]) -> list[str]:
    bases = (parse_base_url(url) for url in urls)
    return list(dict.fromkeys(base.host for base in bases if base))
