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
from punchlist.model.finding.guarded_text import parse_json


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
        self._marks: dict[str, str] = {}
        self._prefixes: dict[BaseUrl, str] = {}
        self._held: dict[BaseUrl, dict[str, str]] = {}

    def add_service(self, base: BaseUrl) -> str:
        """Return the URL under which the child asks this service."""
        first = f"/{len(self._prefixes)}" if self._prefixes else ""
        return f"{URL}{self._prefixes.setdefault(base, f'{first}{base.path}')}"

    def hold_key(self, key: str, base: BaseUrl) -> str:
        """Return what the child gets in the place of a key, which is for this service only."""
        mark = self._marks.setdefault(key, make_placeholder())
        self._held.setdefault(base, {})[mark] = key
        return mark

    def build_routes(self) -> tuple[ModelRoute, ...]:
        """Return the routes, the one with the longest prefix first."""
        routes = (
            ModelRoute(prefix, base, self._held.get(base, {}))
            for base, prefix in self._prefixes.items()
        )
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
                held = [name for name in endpoint.keys if env.get(name)]
                changed |= {name: routes.hold_key(env[name], base) for name in held}
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
        text = env.get(self._variable, "")
        config = _decode(text)
        if text and not config:  # it is the user's, and not to be replaced
            return {}
        keyed = {name: key for name, (key, _) in self._providers.items() if env.get(key)}
        providers = config.setdefault("provider", {}) if keyed else config.get("provider")
        if not isinstance(providers, dict):
            return {}
        for name in keyed:
            providers.setdefault(name, {})
        changed: dict[str, str] = {}
        for name, options in _list_options(config):
            if base := self._find_base(name, options):
                options["baseURL"] = routes.add_service(base)
                held = {keyed[name]} if name in keyed else set()
                held |= _hold_option(options, base, routes)
                changed |= {each: routes.hold_key(env[each], base) for each in held & env.keys()}
        return {**changed, self._variable: msgspec.json.encode(config).decode()}

    def _find_base(self, name: str, options: Mapping[str, Any]) -> BaseUrl | None:
        if url := options.get("baseURL"):
            return parse_base_url(str(url))
        return parse_base_url(self._providers.get(name, ("", ""))[1], configured=False)


def _hold_option(options: dict[str, Any], base: BaseUrl, routes: RouteTable) -> set[str]:
    """Put a placeholder in the place of a provider's key, or return the variable that it names."""
    key = options.get("apiKey")
    if not isinstance(key, str) or not key:
        return set()
    if key.startswith("{env:"):
        return {key.removeprefix("{env:").removesuffix("}")}
    options["apiKey"] = routes.hold_key(key, base)
    return set()


def _list_options(config: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and options of each provider; empty options are added where there are none."""
    providers = config.get("provider")
    for name, provider in (providers if isinstance(providers, dict) else {}).items():
        options = provider.setdefault("options", {}) if isinstance(provider, dict) else None
        if isinstance(options, dict):
            yield name, options


def _decode(text: str) -> dict[str, Any]:
    try:
        return parse_json(text, dict[str, Any])
    except msgspec.MsgspecError:  # with comments, or nothing
        return {}


def _hosts_of(urls: Iterable[str]) -> list[str]:
    bases = (parse_base_url(url) for url in urls)
    return list(dict.fromkeys(base.host for base in bases if base))
