"""parse and join: one text, or a text and the page it stands on, to a canonical Url."""

from functools import lru_cache

import ada_url
from xxhash import xxh3_64_intdigest

from gossamer.config import UrlConfig
from gossamer.model import Url
from gossamer.urls.canonical import canonical
from gossamer.urls.fingerprints import TEXT_BITS, TEXT_MASK, ring_of

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

MAX_CHARS = 65_536
"""Longer texts are no URLs to us: nobody serves them, and reading them costs time."""

_ORIGINS_KEPT = 65_536
_HOSTED = frozenset({"http", "https", "ftp", "file", "ws", "wss"})


def whatwg(text: str, base: str = "") -> str | None:
    """Return the href that a browser would make of a text on a page; None if it is not a URL."""
    if len(text) > MAX_CHARS:
        return None
    try:
        return str(ada_url.join_url(base, text) if base else ada_url.normalize_url(text))
    except ValueError:
        return None


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
    if len(text) > MAX_CHARS:
        return None
    scheme, _, rest = text.partition(":")
    if scheme in _HOSTED:
        origin, host, ring_bits = read_origin(f"{scheme}://{rest[2:].partition('/')[0]}")
    else:
        origin, host, ring_bits = scheme + ":", "", ring_of("") << TEXT_BITS
    return Url(text, host, origin, ring_bits | (xxh3_64_intdigest(text.encode()) & TEXT_MASK))


@lru_cache(maxsize=_ORIGINS_KEPT)
def read_origin(origin: str) -> tuple[str, str, int]:
    """Return a canonical origin, its host, and the host's ring point in place in a fingerprint."""
    authority = origin.partition("://")[2]
    host, colon, port = authority.rpartition(":")
    if not colon or not port.isdigit():
        host = authority
    return origin, host, ring_of(host) << TEXT_BITS


def is_bad_port(port: int) -> bool:
    """Tell whether a request to this port could talk another protocol's server into harm."""
    return port in BAD_PORTS
