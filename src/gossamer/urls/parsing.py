"""parse, join, join_all: a text, or the links of a page, to canonical URLs and their keys.

`join_all` puts two short cuts in front of the full parser. Pages of a folder share most of their
links, so what an href means there is remembered. And most hrefs are plain: letters, digits and a
few marks that no step changes, perhaps steps upwards first, perhaps an origin in front; one regular
expression tells, and then joining is putting two texts together. A property test holds all ways to
the same results.

A ring point is 24 bits of the registrable domain's hash. A URL's fingerprint is its ring point and
40 bits of its text's hash; a host's key is its ring point and all 64 bits of the host's hash. Ring
bits come first, so that a domain's data are neighbours on disk.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import TypeAlias

import ada_url
from publicsuffixlist import PublicSuffixList
from xxhash import xxh3_64_intdigest

from gossamer.config import Config, UrlConfig
from gossamer.model import HostKey, Url
from gossamer.urls.canonical import MAX_CHARS, SUSPECT_QUERY, canonical, whatwg

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


def seed_urls(config: Config) -> list[Url]:
    """Return the seeds that are URLs; the scope is measured from them."""
    urls = [parse(text, config.urls) for text in config.seeds]
    return [url for url in urls if url is not None]
