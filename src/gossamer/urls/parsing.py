"""parse, join, join_all: a text, or the links of a page, to canonical URLs.

`join_all` puts two short cuts in front of the full parser. Pages of a folder share most of their
links, so what an href means there is remembered. And most hrefs are plain: letters, digits and a
few marks that no step changes, perhaps steps upwards first, perhaps an origin in front; one regular
expression tells, and then joining is putting two texts together. A property test holds all ways to
the same results.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from xxhash import xxh3_64_intdigest

from gossamer.config import UrlConfig
from gossamer.model import Url
from gossamer.urls.canonical import MAX_CHARS, SUSPECT_QUERY, canonical, whatwg
from gossamer.urls.hosts import HOSTS_KEPT, TEXT_BITS, TEXT_MASK, ring_of, ring_of_new

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
    if len(text) > MAX_CHARS:
        return None
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


HREFS_KEPT = 262_144
"""Remembered hrefs of all folders together: about 50 MB when full. A broad crawl goes back and
forth between some hundred hosts; with an eighth of it, two links in three were read anew."""
_ORIGINS_KEPT = 131_072
_SHORT_CHARS = 500

_PLAIN = re.compile(
    r"(?!//)"
    r"(?:(https?://[A-Za-z0-9.:-]{1,300})(?![^/]))?"
    r"((?:\.\./){0,40})"
    r"([A-Za-z0-9/._~!$&)*+,=@-]{0,500})"
    r"(\?[A-Za-z0-9/._~!$&()*+,;=:@?-]{0,500})?"
)
"""Origin, steps upwards, path, query. No colon, so no scheme; no escapes; nothing to encode."""

_PLAIN_ORIGIN = re.compile(r"https?://((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,63})")
"""Small letters, no port, and a last label that is no number: the parser changes nothing here. A
crawl that knows many hosts meets a new one in every fifth link."""

_OF_FOLDER = re.compile(
    r"https?://"
    r"|(?!(?i:https?):)[A-Za-z][A-Za-z0-9+.-]*:"
    r"|[A-Za-z0-9/._~%-][^:#]*\Z"
)
"""An href that means the same on all pages of a folder: absolute, of another scheme, or a path."""


def join_all(base: str | Url, hrefs: Sequence[str], rules: UrlConfig) -> list[Url | None]:
    """Return `join` of each href with the page's base, in order.

    A base that is a Url must have been made under the same rules.
    """
    page = base if isinstance(base, Url) else _plain_page(base) or parse(base, rules)
    text = base.text if isinstance(base, Url) else base
    if page is None or page.text != text or not text.startswith(("http://", "https://")):
        return [join(text, href, rules) for href in hrefs]
    reader = _Reader(page, rules)
    known, read = reader.known, reader.read
    found = [known.get(href) or read(href) for href in hrefs]
    _memory.check()
    return found


class _Memory:
    """What hrefs mean, by folder. Forgets the older half of the folders when it is full."""

    def __init__(self) -> None:
        self._folders: dict[tuple[str, bool, bool], dict[str, Url]] = {}
        self._last: dict[str, Url] = {}
        self._last_size = 0
        self._size = 0

    def of(self, folder: str, rules: UrlConfig) -> dict[str, Url]:
        """Return the known hrefs of a folder, to be read and added to until `check`."""
        key = (folder, rules.strip_session_ids, rules.strip_tracking)
        self._last = self._folders.setdefault(key, {})
        self._last_size = len(self._last)
        return self._last

    def check(self) -> None:
        """Count what was added, and forget the older half if that is too much."""
        self._size += len(self._last) - self._last_size
        if self._size + len(self._folders) > HREFS_KEPT:
            for key in list(islice(self._folders, -(-len(self._folders) // 2))):
                self._size -= len(self._folders.pop(key))


_memory = _Memory()


class _Reader:
    """Reads hrefs on a page whose URL is canonical, so that its folders are canonical too."""

    def __init__(self, page: Url, rules: UrlConfig) -> None:
        self._page = page
        self._rules = rules
        self._home: Origin = (page.origin, page.host, ring_of(page.host) << TEXT_BITS)
        path = page.text.partition("?")[0]
        folder = path[: path.rindex("/") + 1]
        self._heads = {"": folder, "/": page.origin}
        self.known = _memory.of(folder, rules)

    def read(self, href: str) -> Url | None:
        """Return an href joined to the page, and remember it if it is plain."""
        plain = _PLAIN.fullmatch(href)
        if plain is None or not href or href[0] == "?":
            return self._read_odd(href)
        origin, steps, path, query = plain.groups()
        at = self._home
        if origin is None:
            way = steps or ("/" if path[0] == "/" else "")
            text = (self._heads.get(way) or self._climb(way)) + path
        else:
            at = _origin_of(origin)
            text = at[0] + (path or "/")
        if query is not None and query != "?":
            text += query
        if not at[1] or "/." in text or (query and SUSPECT_QUERY.search(query.lower())):
            return self._ask_parser(href)
        key = at[2] | (xxh3_64_intdigest(text.encode()) & TEXT_MASK)
        url = self.known[href] = Url(text, at[1], at[0], key)
        return url

    def _read_odd(self, href: str) -> Url | None:
        """Return an href joined that is not plain, or is so only without its fragment."""
        if not href:
            return self._page
        if "#" in href and href.isascii() and len(href) < _SHORT_CHARS:
            bare = href[: href.index("#")]
            if bare[-1:] > " " or not bare:
                return self.known.get(bare) or self.read(bare)
        return self._ask_parser(href)

    def _climb(self, steps: str) -> str:
        """Return the folder that some ../ lead to: the root if they lead too far."""
        origin = self._home[0]
        names = self._heads[""][len(origin) :].split("/")[:-1]
        kept = names[: max(len(names) - len(steps) // len("../"), 1)]
        self._heads[steps] = f"{origin}{'/'.join(kept)}/"
        return self._heads[steps]

    def _ask_parser(self, href: str) -> Url | None:
        """Return what the full parser makes of an href."""
        url = join(self._page.text, href, self._rules)
        if url is not None and len(href) < _SHORT_CHARS and _OF_FOLDER.match(href):
            self.known[href] = url
        return url


def _plain_page(base: str) -> Url | None:
    """Return the Url of a page if its text is plainly canonical."""
    plain = _PLAIN.fullmatch(base)
    if plain is None or not plain[1] or not plain[3] or plain[4] or "/." in base:
        return None
    origin, host, ring_bits = _origin_of(plain[1])
    if origin != plain[1]:
        return None
    return Url(base, host, origin, ring_bits | (xxh3_64_intdigest(base.encode()) & TEXT_MASK))


@lru_cache(maxsize=_ORIGINS_KEPT)
def _origin_of(origin: str) -> Origin:
    """Return what an origin means, as someone wrote it; without host if it is none."""
    plain = _PLAIN_ORIGIN.fullmatch(origin)
    if plain is not None and "xn--" not in origin:
        return origin, plain[1], ring_of_new(plain[1]) << TEXT_BITS
    url = parse(origin + "/", UrlConfig())
    return ("", "", 0) if url is None else (url.origin, url.host, ring_of(url.host) << TEXT_BITS)
