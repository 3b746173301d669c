"""A text, or a link of a page, to canonical URLs and their keys.

The canonical form is what the WHATWG parser makes of a text, then an ordered list of steps. Each
takes and returns a text and leaves alone what it does not know. The steps keep what a server sees:
only spellings that RFC 3986 calls equivalent are merged (hex digits in upper case,
unreserved characters decoded; reserved ones such as %2F or %3D stay as they are), and only
parameters that are known to name a visit, not a page, are removed. Applying the list twice changes
nothing more.

A ring point is 24 bits of the registrable domain's hash. A URL's fingerprint is its ring point and
40 bits of its text's hash; a host's key is its ring point and all 64 bits of the host's hash. Ring
bits come first, so that a domain's data are neighbours on disk.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import ada_url
from publicsuffixlist import PSLFILE, PublicSuffixList
from xxhash import xxh3_64_intdigest

from gossamer.config import Config, UrlConfig
from gossamer.log import escape, redact
from gossamer.model import HostKey, Url

MAX_CHARS = 65_536
"""Longer texts are no URLs to us: nobody serves them, and reading them costs time."""

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

_TRIPLET = re.compile(r"%[0-9A-Fa-f]{2}")
_SAFE_TRIPLET = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%[0-9A-F]{2}")
"""A triplet behind a stray % stays: decoded, it could complete a new triplet (%2%65 is no %2e)."""

_UNTIDY = re.compile(
    r"%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]|[0-9A-F][a-f]|[a-f][0-9A-Fa-f])"
)
"""An escape of an unreserved character or in lower case: without one there is nothing to unify."""

_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#]*@")

_PATH_SESSION = re.compile(r"(?i)(?<=[^/.])(?:;(?:jsessionid|phpsessid)=[^;/]*)+")
"""Behind a dot it stays: without it, /..;jsessionid=1/ would become a step upwards."""
_ASP_SESSION = re.compile(r"(?i)/\((?:[a-z]\([0-9a-z_-]{20,}\))+\)(?=/)")

_SESSION = (
    r"(?:jsessionid|phpsessid|sessionid|session_id|sessid|aspsessionid[a-z]*|cfid|cftoken)(?:=.*)?"
    r"|sid=(?=[a-z,-]*[0-9])[0-9a-z,-]{16,}"
)
"""A bare `sid` often names a story: it must look drawn at random to count."""

_TRACKING = (
    r"(?:utm_[a-z_]+|mtm_[a-z_]+|hsa_[a-z]+|(?:g|d|fb|y|tw|tt)clid|msclkid|gclsrc|gbraid|wbraid"
    r"|mc_[ce]id|igshid|igsh|li_fat_id|_ga|_gl|_hsenc|_hsmi|hsctatracking|mkt_tok|vero_id"
    r"|oly_(?:anon|enc)_id|wickedid|srsltid|rb_clickid|gad_source|gad_campaignid)(?:=.*)?"
)

_SESSION_PARAMETER = re.compile(_SESSION, re.DOTALL | re.IGNORECASE)
_TRACKING_PARAMETER = re.compile(_TRACKING, re.DOTALL | re.IGNORECASE)

SUSPECT_QUERY = re.compile(rf"[?&](?:{_SESSION}|{_TRACKING})", re.DOTALL)
"""Found in the lower-case form of every query that the two steps below could change."""


_OTHER_AUTHORITY = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>\[[^\]/?#]*\]|[^/?#:\[\]]*)(?P<port>:[0-9]+)?(?=[/?#]|$)"
)
_SPECIAL = frozenset({"http", "https", "ftp", "file", "ws", "wss"})
"""Schemes whose hosts the WHATWG parser has brought into form."""

_TOUCHED = re.compile(r"[#%(;?@]")
"""Without one of these marks no step has anything to do."""


def whatwg(text: str, base: str = "") -> str | None:
    """Return the href that a browser would make of a text on a page; None if it is not a URL."""
    if len(text) > MAX_CHARS:
        return None
    try:
        return str(ada_url.join_url(base, text) if base else ada_url.normalize_url(text))
    except ValueError:
        return None


class Step(NamedTuple):
    """One step towards the canonical form: what it does, in words, and how."""

    words: str
    apply: Callable[[str, UrlConfig], str]


def drop_fragment(text: str, _rules: UrlConfig) -> str:
    """Drop what a browser never sends, and blanks before it: a second reading would drop them."""
    return text.partition("#")[0].rstrip(" ") if "#" in text else text


def drop_credentials(text: str, _rules: UrlConfig) -> str:
    """Drop user name and password, so that neither queue, log nor archive sees them."""
    return _CREDENTIALS.sub(r"\1", text) if "@" in text else text


def unify_escapes(text: str, _rules: UrlConfig) -> str:
    """Write escapes in upper case and unreserved characters plainly."""
    if "%" not in text or not _UNTIDY.search(text):
        return text
    upper = _TRIPLET.sub(lambda m: m.group().upper(), text)
    return _SAFE_TRIPLET.sub(_decode_unreserved, upper)


def _decode_unreserved(triplet: re.Match[str]) -> str:
    letter = chr(int(triplet.group()[1:], 16))
    return letter if letter in _UNRESERVED else triplet.group()


def drop_session_ids(text: str, rules: UrlConfig) -> str:
    """Drop session ids from path and query."""
    if not rules.strip_session_ids:
        return text
    place, mark, query = text.partition("?")
    start = place.index("/", place.index("://") + 3)
    origin, path = place[:start], place[start:]
    if ";" in path:
        path = _PATH_SESSION.sub("", path)
    if "(" in path:
        path = _ASP_SESSION.sub("", path)
    return _without(origin + path + mark + query, _SESSION_PARAMETER)


def drop_tracking(text: str, rules: UrlConfig) -> str:
    """Drop parameters that tell who sent the visitor."""
    return _without(text, _TRACKING_PARAMETER) if rules.strip_tracking else text


def drop_empty_query(text: str, _rules: UrlConfig) -> str:
    """Drop a lone question mark."""
    return text[:-1] if text.find("?") == len(text) - 1 else text


def _without(text: str, unwanted: re.Pattern[str]) -> str:
    """Return the URL without the parameters that match; untouched, byte by byte, if none does."""
    path, mark, query = text.partition("?")
    if not mark:
        return text
    parameters = query.split("&")
    kept = [parameter for parameter in parameters if not unwanted.fullmatch(parameter)]
    if len(kept) == len(parameters):
        return text
    return f"{path}?{'&'.join(kept)}" if kept else path


def unify_host(text: str, _rules: UrlConfig) -> str:
    """Write the host of a scheme that browsers do not know as that of a web page.

    In small letters and punycode: so that one host is one to politeness, whatever is asked of it.
    """
    found = _OTHER_AUTHORITY.match(text)
    if found is None or found["scheme"] in _SPECIAL:
        return text
    href = whatwg(f"http://{found['host']}/") if found["host"] else None
    host = found["host"] if href is None else href[len("http://") : -1]
    path = text[found.end() :]
    slash = "" if path.startswith("/") or not host else "/"
    return f"{found['scheme']}://{host}{found['port'] or ''}{slash}{path}"


ANY_STEPS: tuple[Step, ...] = (
    Step("fragment dropped", drop_fragment),
    Step("user name and password dropped", drop_credentials),
    Step("host written as in a web address", unify_host),
)
"""For every scheme."""

WEB_STEPS: tuple[Step, ...] = (
    *ANY_STEPS,
    Step("escapes unified", unify_escapes),
    Step("session id dropped", drop_session_ids),
    Step("tracking parameters dropped", drop_tracking),
    Step("empty query dropped", drop_empty_query),
)
"""For http and https."""


def steps_for(text: str) -> tuple[Step, ...]:
    """Return the steps for a URL that the WHATWG parser wrote (so its scheme is in lower case)."""
    return WEB_STEPS if text.startswith(("http://", "https://")) else ANY_STEPS


def canonical(text: str, rules: UrlConfig) -> str:
    """Return the canonical form of a URL that the WHATWG parser wrote."""
    if not _TOUCHED.search(text):
        return text if text.startswith("http") else unify_host(text, rules)
    for step in steps_for(text):
        text = step.apply(text, rules)
    return text


def explain(text: str, rules: UrlConfig) -> list[str]:
    """Return the steps that changed something, in order and in words; [] for a canonical URL.

    Credentials are never shown, and control characters are shown as escapes.
    """
    if len(text) > MAX_CHARS:
        return [f"not a URL: longer than {MAX_CHARS} characters"]
    href = whatwg(text)
    if href is None:
        return [f"not a URL by the WHATWG standard: {_shown(text)}"]
    told = [] if href == text else [f"read as a browser reads it: {_shown(href)}"]
    for step in steps_for(href):
        changed = step.apply(href, rules)
        if changed != href:
            told.append(f"{step.words}: {_shown(changed)}")
        href = changed
    return told


UrlFlaw: TypeAlias = Literal[
    "too_long", "no_host", "bad_host", "bad_port", "misspelt_scheme", "not_a_url"
]
"""What is wrong with a text that somebody has written as a URL."""

_AUTHORITY = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*):)?[\\/]{2,}(?:[^\\/?#]*@)?"
    r"(?P<host>\[[^\\/?#\]]*\]?|[^\\/?#:]*)(?P<rest>[^\\/?#]*)",
    re.IGNORECASE,
)
_PORT = re.compile(r":[0-9]*")
_MOST_PORT = 65_535
_WEB_SCHEMES = ("http", "https")
_REAL_SCHEMES = frozenset({*_WEB_SCHEMES, "shttp"})


def url_flaw(text: str, base: str = "") -> UrlFlaw | None:
    """Return why a reference on a page is no URL that leads anywhere; None if it is one.

    A scheme that is http or https but for one letter counts, too: `htp://`, `htttps://`.
    """
    if whatwg(text, base) is not None:
        scheme, separator, _ = text.strip().partition("://")
        is_misspelt = bool(separator) and _is_nearly_web(scheme.lower())
        return "misspelt_scheme" if is_misspelt else None
    if len(text) > MAX_CHARS:
        return "too_long"
    found = _AUTHORITY.match(text.strip())
    if found is None:
        return "not_a_url"
    host, rest = found["host"], found["rest"]
    if rest and (_PORT.fullmatch(rest) is None or int(rest[1:] or 0) > _MOST_PORT):
        return "bad_port" if rest[0] == ":" else "bad_host"
    return "bad_host" if host else "no_host"


def _is_nearly_web(scheme: str) -> bool:
    """Return True if a scheme is one insertion, deletion, change or swap away from http(s)."""
    return scheme not in _REAL_SCHEMES and any(_is_one_edit(scheme, web) for web in _WEB_SCHEMES)


def _is_one_edit(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    pairs = zip(one, other, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    after, behind = one[same:], other[same:]
    is_swap = after[1::-1] == behind[:2] and after[2:] == behind[2:]
    return is_swap or after[1:] == behind[1:] or after[1:] == behind or after == behind[1:]


def without_credentials(text: str) -> str:
    """Return a text as it is, unless it names a user or a password: then without them."""
    if "@" not in text:
        return text
    href = whatwg(text)
    if href is None:
        return redact(text)
    bare = drop_credentials(href, UrlConfig())
    return text if bare == href else bare


def _shown(text: str) -> str:
    return escape(redact(text))


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


_RULE_TAIL = re.compile(r"^(?!//)!?(?:\S*\.)?([^\s.]+\.[^\s.]+)", re.MULTILINE)


@cache
def _tails_with_rules() -> frozenset[str]:
    """Return the last two labels of every rule of the list that has as many: `co.uk`, `*.ck`.

    They are read from its file: for most names that is all that is needed, and takes a sixth of
    the time that the list itself takes to be read.
    """
    return frozenset(_RULE_TAIL.findall(Path(PSLFILE).read_text("utf-8").lower()))


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
