"""File names of a mirror: where each URL lies below its folder, on any file system.

Names are made of letters, digits and `. _ - + = , @ ( ) ~` only, so that they mean the same in a
URL and on a disk. Whatever is lost on the way (a query, a character, letters that differ in case
only, a name that is a folder elsewhere) is made good by a hash of the URL. The ending says what a
file is: that is all that a browser knows of a file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import unquote

from gossamer.tables.editions import key_of

MAX_SEGMENT, MAX_PATH = 100, 220
HASH_CHARS = 8
MAX_HOPS = 20
"""Redirects that are followed from a link to the page that it leads to."""
RESERVED_FILES = frozenset({"index.html"})
"""Of the mirror's own, beside the folders of hosts."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._+=,@()~-]+")
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|clock\$|com[0-9]|lpt[0-9])(\.|$)")
_ENDINGS: Mapping[str, tuple[str, ...]] = {
    "text/html": (".html", ".htm"),
    "application/xhtml+xml": (".xhtml", ".xht"),
    "text/css": (".css",),
    "text/javascript": (".js", ".mjs"),
    "application/javascript": (".js", ".mjs"),
    "application/x-javascript": (".js", ".mjs"),
    "application/ecmascript": (".js", ".mjs"),
    "application/json": (".json", ".map", ".webmanifest"),
    "application/manifest+json": (".webmanifest", ".json"),
    "application/pdf": (".pdf",),
    "application/xml": (".xml", ".rss", ".atom", ".rdf"),
    "text/xml": (".xml", ".rss", ".atom", ".rdf"),
    "application/rss+xml": (".xml", ".rss"),
    "application/atom+xml": (".xml", ".atom"),
    "text/plain": (".txt", ".md", ".rst", ".text", ".log"),
    "text/markdown": (".md", ".markdown"),
    "text/csv": (".csv",),
    "image/png": (".png",),
    "image/apng": (".png", ".apng"),
    "image/jpeg": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "image/avif": (".avif",),
    "image/bmp": (".bmp",),
    "image/svg+xml": (".svg",),
    "image/x-icon": (".ico",),
    "image/vnd.microsoft.icon": (".ico",),
    "font/woff": (".woff",),
    "font/woff2": (".woff2",),
    "application/font-woff": (".woff",),
    "application/font-woff2": (".woff2",),
    "font/ttf": (".ttf",),
    "font/otf": (".otf",),
    "application/vnd.ms-fontobject": (".eot",),
    "audio/mpeg": (".mp3",),
    "audio/ogg": (".ogg", ".oga"),
    "audio/wav": (".wav",),
    "video/mp4": (".mp4", ".m4v"),
    "video/webm": (".webm",),
    "video/ogg": (".ogv",),
    "text/vtt": (".vtt",),
    "application/wasm": (".wasm",),
}
"""Endings by which a browser knows a type; the first is given to a name that has none of them."""
HTML_ENDINGS = (".html", ".htm", ".xhtml", ".xht")
_PLAIN_ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}$")


class MirroredUrl(NamedTuple):
    """A stored URL and what came from it."""

    url: str
    media_type: str


class _Name(NamedTuple):
    folder: str
    stem: str
    ending: str
    is_lossy: bool


def hash_of(url: str) -> str:
    """Return a few characters that stand for a URL in a name."""
    return blake2b(url.encode("utf-8", "replace"), digest_size=HASH_CHARS // 2).hexdigest()


def safe_segment(text: str) -> str:
    """Return a part of a path as a name of a file or folder, everywhere; equal if it is one."""
    name = _UNSAFE.sub("_", text)[:MAX_SEGMENT]
    if not name.strip("."):
        return "_" * len(name) or "_"
    if name[-1] == ".":
        name = name[:-1] + "_"
    return f"_{name}" if _DEVICES.match(name) else name


def _segment(text: str) -> tuple[str, bool]:
    """Return a part of the path of a URL as a name, and whether something was lost."""
    plain = unquote(text, errors="replace") if "%" in text else text
    name = safe_segment(plain)
    return name, name != text


def _named(one: MirroredUrl) -> _Name:
    scheme, _, rest = one.url.partition("://")
    before, _, query = rest.partition("?")
    authority, _, path = before.partition("/")
    parts = path.split("/")
    host, is_lossy = safe_segment(authority.replace(":", "_")), bool(query)
    is_lossy |= scheme not in {"http", "https"}
    folders = [host if host.lower() not in RESERVED_FILES else f"_{host}"]
    for part in parts[:-1]:
        name, has_lost = _segment(part)
        if has_lost:  # /a%2Fb/x and /a_b/x are two folders
            name = f"{name[: MAX_SEGMENT - HASH_CHARS - 1]}-{hash_of(part)}"
        folders.append(name)
    last, has_lost = _segment(parts[-1]) if parts[-1] else ("index", False)
    stem, ending = _split_ending(last, one.media_type)
    folder = "/".join(folders)
    if len(folder) + len(last) > MAX_PATH:
        return _Name(f"{folders[0]}/_long", stem[:HASH_CHARS], ending, is_lossy=True)
    return _Name(folder, stem, ending, is_lossy | has_lost)


def _split_ending(name: str, media_type: str) -> tuple[str, str]:
    """Return a file name as stem and an ending that a browser believes."""
    known = _ENDINGS.get(media_type, ())
    lower = name.lower()
    for ending in known:
        if lower.endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)], name[-len(ending) :]
    if known:
        return name, known[0]
    found = _PLAIN_ENDING.search(name)
    if found is None or not found.start():
        return name, ""
    is_page = found[0].lower() in HTML_ENDINGS
    return (name, ".bin") if is_page else (name[: found.start()], found[0])


class MirrorNames:
    """Where stored URLs lie in a mirror, by URL; redirects lead to where their target lies."""

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}
        self._redirects: dict[int, int] = {}
        self._taken: set[str] = set()

    def __len__(self) -> int:
        return len(self._paths)

    def assign(self, urls: Iterable[MirroredUrl]) -> None:
        """Give every URL a place; they are asked for twice."""
        known = list(urls)
        folders = {above for one in known for above in _folders_of(_named(one).folder.lower())}
        for one in known:
            key = key_of(one.url)
            if key not in self._paths:
                self._paths[key] = self._free_name(one, folders)
        self._taken.clear()

    def add_redirect(self, source: str, target: str) -> None:
        """Note that a URL redirects to another."""
        self._redirects[key_of(source)] = key_of(target)

    def find(self, url: str) -> str | None:
        """Return where a URL, or what it redirects to, lies; None if it is not stored."""
        key = key_of(url)
        for _ in range(MAX_HOPS):
            path = self._paths.get(key)
            if path is not None:
                return path
            following = self._redirects.get(key)
            if following is None:
                return None
            key = following
        return None

    def _free_name(self, one: MirroredUrl, folders: set[str]) -> str:
        name = _named(one)
        path = f"{name.folder}/{name.stem}{name.ending}"
        if name.is_lossy or path.lower() in folders or path.lower() in self._taken:
            stem = f"{name.stem[: MAX_SEGMENT - HASH_CHARS - 1]}-{hash_of(one.url)}"
            path = f"{name.folder}/{stem}{name.ending}"
        number = 1
        while path.lower() in folders or path.lower() in self._taken:
            number += 1
            path = f"{name.folder}/{name.stem[:32]}-{hash_of(one.url)}-{number}{name.ending}"
        self._taken.add(path.lower())
        return path


def _folders_of(folder: str) -> Iterator[str]:
    """Yield a folder and all above it."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def relative_reference(target: str, source: str) -> str:
    """Return how a file of a mirror refers to another; both are named from its top."""
    here, there = source.split("/")[:-1], target.split("/")
    same = 0
    for one, other in zip(here, there[:-1], strict=False):
        if one != other:
            break
        same += 1
    return "/".join([".."] * (len(here) - same) + there[same:])
