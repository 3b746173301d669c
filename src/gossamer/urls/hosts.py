"""Hosts and keys: the registrable domain of a host, and the keys that everything is ordered by.

A ring point is 24 bits of the registrable domain's hash. A URL's fingerprint is its ring point and
40 bits of its text's hash; a host's key is its ring point and all 64 bits of the host's hash. Ring
bits come first, so that a domain's data are neighbours on disk.
"""

import unicodedata
from functools import cache, lru_cache

import ada_url
from publicsuffixlist import PublicSuffixList
from xxhash import xxh3_64_intdigest

from gossamer.model import HostKey

HOSTS_KEPT = 65_536
"""Entries of each cache by host: enough for the hosts in play, and bounded."""

_LATIN_LOOKALIKES = frozenset("асԁеһіјӏорԛѕԝхуɡαοριν")
"""Cyrillic and Greek letters that print like a Latin one: a name made of them alone deceives."""
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "LATIN"})
"""Scripts that honest names of East Asia mix."""


@cache
def _suffixes(*, with_encoded: bool) -> PublicSuffixList:
    """Return the bundled public suffix list; read at the first question.

    The rules in Punycode can only match a name that holds some. Encoding them takes four times as
    long as all the rest, so that is left until such a name comes.
    """
    return PublicSuffixList(accept_encoded_idn=with_encoded)


@lru_cache(maxsize=HOSTS_KEPT)
def registrable_domain(host: str) -> str:
    """Return the name that someone registered: example.co.uk for www.example.co.uk.

    An IP address, a single label and a public suffix are their own domain.
    """
    name = host.rstrip(".")
    if "." not in name or name[0] == "[" or name.rpartition(".")[2].isdigit():
        return name
    tail = _plain_tail(name)
    if tail:
        return tail
    domain = _suffixes(with_encoded="xn--" in name.lower()).privatesuffix(name)
    return domain if isinstance(domain, str) else name


@cache
def _tails_with_rules() -> frozenset[str]:
    """Return the last two labels of every rule of the list that has as many: `co.uk`, `*.ck`."""
    rules = _suffixes(with_encoded=False)._publicsuffix  # noqa: SLF001 -- the list has no public way to ask
    return frozenset(".".join(rule.lstrip("!").split(".")[-2:]) for rule in rules if "." in rule)


def _plain_tail(name: str) -> str:
    """Return the last two labels if no rule of the list has more to say than the last; else "".

    So it is with most names, and the list itself takes ten times as long to say so: a crawl that
    knows many hosts asks for several on every page.
    """
    head, _, last = name.rpartition(".")
    tail = f"{head.rpartition('.')[2]}.{last}"
    rules = _tails_with_rules()
    if tail in rules or f"*.{last}" in rules or "xn--" in name:
        return ""
    return tail if name.islower() and name.isascii() and ".." not in f".{name}" else ""


def unicode_host(host: str) -> str:
    """Return a host as people read it, with its ASCII form beside it when it could deceive."""
    if "xn--" not in host:
        return host
    shown: str = ada_url.idna_to_unicode(host.encode("ascii", "ignore"))
    if not shown:
        return host
    if any(_may_deceive(label) for label in shown.split(".")):
        return f"{shown} ({host})"
    return shown


def _may_deceive(label: str) -> bool:
    """Return True if a label mixes scripts, or has nothing but look-alikes of Latin letters."""
    letters = [letter for letter in label if letter.isalpha()]
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in letters}
    if len(scripts) > 1:
        return not scripts <= _EAST_ASIAN
    return bool(letters) and _LATIN_LOOKALIKES.issuperset(letters)


RING_BITS = 24
TEXT_BITS = 40
TEXT_MASK = (1 << TEXT_BITS) - 1


@lru_cache(maxsize=HOSTS_KEPT)
def ring_of(host: str) -> int:
    """Return the host's point on the ring: the same for all hosts of a registrable domain."""
    return ring_of_new(host)


def ring_of_new(host: str) -> int:
    """Return `ring_of` a host without remembering it: for those who remember more than that."""
    domain = registrable_domain.__wrapped__(host)
    return xxh3_64_intdigest(domain.encode()) >> (64 - RING_BITS)


@lru_cache(maxsize=HOSTS_KEPT)
def host_key(host: str) -> HostKey:
    """Return 11 bytes that order queues and clocks: ring point, then the hash of the host."""
    return ring_of(host).to_bytes(3, "big") + xxh3_64_intdigest(host.encode()).to_bytes(8, "big")


def fingerprint(text: str, host: str) -> int:
    """Return the 64-bit key of a canonical URL text on a host."""
    return (ring_of(host) << TEXT_BITS) | (xxh3_64_intdigest(text.encode()) & TEXT_MASK)


def fingerprint_of(text: str) -> int:
    """Return the 64-bit key of a canonical URL text, whose host it finds by itself."""
    authority = text.split("/", 3)[2]
    host = authority if authority.endswith("]") else authority.rpartition(":")[0] or authority
    return fingerprint(text, host)
