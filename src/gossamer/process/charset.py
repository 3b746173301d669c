"""Which characters are these bytes? Byte-order mark, declaration, UTF-8, then a guess.

The order is WHATWG's, with two additions that cost nothing on ordinary pages: UTF-32 and UTF-16
without a mark are recognised, and so are the two stateful encodings that browsers refuse.
UTF-7 is never recognised. Nothing here raises.
"""

import codecs
import re

from turbohtml.detect import detect

UTF_8 = "utf-8"
_GUESSED_BYTES = 65_536
_PRESCAN_BYTES = 1_100
"""What a declaration may be hidden in: 1,024 bytes by the standard, and a bit."""
_LABEL_CHARS = 40
_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32 before UTF-16: the little-endian marks begin alike."""
_DECLARED = re.compile(
    rb"""<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([A-Za-z0-9_.:-]{1,40})"""
    rb"""|<meta[^>]{1,300}?charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_.:-]{1,40})""",
    re.IGNORECASE,
)
_ZEROES_WIDE = 32
"""At least one in so many of the first bytes is NUL in wide text, none in narrow text."""
_LAST_PLANE = 0x10
_STATEFUL = (
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
    (re.compile(rb"\x1b\$[@B]|\x1b\([IJ]"), "iso-2022-jp"),
    (re.compile(rb"~\{(?:[!-w][!-~]){2,999}+~\}"), "hz"),
)
"""Encodings that look like ASCII but for their shifts."""


def known(label: str) -> str:
    """Return a label that the decoders understand, or "" for one that they do not."""
    label = label.strip().lower()
    if label in {UTF_8, ""}:
        return label
    try:
        codecs.lookup(f"whatwg-{label[:_LABEL_CHARS]}")
    except (LookupError, ValueError):
        return ""
    return label


def marked(body: bytes) -> str:
    """Return the encoding that a byte-order mark names, or ""."""
    for mark, label in _MARKS:
        if body.startswith(mark) and (label != "utf-32-le" or _is_utf_32(body)):
            return label
    return ""


def _is_utf_32(body: bytes) -> bool:
    """Return True if what follows a mark can be UTF-32: UTF-16 that begins with NUL looks alike."""
    planes, tops = body[6:512:4], body[7:512:4]
    return not any(tops) and max(planes, default=0) <= _LAST_PLANE


def wide(body: bytes) -> str:
    """Return the encoding of unmarked UTF-16 or UTF-32, told by where its NULs are, or ""."""
    head = body[:512]
    a, b, c, d = (head[lane::4].count(0) for lane in range(4))
    few, lane = max(1, len(head) // _ZEROES_WIDE), len(head) // 4
    if a + b + c + d < few or lane == 0:
        return ""
    if c >= lane and d >= lane and a < lane:
        return "utf-32-le"
    if a >= lane and b >= lane and d < lane:
        return "utf-32-be"
    if (a + c) * 8 < b + d:
        return "utf-16-le"
    return "utf-16-be" if (b + d) * 8 < a + c else ""


def guess(body: bytes) -> str:
    """Return the likeliest encoding of bytes that say nothing and are not UTF-8."""
    return (detect(body[:_GUESSED_BYTES]).encoding or "windows-1252").lower()


def _stateful(body: bytes) -> str:
    head = body[:_GUESSED_BYTES]
    if (b"\x1b" in head or b"~{" in head) and head.isascii():
        for shift, label in _STATEFUL:
            if shift.search(head):
                return label
    return ""


def _declared(body: bytes) -> str:
    if (found := _DECLARED.search(body, 0, _PRESCAN_BYTES)) is None:
        return ""
    label = known((found[1] or found[2]).decode("ascii"))
    return UTF_8 if label.startswith("utf-16") else label


def _is_utf_8(body: bytes, *, is_cut: bool) -> bool:
    try:
        codecs.utf_8_decode(body, "strict", not is_cut)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(body: bytes, label: str) -> str:
    for codec in (label, f"whatwg-{label}"):
        if codec.startswith(("whatwg-", "utf-16-", "utf-32-", "iso2022_kr", "hz")):
            try:
                return body.decode(codec, "replace")
            except (LookupError, ValueError):
                continue
    return body.decode(UTF_8, "replace")


def label_of(body: bytes, declared: str, *, is_cut: bool = False) -> str:
    """Return the encoding of a text: its mark, its declaration, UTF-8, or a guess."""
    if label := marked(body) or known(declared) or wide(body) or _declared(body):
        return label
    if _is_utf_8(body, is_cut=is_cut):
        return _stateful(body) or UTF_8
    return guess(body)


def decode(body: bytes, declared: str = "", *, is_cut: bool = False) -> tuple[str, str]:
    """Return the text of some bytes and the name of the encoding that was used."""
    label = label_of(body, declared, is_cut=is_cut)
    text = body.decode(UTF_8, "replace") if label == UTF_8 else _decoded(body, label)
    return text.removeprefix("\ufeff"), label


def clean(text: str) -> str:
    """Return text that UTF-8 can hold: lone surrogates become replacement characters."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
