"""The package registries that the user's own settings name for pip and uv, and nothing else."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from punchlist.adapters.egress.door import Egress, proxy_environment
from punchlist.adapters.egress.policy import (
    HTTP,
    HTTPS,
    URL,
    EgressPolicy,
    HostRule,
    is_loopback,
    parse_rule,
)
from punchlist.adapters.egress.traffic import EgressLog, RefusedTry
from punchlist.adapters.environments.registry_settings import read_settings
from punchlist.errors import SettingsError

_PYPI = (HostRule("pypi.org", inside=True), HostRule("files.pythonhosted.org", inside=True))
"""Where these lead is the word of the user's own resolver: a company may have its mirror there."""
_URL = re.compile(r"https?://[^\s,;'\"]+")
_PROXY_NAMES = "PIP_PROXY HTTPS_PROXY https_proxy ALL_PROXY all_proxy".split()
_AUTHORITIES = "PIP_CERT SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE".split()
_REPLACES_PYPI = {
    "pip": ("PIP_INDEX_URL", "PIP_NO_INDEX"),
    "uv": ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_NO_INDEX", "UV_OFFLINE"),
}


def build_egress(
    environment: Mapping[str, str], hosts: Sequence[str], installer: str, log: EgressLog
) -> Egress:
    """Return the way out of children that install packages with pip or uv.

    `environment` has the variables about registries; `hosts` are those that the user lists.
    """
    settings = read_settings(environment, installer)
    rules = [rule for name, text in settings if "PROXY" not in name for rule in _find_rules(text)]
    replaced = {name for name, _ in settings}
    if replaced.isdisjoint(_REPLACES_PYPI[installer]):
        rules += _PYPI
    elif any(rule.host == _PYPI[0].host for rule in rules):
        rules += _PYPI[1:]
    policy = EgressPolicy(
        rules=tuple(dict.fromkeys((*rules, *parse_setup_hosts(hosts)))),
        proxy=next((environment[name] for name in _PROXY_NAMES if environment.get(name)), ""),
        direct=tuple(filter(None, _no_proxy(environment).replace(" ", "").split(","))),
        authorities=tuple(environment[name] for name in _AUTHORITIES if environment.get(name)),
    )
    return Egress(policy, log)


def installer_environment(egress: Egress) -> dict[str, str]:
    """Return the variables by which pip and uv use the proxy."""
    loopback = any(is_loopback(rule.host) for rule in egress.policy.rules)
    return {**proxy_environment(loopback=loopback), "PIP_PROXY": URL}


def describe_refusal(refused: RefusedTry) -> str:
    what = "that address" if "inner address" in refused.why else "it"
    listed = f"list {what} in setup.hosts if it may be reached"
    return f"refused: {refused.target or 'a request'} ({refused.why}); {listed}"


def parse_setup_hosts(hosts: Sequence[str]) -> list[HostRule]:
    """Parse hosts of the setting `setup.hosts`; raise SettingsError for one that is none."""
    rules = []
    for text in hosts:
        try:
            rules.append(parse_rule(text))
        except ValueError as error:
            raise SettingsError(f"setup.hosts: {text!r}: {error}") from None
    return rules


def _find_rules(text: str) -> Iterator[HostRule]:
    """Yield the host of each URL in a text; it is the user's own and may be inside."""
    for url in _URL.findall(text):
        parts = urlsplit(url)
        if parts.hostname:
            port = parts.port or (HTTPS if parts.scheme == "https" else HTTP)
            yield HostRule(parts.hostname.rstrip("."), port, inside=True)


def _no_proxy(environment: Mapping[str, str]) -> str:
    return environment.get("NO_PROXY") or environment.get("no_proxy") or ""
