"""What a page's address and media type say of it: its words, its sites, its types."""

import re
from functools import lru_cache
from urllib.parse import unquote

from gossamer.urls import unicode_host

_MOST_CHARS = 300
_REMEMBERED = 4096
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_USUAL = re.compile(r"\.(?:[sx]?html?|php\d?|aspx?|jspx?|cgi)(?=$|[?#;/])", re.IGNORECASE)
_ADDRESS = re.compile(r"[\d.]+|\[.*\]")
_MAJOR = frozenset({"image", "audio", "video", "font"})
"""Media types that are told apart by their first half."""
_ALSO = {
    "application/xhtml+xml": ("html",),
    "text/plain": ("text", "txt"),
    "application/rss+xml": ("rss", "feed"),
    "application/atom+xml": ("atom", "feed"),
    "application/rdf+xml": ("rdf", "feed"),
    "application/feed+json": ("json", "feed"),
    "application/msword": ("doc",),
    "application/vnd.ms-excel": ("xls",),
    "application/vnd.ms-powerpoint": ("ppt",),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ("docx",),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ("xlsx",),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ("pptx",),
    "application/vnd.oasis.opendocument.text": ("odt",),
    "application/javascript": ("js",),
    "text/javascript": ("js",),
    "text/markdown": ("md",),
    "image/jpeg": ("jpg",),
    "image/svg+xml": ("svg",),
    "image/x-icon": ("ico",),
}


def host_of(url: str) -> str:
    """Return the host of a canonical URL; one of IPv6 has its brackets."""
    authority = url.split("/", 3)[2].rpartition("@")[2]
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]


@lru_cache(maxsize=_REMEMBERED)
def sites_of(host: str) -> tuple[str, ...]:
    """Return a host and the domains above it. An address has none above it."""
    if _ADDRESS.fullmatch(host):
        return (host,)
    labels = host.strip(".").split(".")
    return tuple(".".join(labels[start:]) for start in range(len(labels)))


@lru_cache(maxsize=_REMEMBERED)
def types_of(media_type: str) -> tuple[str, ...]:
    """Return what a person may call a media type: itself, html, pdf, feed, image."""
    plain = media_type.partition(";")[0].strip().lower()
    if not plain:
        return ()
    major, _, minor = plain.partition("/")
    minor = minor.removeprefix("x-")
    names = [plain, minor.rpartition("+")[2] if "+" in minor else minor, *_ALSO.get(plain, ())]
    if major in _MAJOR:
        names.append(major)
    return tuple(dict.fromkeys(name for name in names if name))


@lru_cache(maxsize=_REMEMBERED)
def short_type(media_type: str) -> str:
    """Return what people call a media type, as `type:` takes it: html, pdf, text, image."""
    names = types_of(media_type)
    if not names:
        return ""
    if names[-1] in _MAJOR:
        return names[-1]
    return _ALSO.get(names[0], names[1:2] or names)[0]


@lru_cache(maxsize=_REMEMBERED)
def _host_words(host: str) -> str:
    if host.startswith("["):
        return host
    return " ".join(label for label in unicode_host(host).split(".") if label != "www")


def words_of_url(url: str) -> str:
    """Return the words of a URL: of its host, path and query, without what most URLs have.

    `fooBar` is given as such, and as foo Bar.
    """
    path = url.split("/", 3)[3] if url.count("/") > 2 else ""  # noqa: PLR2004 -- slashes of an origin
    path = _USUAL.sub(" ", path[:_MOST_CHARS])
    if "%" in path:
        path = unquote(path, errors="replace")
    humps = _HUMP.sub(" ", path)
    return f"{_host_words(host_of(url))} {path}{'' if humps == path else ' ' + humps}"
