"""What one call of an agent may reach: its model with the key held outside, and listed hosts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from punchlist.adapters.agents.model_access import ModelAccess, RouteTable
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.egress.door import proxy_environment
from punchlist.adapters.egress.policy import (
    EgressPolicy,
    HostRule,
    is_loopback,
    parse_base_url,
    parse_rule,
)
from punchlist.adapters.process.run import named_environment
from punchlist.errors import SettingsError

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_AUTHORITIES = "SSL_CERT_FILE NODE_EXTRA_CA_CERTS CODEX_CA_CERTIFICATE REQUESTS_CA_BUNDLE".split()
_PROXIES = "HTTPS_PROXY https_proxy ALL_PROXY all_proxy".split()
_PROXY_NAME = re.compile(r"(?:\w+_)?proxy", re.IGNORECASE)
"""A variable that names a proxy: what is behind that is not listed with it."""
_DIRECT = ("NO_PROXY", "no_proxy")


@dataclass(frozen=True)
class AgentNetwork:
    """`env` changes the variables of the call; `held` are the variables whose key stays outside."""

    policy: EgressPolicy
    env: dict[str, str] = field(repr=False)
    held: tuple[str, ...] = ()


def plan_network(
    access: ModelAccess,
    keys: Sequence[str],
    settings: AgentSettings,
    env: Mapping[str, str],
    hosts: Sequence[str],
) -> AgentNetwork:
    """Plan a call with the variables `env`. `keys` are the variables that the program reads;
    `hosts` are those that all agents may reach.
    """
    routes = RouteTable()
    changed = access.redirect(env, routes) if settings.keyless else {}
    urls = {name: value for name, value in env.items() if not _PROXY_NAME.fullmatch(name)}
    changed |= _redirect_loopback(urls, changed, routes)
    held = tuple(name for name in changed if name in env and SECRET_NAME.search(name))
    bare = [name for name in keys if name in env and SECRET_NAME.search(name) and name not in held]
    others = (value for name, value in urls.items() if name not in changed)
    rules = [*parse_hosts((*hosts, *settings.hosts)), *_find_rules(others)]
    services = access.find_services(env)
    if not settings.keyless:
        rules += [base.rule for base in services]
    if not services or bare:
        rules += parse_hosts(access.hosts)
    own = {**named_environment((*_PROXIES, *_DIRECT, *_AUTHORITIES)), **env}
    policy = EgressPolicy(
        rules=tuple(dict.fromkeys(rules)),
        routes=routes.build_routes(),
        proxy=next((own[name] for name in _PROXIES if own.get(name)), ""),
        direct=_split_names(next((own[name] for name in _DIRECT if own.get(name)), "")),
        authorities=tuple(own[name] for name in _AUTHORITIES if own.get(name)),
    )
    loopback = any(is_loopback(rule.host) for rule in rules)
    return AgentNetwork(policy, {**proxy_environment(loopback=loopback), **changed}, held)


def _redirect_loopback(
    env: Mapping[str, str], changed: Mapping[str, str], routes: RouteTable
) -> dict[str, str]:
    """Return the variables with plain URLs of this machine, sent to the proxy: many programs use no
    proxy for loopback, and in the namespace that is another one.
    """
    bases = {name: parse_base_url(url) for name, url in env.items() if name not in changed}
    return {
        name: routes.add_service(base)
        for name, base in bases.items()
        if base and base.scheme == "http" and is_loopback(base.host)
    }


def parse_hosts(texts: Sequence[str]) -> list[HostRule]:
    """Parse hosts that may be reached; raise SettingsError for one that is none."""
    rules = []
    for text in texts:
        try:
            rules.append(parse_rule(text))
        except ValueError as error:
            hint = 'for example hosts = ["docs.example.com", "10.0.0.5:8080"]'
            raise SettingsError(f"hosts: {text!r}: {error}", hint=hint) from None
    return rules


def _find_rules(urls: Iterable[str]) -> list[HostRule]:
    """Return the rules for base URLs that the user configured."""
    return [base.rule for url in urls if (base := parse_base_url(url))]


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))
