"""Guard: no spelling of a private address gets through, and public ones do."""

import pytest

from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.fetch import Guard
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

PUBLIC = "1.1.1.1 8.8.8.8 93.184.216.34 172.32.0.1 2606:4700::1111 2a00:1450::1 64:ff9b::808:808"


@pytest.mark.parametrize("address", PRIVATE)
def test_a_special_address_is_refused(address: str) -> None:
    assert Guard(FetchConfig()).objection(address) is not None


@pytest.mark.parametrize("address", PUBLIC.split())
def test_a_public_address_may_be_contacted(address: str) -> None:
    assert Guard(FetchConfig()).objection(address) is None


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f.0.0.1", "2130706433", "[::1]"])
def test_what_is_not_an_address_is_refused(text: str) -> None:
    assert "is not an address" in (Guard(FetchConfig()).objection(text) or "")


def test_the_objection_names_the_network() -> None:
    assert Guard(FetchConfig()).objection("127.0.0.1") == "127.0.0.1 is loopback (127.0.0.0/8)"


def test_only_the_allowed_networks_are_open() -> None:
    guard = Guard(FetchConfig(allow_net=("127.0.0.0/8", "fd00::/8")))
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fd00::1"):
        assert guard.objection(address) is None
    for address in ("10.0.0.1", "::1", "fc00::1", "::ffff:10.0.0.1"):
        assert guard.objection(address) is not None


def test_allowing_private_addresses_does_not_allow_multicast() -> None:
    guard = Guard(FetchConfig(allow_private=True))
    assert guard.objection("10.0.0.1") is None
    assert guard.objection("::1") is None
    assert guard.objection("224.0.0.1") is not None
    assert guard.objection("ff02::1") is not None


def test_the_first_allowed_address_is_chosen() -> None:
    guard = Guard(FetchConfig())
    assert guard.first_allowed(("10.0.0.1", "8.8.8.8", "1.1.1.1")) == ("8.8.8.8", "")
    assert guard.first_allowed(("10.0.0.1", "::1")) == ("", "10.0.0.1 is private (10.0.0.0/8)")
    assert guard.first_allowed(()) == ("", "the host has no address")


def test_a_bad_network_is_an_operator_error() -> None:
    with pytest.raises(ConfigError, match="allow_net: 'home'"):
        Guard(FetchConfig(allow_net=("home",)))


def test_ports_of_other_services_are_bad() -> None:
    assert all(is_bad_port(port) for port in (0, 22, 25, 6000, 6379, 10080, 11211))
    assert not any(is_bad_port(port) for port in (80, 443, 8000, 8080, 8100, 8443, 49152))
