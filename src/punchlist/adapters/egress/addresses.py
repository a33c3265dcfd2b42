"""Tell addresses of the internet from inner ones, also where IPv6 carries an IPv4 address."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192"))
)
"""Where clouds hand out credentials; some of them look like addresses of the internet."""
_GLOBAL = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_MAPPED = IPv6Network("::ffff:0:0/96")
_LOW_32 = (_NAT64, _MAPPED, IPv6Network("::/96"), IPv6Network("::ffff:0:0:0/96"))
"""NAT64, IPv4-mapped, IPv4-compatible, IPv4-translated."""
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})
_WORD = 0xFFFFFFFF


def parse_address(text: str) -> Address | None:
    """Return the address that a host is written as, without its zone; None for a name."""
    try:
        return ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_inner(address: Address) -> bool:
    """Return whether the address is none of the internet's: loopback, private, link-local,
    reserved, a metadata service, or an IPv6 form that leads to one of these.
    """
    if address in _METADATA or address.is_multicast:
        return True
    if isinstance(address, IPv4Address):
        return not address.is_global
    if any(map(is_inner, _carried_addresses(address))):
        return True
    if address in _NAT64 or address in _MAPPED:
        return False
    return address not in _GLOBAL or not address.is_global


def is_metadata(address: Address) -> bool:
    """Return whether the address, or one that it carries, is a cloud's metadata service or
    link-local.
    """
    carried = _carried_addresses(address) if isinstance(address, IPv6Address) else ()
    return any(each in _METADATA or each.is_link_local for each in (address, *carried))


def _carried_addresses(address: IPv6Address) -> Iterator[IPv4Address]:
    number = int(address)
    if any(address in network for network in _LOW_32) or number >> 32 & _WORD in _ISATAP:
        yield IPv4Address(number & _WORD)
    if address in _SIX_TO_FOUR:
        yield IPv4Address(number >> 80 & _WORD)
    if address in _TEREDO:
        yield from (IPv4Address(number >> 64 & _WORD), IPv4Address(number & _WORD ^ _WORD))
