"""AddressGuard: no spelling of a private address gets through, and public ones do."""

import pytest

from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.fetch import AddressGuard
from gossamer.urls import is_bad_port

PRIVATE = [
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1"),
    *("127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1"),
    *("172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1"),
    *("192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1"),
    *("239.1.2.3", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "100::1"),
    *("2001::1", "2001:0:7f00:1::", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::"),
    *("3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0"),
    *("fec0::1", "ff02::1", "4000::1"),
]

PUBLIC = [
    *("1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34"),
    *("100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "168.63.129.15"),
    *("168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.1"),
    *("192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255"),
    *("192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0"),
    *("203.0.112.255", "203.0.114.0", "223.255.255.255", "2000::", "2001:200::1"),
    *("2001:db7:ffff::", "2001:db9::", "2003::", "2606:4700::1111", "2a00:1450::1"),
    *("3ffe::1", "3fff:1000::", "64:ff9b::808:808", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_special_address_is_refused(address: str) -> None:
    assert AddressGuard(FetchConfig()).objection(address) is not None


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_contacted(address: str) -> None:
    assert AddressGuard(FetchConfig()).objection(address) is None


NOT_ADDRESSES = ["", "localhost", "127.1", "0x7f.0.0.1", "2130706433", "[::1]", "8.8.8.8%eth0"]


@pytest.mark.parametrize("text", NOT_ADDRESSES)
def test_what_is_not_an_address_is_refused(text: str) -> None:
    assert AddressGuard(FetchConfig()).objection(text) == f"{text!r} is not an address"


NETWORKS = [
    ("0.0.0.0", "0.255.255.255", "this network (0.0.0.0/8)"),
    ("10.0.0.0", "10.255.255.255", "private (10.0.0.0/8)"),
    ("100.64.0.0", "100.127.255.255", "shared (100.64.0.0/10)"),
    ("127.0.0.0", "127.255.255.255", "loopback (127.0.0.0/8)"),
    ("168.63.129.16", "168.63.129.16", "a cloud's metadata service (168.63.129.16/32)"),
    ("169.254.0.0", "169.254.255.255", "link-local (169.254.0.0/16)"),
    ("172.16.0.0", "172.31.255.255", "private (172.16.0.0/12)"),
    ("192.0.0.0", "192.0.0.255", "reserved for protocols (192.0.0.0/24)"),
    ("192.0.2.0", "192.0.2.255", "documentation (192.0.2.0/24)"),
    ("192.88.99.0", "192.88.99.255", "a 6to4 relay (192.88.99.0/24)"),
    ("192.168.0.0", "192.168.255.255", "private (192.168.0.0/16)"),
    ("198.18.0.0", "198.19.255.255", "benchmarking (198.18.0.0/15)"),
    ("198.51.100.0", "198.51.100.255", "documentation (198.51.100.0/24)"),
    ("203.0.113.0", "203.0.113.255", "documentation (203.0.113.0/24)"),
    ("224.0.0.0", "239.255.255.255", "multicast (224.0.0.0/4)"),
    ("240.0.0.0", "255.255.255.255", "reserved (240.0.0.0/4)"),
    ("::", "::", "unspecified (::/128)"),
    ("::1", "::1", "loopback (::1/128)"),
    ("::2", "::8.8.8.8", "IPv4-compatible (::/96)"),
    ("::ffff:127.0.0.1", "::ffff:127.255.255.255", "loopback (127.0.0.0/8)"),
    ("::ffff:0:10.0.0.0", "::ffff:0:10.255.255.255", "private (10.0.0.0/8)"),
    ("64:ff9b::7f00:0", "64:ff9b::7fff:ffff", "loopback (127.0.0.0/8)"),
    ("64:ff9b:1::", "64:ff9b:1:ffff::", "local-use NAT64 (64:ff9b:1::/48)"),
    ("100::", "100::ffff:ffff:ffff:ffff", "discard-only (100::/64)"),
    ("2001::", "2001:0:ffff::", "Teredo (2001::/32)"),
    ("2001:1::", "2001:1ff:ffff::", "reserved for protocols (2001::/23)"),
    ("2001:db8::", "2001:db8:ffff::", "documentation (2001:db8::/32)"),
    ("2002::", "2002:ffff::", "6to4 (2002::/16)"),
    ("3fff::", "3fff:fff::", "documentation (3fff::/20)"),
    ("4000::", "5f00::1", "not global unicast (2000::/3)"),
    ("fc00::", "fdff:ffff::", "unique local (fc00::/7)"),
    ("fe80::", "fe80::1%eth0", "link-local (fe80::/10)"),
    ("fec0::", "feff::1", "site-local (fec0::/10)"),
    ("ff00::", "ffff::1", "multicast (ff00::/8)"),
]
"""First and last of a network, or nearly so, and what is said of them."""


@pytest.mark.parametrize(("first", "last", "what"), NETWORKS)
def test_the_objection_names_what_an_address_is_for_and_the_network(
    first: str, last: str, what: str
) -> None:
    guard = AddressGuard(FetchConfig())
    assert guard.objection(first) == f"{first} is {what}"
    assert guard.objection(last) == f"{last} is {what}"


def test_only_the_allowed_networks_are_open() -> None:
    guard = AddressGuard(FetchConfig(allow_net=("127.0.0.0/8", "fd00::/8")))
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fd00::1"):
        assert guard.objection(address) is None
    for address in ("10.0.0.1", "::1", "fc00::1", "::ffff:10.0.0.1"):
        assert guard.objection(address) is not None


def test_an_allowed_network_is_open_through_every_address_that_leads_into_it() -> None:
    guard = AddressGuard(FetchConfig(allow_net=("10.1.2.3",)))
    through = ["10.1.2.3", "::ffff:10.1.2.3", "::ffff:0:10.1.2.3", "64:ff9b::a01:203"]
    for address in (*through, "::10.1.2.3", "2002:a01:203::", "2002:a01:203:ffff:1::9"):
        assert guard.objection(address) is None
    for address in ("10.1.2.2", "::10.1.2.4", "2002:a01:202::", "2002:a01:204::", "2002::a01:203"):
        assert guard.objection(address) is not None


def test_a_network_may_be_written_as_one_of_its_addresses() -> None:
    guard = AddressGuard(FetchConfig(allow_net=("127.0.0.5/8",)))
    assert guard.objection("127.200.0.1") is None


def test_what_was_said_of_an_address_is_kept_for_65536_addresses_and_not_more() -> None:
    guard = AddressGuard(FetchConfig())
    first = guard.objection("0.0.0.0")
    for number in range(1, 65_536):
        guard.objection(f"0.0.{number >> 8}.{number & 255}")
    assert guard.objection("0.0.0.0") is first
    guard.objection("0.1.0.0")
    assert guard.objection("0.0.0.0") == first
    assert guard.objection("0.0.0.0") is not first


def test_allowing_private_addresses_does_not_allow_multicast() -> None:
    guard = AddressGuard(FetchConfig(allow_private=True))
    assert guard.objection("10.0.0.1") is None
    assert guard.objection("::1") is None
    assert guard.objection("224.0.0.1") is not None
    assert guard.objection("ff02::1") is not None


def test_the_first_allowed_address_is_chosen() -> None:
    guard = AddressGuard(FetchConfig())
    assert guard.first_allowed(("10.0.0.1", "8.8.8.8", "1.1.1.1")) == ("8.8.8.8", "")
    assert guard.first_allowed(("10.0.0.1", "::1")) == ("", "10.0.0.1 is private (10.0.0.0/8)")
    assert guard.first_allowed(()) == ("", "the host has no address")


def test_a_bad_network_is_an_operator_error() -> None:
    with pytest.raises(
        ConfigError, match=r"^fetch.allow_net: expected a network in CIDR notation, found 'home' "
    ):
        AddressGuard(FetchConfig(allow_net=("home",)))


def test_ports_of_other_services_are_bad() -> None:
    assert all(is_bad_port(port) for port in (0, 22, 25, 6000, 6379, 10080, 11211))
    assert not any(is_bad_port(port) for port in (80, 443, 8000, 8080, 8100, 8443, 49152))
