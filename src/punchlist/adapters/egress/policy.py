"""What one child may reach: listed hosts, and its model's service with the key added outside."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from urllib.parse import urlsplit

from punchlist.adapters.egress.addresses import Address, parse_address

HTTPS, HTTP = 443, 80
PORT = 3128
"""Where a child finds its proxy, on its own loopback."""
OWN_TARGET = f"127.0.0.1:{PORT}"
URL = f"http://{OWN_TARGET}"
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_RULE = re.compile(r"(?P<host>\[[0-9a-f:.]+(?:/\d+)?\]|[^\[\]:\s]+)(?::(?P<port>\d{1,5}))?")
_LOOPBACK = ("localhost", "ip6-localhost")


@dataclass(frozen=True)
class HostRule:
    """A host and port that may be reached: a name, `*.name`, `*`, an address or a network."""

    host: str
    port: int = HTTPS
    inside: bool = False
    """The name may lead to an inner address: it is a base URL of the user's own."""

    @property
    def network(self) -> IPv4Network | IPv6Network | None:
        try:
            return ip_network(self.host, strict=False)
        except ValueError:
            return None

    def matches_name(self, name: str) -> bool:
        """Return whether the rule is about this name; a `*` stands for one label or more."""
        if self.host.startswith("*."):
            return name.endswith(self.host[1:])
        return self.host in ("*", name)

    def __str__(self) -> str:
        return format_target(self.host, self.port)


def parse_rule(text: str) -> HostRule:
    """Parse `HOST`, `HOST:PORT`, `*.HOST`, `ADDRESS`, `NETWORK/BITS` or `[IPV6]:PORT`; the port is
    443 if there is none. Raise ValueError with what is wrong.
    """
    found = _RULE.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError("a host is written HOST, HOST:PORT, *.HOST, ADDRESS or [IPV6]:PORT")
    host, port = found["host"].strip("[]").rstrip("."), int(found["port"] or HTTPS)
    rule = HostRule(host, port)
    if not 0 < port < 1 << 16:
        raise ValueError(f"{port} is no port")
    if rule.network is None and host != "*" and not is_name(host.removeprefix("*.")):
        raise ValueError(f"{host!r} is no host name; give no scheme and no path")
    return rule


def is_name(host: str) -> bool:
    return _NAME.fullmatch(host) is not None


def is_loopback(host: str) -> bool:
    address = parse_address(host)
    return host in _LOOPBACK or (address is not None and address.is_loopback)


def format_target(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True)
class BaseUrl:
    """The address of a model's service, as the user or a dialect gives it."""

    scheme: str
    host: str
    port: int
    path: str = ""
    configured: bool = True
    """The user named it, so it may be inside."""

    @property
    def rule(self) -> HostRule:
        return HostRule(self.host, self.port, inside=self.configured)


def parse_base_url(text: str, *, configured: bool = True) -> BaseUrl | None:
    """Return the parts of an http or https URL; None for another text, or one with a login."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port or (HTTPS if parts.scheme == "https" else HTTP)
    except ValueError:
        return None
    host = (parts.hostname or "").rstrip(".")
    address = parse_address(host)
    plain = "@" not in parts.netloc and (address is not None or is_name(host))
    if parts.scheme not in {"http", "https"} or not plain:
        return None
    path = parts.path.rstrip("/")
    return BaseUrl(parts.scheme, str(address or host), port, path, configured)


@dataclass(frozen=True)
class ModelRoute:
    """Requests to the proxy itself below `prefix` go to the service at `base`.

    In headers that hold a login, a placeholder becomes the key that it stands for; such headers
    without a placeholder are dropped, so that no other account can be used.
    """

    prefix: str
    base: BaseUrl
    keys: dict[str, str] = field(default_factory=dict, repr=False)
    """By placeholder: the key. Without keys the child's own headers are passed on."""


@dataclass(frozen=True)
class EgressPolicy:
    rules: tuple[HostRule, ...] = ()
    routes: tuple[ModelRoute, ...] = ()
    proxy: str = field(default="", repr=False)
    """The user's own proxy, through which everything outside is reached; '' for none."""
    direct: tuple[str, ...] = ()
    """Names and suffixes that are reached without the user's proxy, as NO_PROXY lists them."""
    authorities: tuple[str, ...] = ()
    """Files with certificate authorities of the user's own."""

    def find_rules(self, host: str, port: int) -> list[HostRule]:
        """Return the rules that let this name or address pass."""
        address = parse_address(host)
        listed = (rule for rule in self.rules if rule.port == port)
        if address is None:
            return [rule for rule in listed if rule.matches_name(host)]
        return [rule for rule in listed if _contains(rule, address)]

    def allows_inside(self, address: Address, port: int, rules: Sequence[HostRule]) -> bool:
        """Return whether a listed name may lead to this inner address: the address is listed too,
        or the name is of a base URL that the user configured.
        """
        return any(rule.inside for rule in rules) or bool(self.find_rules(str(address), port))


def _contains(rule: HostRule, address: Address) -> bool:
    network = rule.network
    return network is not None and address.version == network.version and address in network


def make_placeholder() -> str:
    """Return what a child gets in the place of a key."""
    return f"punchlist-holds-this-key-{secrets.token_hex(12)}"
