"""In which encoding a page is, as the tree would find it; its bytes as UTF-8."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from functools import lru_cache
from typing import Final, NamedTuple

from turbohtml import parse
from turbohtml.detect import detect

from gossamer.process.detect import UTF_8, beyond_web, declared_in, known
from gossamer.process.onepass.page import FlatPage

_ISO_2022_KR: Final = b"\x1b$)C"
_NUL_BYTES: Final = 64
_LIKE_ASCII: Final = ("utf-8", "windows-", "iso-8859-", "koi8-", "euc-", "gb", "big5", "macintosh")
"""How encodings begin in which what is ASCII throughout means the same."""
_CHARSET: Final = re.compile(r"charset\s*+=\s*+([^\s\"';]++)\s*+(?:;|\Z)", re.IGNORECASE)


class Utf8Source(NamedTuple):
    """The bytes of a page as UTF-8, and what they were."""

    body: bytes
    encoding: str
    is_certain: bool
    """What the page itself declares changes nothing."""


@lru_cache(256)
def _canonical(label: str) -> str:
    """Return the name of the encoding that a label means; "" if it means none."""
    try:
        return (parse(b"", encoding=label).encoding or "").lower()
    except LookupError:
        return ""


def utf_8_source(body: bytes, declared: str) -> Utf8Source | None:
    """Return a page as UTF-8, decoded as its server, then the page, then its bytes say."""
    head = body[:_NUL_BYTES]
    if 0 in head or _ISO_2022_KR in head or head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return None
    label = known(declared)
    if not label and (beyond_web(declared, body) or beyond_web(declared_in(body), body)):
        return None
    if body.startswith(BOM_UTF8):
        return Utf8Source(body[len(BOM_UTF8) :], UTF_8, is_certain=True)
    encoding = _canonical(label) if label else (detect(body).encoding or "windows-1252").lower()
    if encoding == UTF_8 or (body.isascii() and encoding.startswith(_LIKE_ASCII)):
        return Utf8Source(body, encoding, bool(label))
    try:
        text = body.decode(f"whatwg-{encoding}", "replace")
    except LookupError:
        return None
    return Utf8Source(text.encode(), encoding, bool(label))


def encoding_told(page: FlatPage, source: Utf8Source) -> str | None:
    """Return the encoding of a page, by what it declares itself; None if it is not in that."""
    if source.is_certain:
        return source.encoding
    for element in page.find_all("meta"):
        label = element.attr("charset")
        if label is None and (element.attr("http-equiv") or "").lower() == "content-type":
            content = element.attr("content") or ""
            if "charset" in content.lower():
                found = _CHARSET.search(content)
                if found is None:
                    return None
                label = found[1]
        if label is not None:
            encoding = _canonical(label.strip())
            if encoding == source.encoding:
                return encoding
            is_same = source.body.isascii() and encoding.startswith(_LIKE_ASCII)
            return encoding if is_same and encoding != "" else None
    return source.encoding
