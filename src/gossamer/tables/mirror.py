"""Mirror: stored pages as a folder of files that opens without a server, by file://.

References between what is stored become relative, whatever else is referred to becomes absolute. A
link to a URL that redirects leads to where it redirects. Pages whose encoding only the server said
say it themselves.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from msgspec import Struct

from gossamer.config import UrlConfig
from gossamer.model import BuildProgress, BuildStep
from gossamer.process import declared_charset, decode, known_charset
from gossamer.store import Record, decoded, header_fields, joined_field, split_head
from gossamer.tables.mirror_names import HTML_ENDINGS, MirrorNames, relative_reference
from gossamer.tables.rewriting import MarkupRewriter, base_reference, with_charset
from gossamer.urls import join

BODY_BYTES = 64 << 20
TOLD_EVERY = 500
MOST_SEEDS = 1_000
GENERATOR = '<meta name="generator" content="gossamer mirror">'
"""By this line a mirror is known: only such a folder is replaced."""
NOTHING = "about:blank"
"""Instead of what a page of the web names on the reader's own machine: no browser shows it there,
but a page that is opened as a file could load it."""
_XML_ENDINGS = (".xhtml", ".xht", ".svg")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FOLLOWED = frozenset({"http", "https", "ftp", "file"})
_NOT_ASCII = ("utf-16", "utf-32", "utf-7", "iso-2022", "hz")
"""Encodings in which `<` or a quote may be part of another character."""
_BOM = b"\xef\xbb\xbf"
_XML_ENCODING = re.compile(r"""(\A\s*<\?xml[^>]*?\sencoding\s*=\s*)["'][^"']*["']""")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_ASCII_SAFE = "".join(chr(code) for code in range(0x21, 0x7F))


class MirrorTotals(Struct, frozen=True, kw_only=True):
    """What a mirror holds."""

    files: int
    bytes: int


class _Body(NamedTuple):
    content: bytes
    charset: str
    """As the server said; "" if it did not, or nobody knows it."""


def body_of(record: Record) -> _Body:
    """Return the body of a page record as its author wrote it."""
    if record.headers.get("warc-type") == "resource":
        return _Body(record.block, "")
    head, payload = split_head(record.block)
    fields = header_fields(head)
    content = decoded(
        payload,
        transfer=joined_field(fields, "transfer-encoding"),
        codings=joined_field(fields, "content-encoding"),
        max_bytes=BODY_BYTES,
    )
    said = next((value for name, value in fields if name == "content-type"), "")
    found = _CHARSET.search(said)
    return _Body(content, known_charset(found[1]) if found else "")


class PageMirror:
    """Turns stored pages into files that refer to each other."""

    def __init__(self, names: MirrorNames, rules: UrlConfig) -> None:
        self._names = names
        self._rules = rules

    def file_of(self, url: str, path: str, body: _Body) -> bytes:
        """Return what a file of the mirror holds."""
        ending = path[path.rfind(".") :].lower()
        if ending == ".css":
            return self._style(url, path, body)
        if ending in HTML_ENDINGS or ending == ".svg":
            return self._page(url, path, body, is_xml=ending in _XML_ENDINGS)
        return body.content

    def _page(self, url: str, path: str, body: _Body, *, is_xml: bool) -> bytes:
        content, said = body
        has_mark = content.startswith(_BOM)
        text, charset = decode(content, "utf-8" if has_mark else said)
        is_other = is_xml and not has_mark and said not in {"", "utf-8"}
        if is_other or charset.lower().startswith(_NOT_ASCII):
            rewriter = MarkupRewriter(self._new_reference(url, path, text))
            new = rewriter.page(text)
            new = _XML_ENCODING.sub(r'\1"utf-8"', new) if is_xml else with_charset(new, "utf-8")
            return new.encode("utf-8", "replace")
        raw = content.decode("latin-1")
        of_bytes = _decoder(charset)
        rewriter = MarkupRewriter(self._new_reference(url, path, raw), of_bytes)
        new = rewriter.page(raw)
        declared = known_charset(declared_charset(content))
        if said and said != declared and not has_mark and not is_xml:
            new = with_charset(new, said)
        return new.encode("latin-1", "xmlcharrefreplace")

    def _style(self, url: str, path: str, body: _Body) -> bytes:
        content, said = body
        charset = said or "utf-8"
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            content, charset = decode(content, "")[0].encode("utf-8", "replace"), "utf-8"
        raw = content.decode("latin-1")
        new = MarkupRewriter(self._new_reference(url, path, ""), _decoder(charset)).style(raw)
        is_silent = not content.startswith((_BOM, b"@charset")) and not content.isascii()
        opening = f'@charset "{charset}";' if is_silent else ""
        return (opening + new).encode("latin-1", "replace")

    def _new_reference(self, url: str, path: str, page: str) -> Callable[[str], str | None]:
        """Return what is written instead of a reference of a page."""
        base = url
        if page and (written := base_reference(page)) and (found := self._join(url, written)):
            base = found
        known: dict[str, str | None] = {}

        def new_reference(reference: str) -> str | None:
            if reference not in known:
                known[reference] = self._reference(reference.strip(), base, url, path)
            return known[reference]

        return new_reference

    def _reference(self, reference: str, base: str, url: str, path: str) -> str | None:
        scheme = _SCHEME.match(reference)
        is_plain = scheme is None or scheme[0][:-1].lower() in _FOLLOWED
        if not reference or not is_plain or (reference[0] == "#" and base == url):
            return None
        is_local = url.startswith("file:")
        if scheme is not None and scheme[0].lower() == "file:" and not is_local:
            return NOTHING
        before, mark, fragment = reference.partition("#")
        target = self._join(base, before)
        if target is None:
            return None
        if target.startswith("file:") and not is_local:  # fi<tab>le:, or by way of <base>
            return NOTHING
        place = self._names.find(target)
        tail = mark + quote(fragment, safe=_ASCII_SAFE)
        if place is None:
            return None if scheme is not None else target + tail
        if place == path and fragment:
            return tail
        return relative_reference(place, path) + tail

    def _join(self, base: str, reference: str) -> str | None:
        found = join(base, reference, self._rules)
        return found.text if found is not None else None


def _decoder(charset: str) -> Callable[[str], str]:
    """Return what turns text that was read as Latin-1 into what it means."""
    for codec in (f"whatwg-{charset}", charset):
        try:
            codecs.lookup(codec)
        except (LookupError, ValueError):
            continue
        return lambda text: (
            text if text.isascii() else text.encode("latin-1", "replace").decode(codec, "replace")
        )
    return lambda text: text


def write_mirror(
    folder: Path,
    records: Iterable[Record],
    names: MirrorNames,
    rules: UrlConfig,
    seeds: Iterable[str],
    tell: BuildProgress,
) -> MirrorTotals:
    """Write page records as files into an empty folder."""
    pages, files, size = PageMirror(names, rules), 0, 0
    for record in records:
        url = record.headers.get("warc-target-uri", "")
        place = names.find(url)
        if place is None:
            continue
        data = pages.file_of(url, place, body_of(record))
        path = _inside(folder, place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        files, size = files + 1, size + len(data)
        if files % TOLD_EVERY == 0:
            tell(BuildStep(doing="adding", count=files))
    tell(BuildStep(doing="adding", count=files))
    (folder / "index.html").write_text(_front_page(names, seeds), "utf-8")
    return MirrorTotals(files=files, bytes=size)


def _inside(folder: Path, place: str) -> Path:
    """Return a path below a folder; names are made so that none leads out of it."""
    parts = place.split("/")
    if not all(parts) or any(part in {".", ".."} or "\\" in part for part in parts):
        raise ValueError(f"not a path inside of a mirror: {place!r}")
    return folder.joinpath(*parts)


def _front_page(names: MirrorNames, seeds: Iterable[str]) -> str:
    """Return a page that leads to the first pages; of a single one, at once."""
    found = list(_places(names, seeds))
    more = ""
    if len(found) == 1:
        more = f'<meta http-equiv="refresh" content="0; url={escape(found[0][1])}">'
    items = "".join(
        f'<li><a href="{escape(place)}">{escape(seed)}</a></li>\n' for seed, place in found
    )
    return (
        f'<!doctype html>\n<meta charset="utf-8">\n{GENERATOR}\n{more}\n<title>Mirror</title>\n'
        f"<ul>\n{items}</ul>\n"
    )


def _places(names: MirrorNames, seeds: Iterable[str]) -> Iterator[tuple[str, str]]:
    known: set[str] = set()
    for seed in seeds:
        place = names.find(seed)
        if place is not None and place not in known:
            known.add(place)
            yield seed, place
        if len(known) == MOST_SEEDS:
            return
