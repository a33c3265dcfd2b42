"""The package registries that the user's own settings name for pip and uv, and nothing else."""

import configparser
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
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
from punchlist.errors import SettingsError

_PYPI = (HostRule("pypi.org"), HostRule("files.pythonhosted.org"))
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
    configured = [*_read_pip_files(environment)] if installer == "pip" else []
    configured += [*_read_uv_files(environment)] if installer == "uv" else []
    variables = [
        (name, value)
        for name, value in environment.items()
        if name.startswith(("PIP_", "UV_")) and name not in _PROXY_NAMES
    ]
    rules = [rule for _, text in (*configured, *variables) for rule in _find_rules(text)]
    replaced = {name for name, _ in configured} | {name for name, _ in variables}
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


def _read_pip_files(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the settings in pip's files, named as its variables are."""
    home, own = Path(os.environ.get("HOME", "/")), Path(environment.get("XDG_CONFIG_HOME", "/"))
    files = [Path("/etc/pip.conf"), Path("/etc/xdg/pip/pip.conf"), home / ".pip/pip.conf"]
    files += [own / "pip/pip.conf", Path(environment.get("PIP_CONFIG_FILE") or "/dev/null")]
    for file in files:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(file.read_text())
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
        for section in parser.sections():
            for name, value in parser.items(section):
                if "proxy" not in name:
                    yield f"PIP_{name.upper().replace('-', '_')}", value


def _read_uv_files(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the settings in uv's files, named as its variables are."""
    own = Path(environment.get("XDG_CONFIG_HOME", "/"))
    named = environment.get("UV_CONFIG_FILE")
    files = [Path(named)] if named else [Path("/etc/uv/uv.toml"), own / "uv/uv.toml"]
    for file in files:
        try:
            settings = tomllib.loads(file.read_text())
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            continue
        yield from _flatten(settings)


def _flatten(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flatten(value)
        elif isinstance(value, list):
            for each in value:
                table = each if isinstance(each, dict) else {name: each}
                yield from _flatten(table)
                if table.get("default") is True:
                    yield "UV_DEFAULT_INDEX", str(table.get("url"))
        elif "proxy" not in name:
            yield f"UV_{name.upper().replace('-', '_')}", str(value)
