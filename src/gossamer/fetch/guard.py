"""AddressGuard: which addresses and ports we refuse to contact, whoever asks for them.

The list is RFC 6890's registry of special addresses, written out: `ipaddress.is_global` calls
several spellings of loopback global (NAT64, 6to4, IPv4-compatible), and cloud metadata too.
Everything that is not known to be public is refused.
"""

from collections.abc import Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

from gossamer.config import FetchConfig
from gossamer.errors import ConfigError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_SPECIAL_V4 = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "a cloud's metadata service"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved for protocols"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "a 6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
)
_SPECIAL_V6 = (
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::/96", "IPv4-compatible"),
    ("64:ff9b:1::/48", "local-use NAT64"),
    ("100::/64", "discard-only"),
    ("2001::/32", "Teredo"),
    ("2001::/23", "reserved for protocols"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_CARRIES_V4 = (
    ("::ffff:0:0/96", 0),
    ("::ffff:0:0:0/96", 0),
    ("64:ff9b::/96", 0),
    ("::/96", 0),
    ("2002::/16", 80),
)
"""Networks whose addresses reach an IPv4 host, and how far right its 32 bits stand."""

_MAX_CACHED = 65_536


def _read(table: tuple[tuple[str, str], ...]) -> tuple[tuple[Network, str], ...]:
    return tuple((ip_network(cidr), name) for cidr, name in table)


_V4 = _read(_SPECIAL_V4)
_V6 = _read(_SPECIAL_V6)
_EMBEDDING = tuple((IPv6Network(cidr), shift) for cidr, shift in _CARRIES_V4)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_MULTICAST = (IPv4Network("224.0.0.0/4"), IPv6Network("ff00::/8"))


class AddressGuard:
    """Says of an address why it may not be contacted; what it cannot read, it refuses.

    Judgements are cached, since a crawl asks about the same few addresses again and again.
    """

    def __init__(self, config: FetchConfig) -> None:
        self._allowed = read_networks(config.allow_net)
        self._allow_private = config.allow_private
        self._known: dict[str, str | None] = {}

    def objection(self, address: str) -> str | None:
        """Return why an address may not be contacted, such as "127.0.0.1 is loopback", or None."""
        try:
            return self._known[address]
        except KeyError:
            pass
        if len(self._known) >= _MAX_CACHED:
            self._known.clear()
        verdict = self._known[address] = self._judge(address)
        return verdict

    def first_allowed(self, addresses: Sequence[str]) -> tuple[str, str]:
        """Return the first address that may be contacted, or "" and the objection to the first."""
        objections = ""
        for address in addresses:
            objection = self.objection(address)
            if objection is None:
                return address, ""
            objections = objections or objection
        return "", objections or "the host has no address"

    def _judge(self, text: str) -> str | None:
        try:
            address = ip_address(text)
        except ValueError:
            return f"{text!r} is not an address"
        reached = embedded_v4(address)
        if self._is_allowed(address) or (reached is not None and self._is_allowed(reached)):
            return None
        objection = special(address) or (special(reached) if reached is not None else None)
        return None if objection is None else f"{text} is {objection}"

    def _is_allowed(self, address: Address) -> bool:
        if self._allow_private and not any(address in network for network in _MULTICAST):
            return True
        return any(address in network for network in self._allowed)


def special(address: Address) -> str | None:
    """Return what an address is reserved for, with the network that says so; None if public."""
    for network, name in _V4 if isinstance(address, IPv4Address) else _V6:
        if address in network:
            return f"{name} ({network})"
    if isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST:
        return None
    return None if embedded_v4(address) is not None else f"not global unicast ({_GLOBAL_UNICAST})"


def embedded_v4(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that a packet to this IPv6 address may end at."""
    if isinstance(address, IPv4Address):
        return None
    for network, shift in _EMBEDDING:
        if address in network:
            return IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
    return None


def read_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Return the networks that an operator wrote as CIDR; a bad one is a ConfigError."""
    networks: list[Network] = []
    for text in texts:
        try:
            networks.append(ip_network(text, strict=False))
        except ValueError as problem:
            raise ConfigError(
                f"fetch.allow_net: expected a network in CIDR notation, found {text!r} ({problem})"
            ) from problem
    return tuple(networks)
