"""Which network addresses are public. Pure, and the same with every version of Python.

Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190), multicast (RFC 5771,
RFC 4291), site-local (RFC 3879). Blocks that the registries call globally reachable are no exception: no
web server is there. Embedded IPv4: RFC 2765, RFC 3056, RFC 4291, RFC 4380, RFC 5214, RFC 6052, RFC 8215.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(one) for one in text.split())


SPECIAL = _networks(
    "0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
    "192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 "
    "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 "
    "198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32 "
    "::1/128 ::/128 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 "
    "2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 "
    "2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 "
    "fe80::/10 fec0::/10 ff00::/8"
)
# All other IPv6 addresses are not assigned (RFC 4291).
UNICAST = ipaddress.IPv6Network("2000::/3")
# Where clouds hand a machine its credentials: link-local; Azure, Oracle, Alibaba; over IPv6 AWS, Google,
# Oracle, Linode, Scaleway.
CREDENTIALS = _networks(
    "169.254.0.0/16 fe80::/10 168.63.129.16/32 192.0.0.192/32 100.100.100.200/32 "
    "fd00:ec2::/32 fd20:ce::254/128 fd00:c1::a9fe:a9fe/128 fd00:a9fe:a9fe::1/128 fd00:42::42/128"
)
_MAPPED, _NAT64 = ipaddress.ip_network("::ffff:0:0/96"), ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE, _TRANSLATED = ipaddress.ip_network("::/96"), ipaddress.ip_network("::ffff:0:0:0/96")
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
_6TO4, _TEREDO = ipaddress.ip_network("2002::/16"), ipaddress.ip_network("2001::/32")
_ISATAP, _ISATAP_FLAGS = 0x5EFE, 0x0300_0000
_LAST_32 = 0xFFFF_FFFF
_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})


def parse_address(text: str) -> Address:
    """Return an address, with IPv4 in place of its mapped or NAT64 form; a zone id is left out."""
    address = ipaddress.ip_address(text.partition("%")[0])
    is_other_form = address in _MAPPED or address in _NAT64
    return ipaddress.IPv4Address(int(address) & _LAST_32) if is_other_form else address


def host_address(host: str) -> Address | None:
    """Return the address that a host is written as; None for a name."""
    try:
        return parse_address(host)
    except ValueError:
        return None


def host_text(host: str) -> str:
    """Return a host as part of host:port; an IPv6 address is put in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def is_loopback_host(host: str) -> bool:
    """Say whether a host is to every machine that machine itself."""
    name = host.lower().rstrip(".")
    if name in _LOOPBACK_NAMES or name.endswith(".localhost"):
        return True
    address = host_address(host)
    return address is not None and address.is_loopback


def is_any_address(host: str) -> bool:
    """Say whether a host is what servers listen at (`0.0.0.0`, `::`, nothing), which no client can call."""
    address = host_address(host)
    return not host or (address is not None and address.is_unspecified)


def tells_credentials(address: Address) -> bool:
    """Say whether a cloud may answer there with credentials, also through an embedded IPv4 address."""
    all_of_them = (address, *embedded(address), *_of_local_nat64(address))
    return any(one in network for one in all_of_them for network in CREDENTIALS)


def closed_part(address: Address, allowed: Collection[Network] = ()) -> Address | None:
    """Return what of an address is neither public nor allowed: it, or the IPv4 address in it; else None."""
    for one in (address, *embedded(address)):
        if not _is_public(one) and not any(one in network for network in allowed):
            return one
    return None


def embedded(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 address leads to by translation or by a tunnel."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    number = int(address)
    is_last = address in _COMPATIBLE and number > 1
    is_isatap = number >> 32 & ~_ISATAP_FLAGS & _LAST_32 == _ISATAP
    if is_last or is_isatap or address in _TRANSLATED or address in _LOCAL_NAT64:
        yield _ipv4(number)
    if address in _6TO4:
        yield _ipv4(number >> 80)
    if address in _TEREDO:
        yield _ipv4(number >> 64)
        yield _ipv4(number ^ _LAST_32)


def _is_public(address: Address) -> bool:
    is_assigned = address.version == 4 or address in UNICAST  # noqa: PLR2004  IPv4
    return is_assigned and not any(address in network for network in SPECIAL)


def _of_local_nat64(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """Yield what is embedded after a prefix of 48, 56 or 64 bits; the octet from bit 64 on is left out."""
    if address not in _LOCAL_NAT64:
        return
    number = int(address)
    without = number >> 64 << 56 | number & 0xFF_FFFF_FFFF_FFFF
    for prefix in (48, 56, 64):
        yield _ipv4(without >> 120 - prefix - 32)


def _ipv4(number: int) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(number & _LAST_32)
