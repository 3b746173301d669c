"""parse, join: a text, or a link of a page, to canonical URLs and their keys.

A ring point is 24 bits of the registrable domain's hash. A URL's fingerprint is its ring point and
40 bits of its text's hash; a host's key is its ring point and all 64 bits of the host's hash. Ring
bits come first, so that a domain's data are neighbours on disk.
"""

import unicodedata
from functools import cache, lru_cache
from typing import TypeAlias

import ada_url
from publicsuffixlist import PublicSuffixList
from xxhash import xxh3_64_intdigest

from gossamer.config import Config, UrlConfig
from gossamer.model import HostKey, Url
from gossamer.urls.canonical import MAX_CHARS, canonical, whatwg

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


def host_name(given: str) -> str:
    """Return the host that somebody named: by its name, with a port, or by a URL of it."""
    authority = given.strip().lower().partition("://")[2] or given.strip().lower()
    host = authority.partition("/")[0]
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


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


BAD_PORTS = frozenset(
    {
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161),
        *(179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563),
        *(587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060),
        *(5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
        *(1433, 3306, 5432, 6379, 11211, 27017),
    }
)
"""The Fetch standard's bad ports, and (last row) databases that a request could talk into harm."""

Origin: TypeAlias = tuple[str, str, int]
"""An origin as text, its host, and the host's ring point in place in a fingerprint."""

_HOSTLESS = frozenset({"about", "blob", "data", "javascript", "mailto", "tel", "vbscript"})
"""Schemes that have no host, whatever follows them."""


def parse(text: str, rules: UrlConfig) -> Url | None:
    """Return the canonical form of an absolute URL; None if the text is not one."""
    href = whatwg(text)
    return None if href is None else from_href(href, rules)


def join(base: str, href: str, rules: UrlConfig) -> Url | None:
    """Return the canonical form of a link on the page `base`; None if it leads nowhere."""
    absolute = whatwg(href, base) if base else whatwg(href)
    return None if absolute is None else from_href(absolute, rules)


def from_href(href: str, rules: UrlConfig) -> Url | None:
    """Return the Url for an href that the WHATWG parser wrote; None if it has grown too long."""
    text = canonical(href, rules)
    return None if len(text) > MAX_CHARS else read_canonical(text)


def read_canonical(text: str) -> Url:
    """Return the Url of a text that is in canonical form, such as one from the archive."""
    scheme, _, rest = text.partition(":")
    if rest.startswith("//") and scheme not in _HOSTLESS:
        origin, host, ring_bits = read_origin(f"{scheme}://{rest[2:].partition('/')[0]}")
    else:
        origin, host, ring_bits = scheme + ":", "", ring_of("") << TEXT_BITS
    return Url(text, host, origin, ring_bits | (xxh3_64_intdigest(text.encode()) & TEXT_MASK))


@lru_cache(maxsize=HOSTS_KEPT)
def read_origin(origin: str) -> Origin:
    """Return a canonical origin, its host, and the host's ring point in place in a fingerprint."""
    authority = origin.partition("://")[2]
    host, colon, port = authority.rpartition(":")
    if not colon or not port.isdigit():
        host = authority
    return origin, host, ring_of(host) << TEXT_BITS


def is_bad_port(port: int) -> bool:
    """Return True if a request to this port could talk another protocol's server into harm."""
    return port in BAD_PORTS


def seed_urls(config: Config) -> list[Url]:
    """Return the seeds that are URLs; the scope is measured from them."""
    urls = [parse(text, config.urls) for text in config.seeds]
    return [url for url in urls if url is not None]
