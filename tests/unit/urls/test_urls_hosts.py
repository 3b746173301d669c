"""Domains, ring points and keys."""

from pathlib import Path

import pytest
from publicsuffixlist import PSLFILE, PublicSuffixList

from gossamer.config import UrlConfig
from gossamer.urls import (
    canonical,
    fingerprint,
    host_key,
    parse,
    registrable_domain,
    ring_of,
    unicode_host,
)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("example.org", "example.org"),
        ("a.b.test", "b.test"),
        ("someone.github.io", "someone.github.io"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.example.org.", "example.org"),
        ("www.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("", ""),
        (".", ""),
    ],
)
def test_a_host_belongs_to_the_domain_that_someone_registered(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


@pytest.mark.parametrize("under", ["", "a.", "a.b.", "www.x.y."])
def test_the_short_way_to_a_domain_agrees_with_the_whole_list(under: str) -> None:
    suffixes = PublicSuffixList()
    for rule in suffixes._publicsuffix:
        host = under + rule.lstrip("!").replace("*", "any")
        domain = suffixes.privatesuffix(host) if "." in host else None
        assert registrable_domain(host) == (domain or host)


@pytest.mark.parametrize("host", ["a..com", "x.com..", "..a", "A.Com", "a.b.unknown", "1.co"])
def test_odd_names_have_the_domain_that_the_list_gives_them(host: str) -> None:
    bare = host.rstrip(".")
    assert registrable_domain(host) == (PublicSuffixList().privatesuffix(bare) or bare)


def test_hosts_of_one_domain_share_a_ring_point_but_not_a_key() -> None:
    assert ring_of("a.example.org") == ring_of("b.example.org") < 2**24
    one, other = host_key("a.example.org"), host_key("b.example.org")
    assert one[:3] == other[:3] == ring_of("example.org").to_bytes(3, "big")
    assert one != other
    assert len(one) == len(other) == 11


def test_a_fingerprint_starts_with_the_ring_point() -> None:
    url = parse("http://a.example.org/x", UrlConfig())
    assert url is not None
    assert url.key == fingerprint(url.text, url.host)
    assert url.key >> 40 == ring_of(url.host)


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("example.org", "example.org"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("xn--80ak6aa92e.com", "аррӏе.com (xn--80ak6aa92e.com)"),
        ("xn--pple-43d.com", "аpple.com (xn--pple-43d.com)"),
        ("xn--e1afmkfd.example", "пример.example"),
        ("xn--wgv71a119e.example", "日本語.example"),
        ("xn--99999999999999.example", "xn--99999999999999.example"),
    ],
)
def test_a_host_is_shown_as_people_write_it_unless_it_could_deceive(host: str, shown: str) -> None:
    assert unicode_host(host) == shown


def test_names_that_rules_speak_of_are_those_of_the_public_suffix_list() -> None:
    lines = Path(PSLFILE).read_text("utf-8").lower().splitlines()
    rules = [line.partition(" ")[0].strip() for line in lines if not line.startswith("//")]
    tails = {".".join(rule.lstrip("!").split(".")[-2:]) for rule in rules if "." in rule}
    assert canonical._tails_with_rules() == tails
