"""What is this document really? Its media type and the encoding of its characters.

The declared media type is corrected by the first bytes. Only reading depends on the answer: the
archive keeps what the server said. A signature beats a declaration (a PNG sent as HTML is an
image), a declared text stays text (HTML sent as text/plain was meant to be shown), and XML is told
apart by its root element.

The encoding is that of the byte-order mark, of the declaration, UTF-8, or a guess. The order is
WHATWG's, with additions that cost nothing on ordinary pages: UTF-32 and UTF-16 without a mark are
recognised, and so are the two stateful encodings that browsers refuse; a declared encoding that
browsers do not know (EBCDIC, DOS and Macintosh code pages) is used if Python has it. UTF-7 is never
recognised. Whether bytes are text is asked of the characters that they stand for. Nothing here
raises.
"""

import codecs
import ctypes
import re
import zlib
from functools import lru_cache

from turbohtml.detect import detect as detect_encoding

from gossamer.model import Document

FEEDS = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
JSON_FEED = "application/feed+json"
SITEMAP = "application/sitemap+xml"
SITEMAP_TEXT = "text/x-sitemap"
GZIP = "application/gzip"
HTML = "text/html"
BINARY = "application/octet-stream"
PLAIN = "text/plain"

HEAD_BYTES = 2_048
_UNTYPED = frozenset(
    {
        "",
        "*/*",
        BINARY,
        "binary/octet-stream",
        "application/x-octet-stream",
        "application/unknown",
        "unknown/unknown",
        "application/download",
        "application/force-download",
    }
)
_GZIPS = frozenset({GZIP, "application/x-gzip", "application/x-gunzip"})
_MARKUPS = frozenset({HTML, "text/xml", "application/xml"})
_MARKUP = b"\xef\xbb\xbf <\t\r\n"
"""First bytes of ordinary markup: such a document needs no look at the signatures."""
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"\x1f\x8b\x08", GZIP),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"BZh", "application/x-bzip2"),
    (b"OggS\x00", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x7fELF", BINARY),
    (b"MZ\x90\x00", BINARY),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
)
_ZIPPED_OFFICE = ("application/vnd.", "application/epub", "application/java-archive")
_ROOT = re.compile(rb"<(?![?!])([A-Za-z_][\w.-]{0,30}:)?([A-Za-z_][\w.-]{0,30})[\s/>]")
_ROOTS = {
    b"rss": FEEDS[0],
    b"feed": FEEDS[1],
    b"rdf": FEEDS[2],
    b"urlset": SITEMAP,
    b"sitemapindex": SITEMAP,
    b"html": "application/xhtml+xml",
    b"svg": "image/svg+xml",
}
_HTML_ROOTS = frozenset({b"html", b"HTML"})
_HTML_TAGS = frozenset(
    b"html head script iframe h1 div font table a style title b body br p meta link base".split()
)
_CONTROLS = bytes({*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)})
_NO_TEXT = frozenset(map(chr, (*_CONTROLS, *range(0x7F, 0x85), *range(0x86, 0xA0), 0xFFFD)))
_ODD_SHARE = 100
"""Of so many characters one may be such a control character, or a character that is none."""
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe", b"\x00\x00\xfe\xff")


def media_type(document: Document) -> str:
    """Return the media type to read a document as; "" never, octet-stream if nothing is known."""
    body = document.body.decoded()
    declared = document.media_type
    if body[:1] not in _MARKUP and (signed := _signature(body)):
        return _of_signed(signed, declared, body, document)
    if declared == HTML and (root := _ROOT.search(body, 0, HEAD_BYTES)) and root[2] in _HTML_ROOTS:
        return HTML
    if declared in _UNTYPED:
        return _of_untyped(body[:HEAD_BYTES], document)
    if declared in _GZIPS:
        return _of_untyped(body[:HEAD_BYTES], document)
    return _of_declared(declared, body[:HEAD_BYTES], document)


def unzipped_head(body: bytes) -> bytes:
    """Return the first bytes inside a gzip file; b"" if it is damaged."""
    try:
        return zlib.decompressobj(wbits=31).decompress(body[:HEAD_BYTES], HEAD_BYTES)
    except zlib.error:
        return b""


def _signature(body: bytes) -> str:
    for start, signed in _SIGNATURES:
        if body.startswith(start):
            return signed
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    return "video/mp4" if body[4:8] == b"ftyp" else ""


def _of_signed(signed: str, declared: str, body: bytes, document: Document) -> str:
    if signed == GZIP:
        return _of_gzip(unzipped_head(body), document)
    if signed == "application/zip" and declared.startswith(_ZIPPED_OFFICE):
        return declared
    return signed


def _of_gzip(head: bytes, document: Document) -> str:
    inside = _of_xml(head) or _of_text_sitemap(head, document.url.target)
    return inside if inside in {SITEMAP, SITEMAP_TEXT} else GZIP


def _of_untyped(head: bytes, document: Document) -> str:
    if found := _of_xml(head):
        return found
    if is_binary(head, document.charset):
        return BINARY
    root = _ROOT.search(head)
    if (
        root
        and root[2].lower() in _HTML_TAGS
        and head.lstrip(_MARKUP[:-4] + b"\t\r\n ")[:1] == b"<"
    ):
        return HTML
    if head.lstrip()[:9].lower() == b"<!doctype":
        return HTML
    return _of_text_sitemap(head, document.url.target) or _of_json(head) or PLAIN


def _of_declared(declared: str, head: bytes, document: Document) -> str:
    if declared in _MARKUPS or declared.endswith("+xml"):
        return _of_markup(declared, head)
    if declared == PLAIN:
        if is_binary(head, document.charset):
            return BINARY
        return _of_text_sitemap(head, document.url.target) or PLAIN
    if declared in {"application/json", "text/json"}:
        return _of_json(head) or "application/json"
    return declared


def _of_markup(declared: str, head: bytes) -> str:
    if declared == HTML:
        found = _of_xml(head)
        return found if found in {SITEMAP, *FEEDS} else HTML
    found = _of_xml(head, is_xml=True)
    return found or (declared if declared != "text/xml" else "application/xml")


def _of_xml(head: bytes, *, is_xml: bool = False) -> str:
    """Return the type that the root element tells, or "" if this is not XML that we know."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:2] in _BYTE_ORDER_MARKS:
        start = head[2:].replace(b"\x00", b"")
    if not start.startswith(b"<"):
        return ""
    root = _ROOT.search(start)
    if root is None:
        return ""
    found = _ROOTS.get(root[2].lower(), "")
    if found == "application/xhtml+xml" and not (is_xml or start.startswith(b"<?xml")):
        return ""
    return found


def _of_text_sitemap(head: bytes, target: str) -> str:
    is_list = head.lstrip(_BYTE_ORDER_MARKS[0]).startswith(b"http")
    return SITEMAP_TEXT if is_list and "sitemap" in target.lower() else ""


def _of_json(head: bytes) -> str:
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in {b"{", b"["}:
        return ""
    return JSON_FEED if b"jsonfeed.org/version" in head else "application/json"


def is_binary(head: bytes, charset: str = "") -> bool:
    """Return True if the first bytes of a document cannot be text.

    Control characters speak for that, unless they are bytes of an encoding that has others: one
    that was declared, UTF-16, UTF-32 or ISO-2022-KR. Then the characters are asked.
    """
    if head.startswith(_BYTE_ORDER_MARKS) or not _has_controls(head):
        return False
    return not _is_text(_decoded(head, encoding_of(head, charset, is_cut=True)))


def _has_controls(head: bytes) -> bool:
    return len(head.translate(None, _CONTROLS)) != len(head)


def _is_text(text: str) -> bool:
    """Return True if characters can be somebody's text; the last may have been cut."""
    whole = text.removeprefix("\ufeff")[:-1]
    odd = sum(1 for character in whole if character in _NO_TEXT)
    return bool(whole) and odd * _ODD_SHARE <= len(whole) and "\x00" not in whole


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
_NUL_BYTES = 64
_LAST_PLANE = 0x10
_HEAD_UNITS, _LEAST_UNITS = 256, 8
_LETTERS, _MOSTLY, _CLEARLY = 0.97, 0.9, 0.1
_ROWS = (*range(0x19), *range(0x1E, 0x28), *range(0x30, 0x33), *range(0x4E, 0xA0))
_SCRIPTS = bytes(row in {*_ROWS, *range(0xAC, 0xD8), 0xFB, 0xFE, 0xFF} for row in range(256))
"""Rows of 256 characters that living scripts are written in."""
_STATEFUL = (
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
    (re.compile(rb"\x1b\$[@B]|\x1b\([IJ]"), "iso-2022-jp"),
    (re.compile(rb"~\{(?:[!-w][!-~]){2,999}+~\}"), "hz"),
)
"""Encodings that look like ASCII but for their shifts."""
_REFUSED = {
    "csiso2022kr": "iso2022_kr",
    "iso-2022-kr": "iso2022_kr",
    "hz-gb-2312": "hz",
    **dict.fromkeys(("iso-2022-cn", "iso-2022-cn-ext", "replacement", "utf-32le", "utf-32be"), ""),
}
"""Labels for which browsers show one replacement character, and what Python calls them."""
_EBCDIC_SPACE = b"\x40"
_EBCDIC = frozenset(["cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140"])
_BEYOND_WEB = frozenset(
    {
        *_EBCDIC,
        *("cp437", "cp720", "cp737", "cp775", "cp850", "cp852", "cp855", "cp856", "cp857"),
        *("cp858", "cp860", "cp861", "cp862", "cp863", "cp864", "cp865", "cp869", "cp932"),
        *("cp949", "cp950", "cp1006", "cp1125"),
        *("mac-arabic", "mac-croatian", "mac-cyrillic", "mac-farsi", "mac-greek", "mac-iceland"),
        *("mac-latin2", "mac-roman", "mac-romanian", "mac-turkish"),
        *("euc_jis_2004", "euc_jisx0213", "iso8859-16", "iso2022_jp_1", "iso2022_jp_2"),
        *("iso2022_jp_2004", "iso2022_jp_3", "iso2022_jp_ext", "iso2022_kr", "shift_jis_2004"),
        *("shift_jisx0213", "utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be"),
        *("utf-32-le", "utf-8-sig"),
        *("big5hkscs", "hp-roman8", "hz", "johab", "koi8-t", "kz1048", "palmos", "ptcp154"),
        "tis-620",
    }
)
"""Codecs of Python's that a label may name besides the web's: no code for programs, no UTF-7."""
_SHIFTS = b"\x1b~"


@lru_cache(maxsize=1024)
def known(label: str) -> str:
    """Return a label of the web's that the decoders understand, or "" for one that they do not."""
    label = label.strip().lower()
    if label in {UTF_8, ""}:
        return label
    if label in _REFUSED:
        return ""
    try:
        codecs.lookup(f"whatwg-{label[:_LABEL_CHARS]}")
    except (LookupError, ValueError):
        return ""
    return label


@lru_cache(maxsize=1024)
def _python_codec(label: str) -> str:
    """Return the codec that a label names and the web does not know, or ""."""
    label = label.strip().lower()[:_LABEL_CHARS]
    if not label or known(label):
        return ""
    try:
        name = codecs.lookup(_REFUSED.get(label) or label).name
    except (LookupError, ValueError):
        return ""
    return name if name in _BEYOND_WEB else ""


def beyond_web(declared: str, body: bytes) -> str:
    """Return the codec of an encoding that was declared and that browsers do not know, or "".

    Not if the bytes speak against it: UTF-8 is seldom an accident, and what is ASCII throughout
    is EBCDIC only if its spaces are, and means the same in all others but those with shifts.
    """
    codec = _python_codec(declared) if declared else ""
    if not codec:
        return ""
    head = body[:_GUESSED_BYTES]
    if codec.startswith(("utf-16", "utf-32")):
        return codec if 0 in head or _has_controls(head) else ""
    if codec in _EBCDIC:
        return codec if head.count(_EBCDIC_SPACE) > head.count(b" ") else ""
    if head.isascii():
        return codec if any(shift in head for shift in _SHIFTS) else ""
    return "" if _is_utf_8(head, is_cut=True) else codec


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
    if len(head) % 2:
        return ""
    a, b, c, d = (head[lane::4].count(0) for lane in range(4))
    few, lane = max(1, len(head) // _ZEROES_WIDE), len(head) // 4
    if a + b + c + d < few or lane == 0:
        return _wide_letters(body)
    if c >= lane and d >= lane and a < lane:
        return "utf-32-le"
    if a >= lane and b >= lane and d < lane:
        return "utf-32-be"
    label = ""
    if (a + c) * 8 < b + d:
        label = "utf-16-le"
    elif (b + d) * 8 < a + c:
        label = "utf-16-be"
    return label if label and _share_of_letters(head, label) >= _MOSTLY else ""


def _wide_letters(body: bytes) -> str:
    """Return the byte order of unmarked UTF-16 that has hardly any NUL (Chinese, Thai), or "".

    Its letters are of few scripts; read in the other order they are from everywhere. Encodings of
    single bytes, or of two, have no control characters.
    """
    head = body[: _HEAD_UNITS * 2]
    if len(head) < _LEAST_UNITS * 2 or not _has_controls(head):
        return ""
    shares = {label: _share_of_letters(head, label) for label in ("utf-16-le", "utf-16-be")}
    best, other = sorted(shares, key=shares.__getitem__, reverse=True)
    is_clear = shares[best] >= _LETTERS and shares[other] < shares[best] - _CLEARLY
    return best if is_clear else ""


def _share_of_letters(head: bytes, label: str) -> float:
    text = head.decode(label, "replace")
    units = sum(_SCRIPTS[min(ord(character) >> 8, 0xFF)] for character in text)
    return units / len(text)


def guess(body: bytes) -> str:
    """Return the likeliest encoding of bytes that say nothing and are not UTF-8."""
    return (detect_encoding(body[:_GUESSED_BYTES]).encoding or "windows-1252").lower()


def _stateful(body: bytes) -> str:
    head = body[:_GUESSED_BYTES]
    if (b"\x1b" in head or b"~{" in head) and head.isascii():
        for shift, label in _STATEFUL:
            if shift.search(head):
                return label
    return ""


def declared_in(body: bytes) -> str:
    """Return the label that a page gives itself, as it stands there; "" if it gives none."""
    found = _DECLARED.search(body, 0, _PRESCAN_BYTES)
    return (found[1] or found[2]).decode("ascii") if found is not None else ""


def _declared(body: bytes) -> str:
    label = declared_in(body)
    if codec := beyond_web(label, body):
        return codec
    label = known(label)
    return UTF_8 if label.startswith("utf-16") else label


def _is_utf_8(body: bytes, *, is_cut: bool) -> bool:
    try:
        codecs.utf_8_decode(body, "strict", not is_cut)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(body: bytes, label: str) -> str:
    for codec in (label, f"whatwg-{label}"):
        if codec.startswith("whatwg-") or codec in _BEYOND_WEB:
            try:
                return body.decode(codec, "replace")
            except (LookupError, ValueError):
                continue
    return body.decode(UTF_8, "replace")


def encoding_of(body: bytes, declared: str, *, is_cut: bool = False) -> str:
    """Return the encoding of a text: its mark, its declaration, UTF-8, or a guess.

    NULs where only UTF-16 and UTF-32 have them beat a declaration.
    """
    if label := marked(body) or (wide(body) if 0 in body[:_NUL_BYTES] else "") or known(declared):
        return label
    if label := beyond_web(declared, body) or wide(body) or _declared(body):
        return label
    if _is_utf_8(body, is_cut=is_cut):
        return _stateful(body) or UTF_8
    return guess(body)


def decode(body: bytes, declared: str = "", *, is_cut: bool = False) -> tuple[str, str]:
    """Return the text of some bytes and the name of the encoding that was used."""
    label = encoding_of(body, declared, is_cut=is_cut)
    text = body.decode(UTF_8, "replace") if label == UTF_8 else _decoded(body, label)
    return text.removeprefix("\ufeff"), label


_keep_utf_8 = ctypes.pythonapi.PyUnicode_AsUTF8
"""Python keeps the UTF-8 that this makes with the text: `encode` only copies it from then on."""
_keep_utf_8.argtypes = (ctypes.py_object,)
_keep_utf_8.restype = ctypes.c_void_p


def clean(text: str) -> str:
    """Return text that UTF-8 can hold: lone surrogates become replacement characters."""
    if text.isascii():
        return text
    try:
        _keep_utf_8(text)
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
