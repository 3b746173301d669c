"""Faults: every way in which a server may misbehave, one path each: `/fault/NAME[/N]`.

A fault is either a well-framed response that is unkind (a redirect to `file:`, a bomb) or a
generator of steps. N, where it means something, is a count or a number of seconds.
"""

import functools
import gzip
import struct
import zlib
from collections.abc import Callable, Iterator

import brotli
import zstandard

from gossamer.testing.responses import (
    CannedResponse,
    ConnectionEnd,
    Fault,
    FaultLocation,
    FaultStep,
    Headers,
    Pause,
    html_response,
    not_found,
    redirect,
)

PREFIX = "/fault/"
SCHEMES = (
    *("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1:70/x", "data:text/html,hi"),
    *("javascript:alert(1)", "mailto:a@b.test", "tel:+123", "ws://127.0.0.1/", "about:blank"),
    *("blob:http://x/1", "ldap://127.0.0.1/", "jar:http://x!/y", "view-source:http://x/"),
)
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_MIB = 1 << 20
_BOMB_MIB = 128
_CHAIN = 30
_DRIP_S = 0.5
_PAGE = b"<!doctype html><title>Fault</title><p>An ordinary paragraph.</p>\n" * 20
_BIG_PAGE_BYTES = 10 * _MIB
_NESTED = 100_000


def fault_response(location: FaultLocation) -> CannedResponse:
    """Return the response to a path under /fault/."""
    name, _, argument = location.path.removeprefix(PREFIX).partition("/")
    make = RESPONSES.get(name)
    if make is not None:
        return make(location, int(argument) if argument.isdigit() else 0)
    run = MISBEHAVIOURS.get(name)
    return CannedResponse(fault=Fault(name, location, run)) if run else not_found()


def fault_paths() -> list[str]:
    """Return the path of every fault."""
    return [PREFIX + name for name in (*RESPONSES, *MISBEHAVIOURS)]


# Steps: what the framing of a well-behaved server cannot express.


def _drop(_: FaultLocation) -> Iterator[FaultStep]:
    yield ConnectionEnd.CLOSE


def _reset(_: FaultLocation) -> Iterator[FaultStep]:
    yield ConnectionEnd.RESET


def _reset_mid_body(_: FaultLocation) -> Iterator[FaultStep]:
    yield _OK + b"Content-Length: 100000\r\n\r\n" + _PAGE
    yield Pause(0.05)
    yield ConnectionEnd.RESET


def _silent(_: FaultLocation) -> Iterator[FaultStep]:
    yield ConnectionEnd.HANG


def _drip(_: FaultLocation) -> Iterator[FaultStep]:
    yield _OK + b"Content-Length: %d\r\n\r\n" % len(_PAGE)
    for byte in _PAGE:
        yield bytes((byte,))
        yield Pause(_DRIP_S)


def _drip_header(_: FaultLocation) -> Iterator[FaultStep]:
    for byte in _OK + b"Content-Length: 2\r\n\r\nok":
        yield bytes((byte,))
        yield Pause(_DRIP_S)


def _endless_body(_: FaultLocation) -> Iterator[FaultStep]:
    yield _OK + b"\r\n<!doctype html>"
    while True:
        yield _PAGE * 50


def _endless_chunks(_: FaultLocation) -> Iterator[FaultStep]:
    yield _CHUNKED
    while True:
        yield _chunk(_PAGE)


def _endless_header(_: FaultLocation) -> Iterator[FaultStep]:
    yield _OK
    while True:
        yield b"X-More: and more and more and more and more and more\r\n" * 1000


def _endless_103(_: FaultLocation) -> Iterator[FaultStep]:
    while True:
        yield b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n" * 100


def _many_headers(_: FaultLocation) -> Iterator[FaultStep]:
    lines = b"".join(b"X-H%d: v\r\n" % number for number in range(100_000))
    yield _OK + lines + b"Content-Length: 2\r\n\r\nok"


def _huge_header(_: FaultLocation) -> Iterator[FaultStep]:
    yield _OK + b"X-Huge: " + b"v" * _MIB + b"\r\nContent-Length: 2\r\n\r\nok"


def _length_too_long(_: FaultLocation) -> Iterator[FaultStep]:
    yield _OK + b"Content-Length: %d\r\n\r\n" % (len(_PAGE) + 1000) + _PAGE
    yield ConnectionEnd.CLOSE


def _length_too_short(_: FaultLocation) -> Iterator[FaultStep]:
    yield _OK + b"Content-Length: 100\r\n\r\n" + _PAGE


def _two_lengths(_: FaultLocation) -> Iterator[FaultStep]:
    yield _OK + b"Content-Length: 10\r\nContent-Length: %d\r\n\r\n" % len(_PAGE) + _PAGE
    yield ConnectionEnd.CLOSE


def _bad_chunk(_: FaultLocation) -> Iterator[FaultStep]:
    yield _CHUNKED + _chunk(_PAGE) + b"zz\r\nnot a size\r\n0\r\n\r\n"
    yield ConnectionEnd.CLOSE


def _truncated_chunk(_: FaultLocation) -> Iterator[FaultStep]:
    yield _CHUNKED + _chunk(_PAGE) + b"ffff\r\nhalf"
    yield ConnectionEnd.CLOSE


def _missing_last_chunk(_: FaultLocation) -> Iterator[FaultStep]:
    yield _CHUNKED + _chunk(_PAGE)
    yield ConnectionEnd.CLOSE


def _two_responses(_: FaultLocation) -> Iterator[FaultStep]:
    second = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON"
    yield _OK + b"Content-Length: %d\r\n\r\n" % len(_PAGE) + _PAGE + second


def _location_crlf(_: FaultLocation) -> Iterator[FaultStep]:
    yield (
        b"HTTP/1.1 302 Found\r\nLocation: /x\tWARC/1.1\x0b\rX-Injected: 1\r\n"
        b"Content-Length: 0\r\n\r\n"
    )
    yield ConnectionEnd.CLOSE


def _type_crlf(_: FaultLocation) -> Iterator[FaultStep]:
    yield (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\rWARC-Type: response\r\n"
        b"Content-Length: %d\r\n\r\n" % len(_PAGE)
    )
    yield _PAGE


def _not_http(_: FaultLocation) -> Iterator[FaultStep]:
    yield b"220 mail.fake.test ESMTP\r\n"
    yield ConnectionEnd.CLOSE


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


# Responses: well framed, ill meant.


def _loop(_location: FaultLocation, step: int) -> CannedResponse:
    return redirect(f"/fault/redirect-loop/{1 - step % 2}")


def _self_loop(location: FaultLocation, _: int) -> CannedResponse:
    return redirect(location.path)


def _chain(_location: FaultLocation, step: int) -> CannedResponse:
    if step >= _CHAIN:
        return html_response("<title>The end of the chain</title>")
    return redirect(f"/fault/redirect-chain/{step + 1}", 301)


def _to_loopback(location: FaultLocation, _: int) -> CannedResponse:
    return redirect(f"http://127.0.0.1:{location.port}/secret")


def _to_file(_location: FaultLocation, _: int) -> CannedResponse:
    return redirect("file:///etc/passwd")


def _to_scheme(_location: FaultLocation, number: int) -> CannedResponse:
    return redirect(SCHEMES[number % len(SCHEMES)])


def _busy(status: int) -> Callable[[FaultLocation, int], CannedResponse]:
    def response(_location: FaultLocation, times: int) -> CannedResponse:
        busy = html_response("<h1>Later</h1>", status=status, headers=(("Retry-After", "1"),))
        if times == 0:
            return busy
        return CannedResponse(headers=_html(), body=_PAGE, before=(busy,) * times)

    return response


def _busy_until(_location: FaultLocation, _: int) -> CannedResponse:
    date = (("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"),)
    return html_response("<h1>Later</h1>", status=503, headers=date)


def _html(*more: tuple[str, str]) -> Headers:
    return (("Content-Type", "text/html; charset=utf-8"), *more)


def _bomb(coding: str, status: int = 200) -> Callable[[FaultLocation, int], CannedResponse]:
    def response(_location: FaultLocation, _: int) -> CannedResponse:
        headers = _html(("Content-Encoding", coding))
        if status != 200:  # noqa: PLR2004 - a status code says what it is
            headers += (("Location", "/"),)
        return CannedResponse(status=status, headers=headers, body=bomb(coding))

    return response


@functools.cache
def bomb(coding: str) -> bytes:
    """Return 128 MiB of spaces in a few kilobytes, in a content coding; valid to the last byte."""
    if coding == "gzip, gzip":
        return gzip.compress(bomb("gzip"), 9, mtime=0)
    if coding == "br":
        squeeze = brotli.Compressor(quality=1, lgwin=24)
        parts = [squeeze.process(b" " * _MIB) for _ in range(_BOMB_MIB)]
        return b"".join([*parts, squeeze.finish()])
    if coding == "zstd":
        stream = zstandard.ZstdCompressor().compressobj()
        return b"".join(stream.compress(b" " * _MIB) for _ in range(_BOMB_MIB)) + stream.flush()
    return _deflate_bomb(is_gzip=coding == "gzip")


def _deflate_bomb(*, is_gzip: bool) -> bytes:
    # A block that ends with a full flush stands alone, so one compressed MiB serves 128 times.
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = squeeze.compress(b" " * _MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
    blocks = block * _BOMB_MIB + squeeze.flush()
    check = functools.partial(zlib.crc32) if is_gzip else functools.partial(zlib.adler32)
    value = 0 if is_gzip else 1
    for _ in range(_BOMB_MIB):
        value = check(b" " * _MIB, value)
    if is_gzip:
        head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03"
        return head + blocks + struct.pack("<II", value, _BOMB_MIB * _MIB)
    return b"\x78\xda" + blocks + struct.pack(">I", value)


def _cookie_bomb(_location: FaultLocation, _: int) -> CannedResponse:
    cookies = tuple(("Set-Cookie", f"c{n}={'x' * 60}; Path=/") for n in range(1000))
    return CannedResponse(headers=_html() + cookies, body=_PAGE)


def _cannot_decode(_location: FaultLocation, _: int) -> CannedResponse:
    return CannedResponse(headers=_html(("Content-Encoding", "gzip")), body=b"this was never gzip")


def _wrong_charset(_location: FaultLocation, _: int) -> CannedResponse:
    body = "<title>Café</title><p>Déjà vu à la crème brûlée.</p>".encode("latin-1")
    return CannedResponse(headers=_html(), body=body)


def _body(
    body: Callable[[], bytes], kind: str = "text/html"
) -> Callable[[FaultLocation, int], CannedResponse]:
    return lambda _location, _: CannedResponse(headers=(("Content-Type", kind),), body=body())


def _broken_html() -> bytes:
    return (
        b"<title>Broken</i><table><a href=/one><b>one<p></a><tr><td><a href='two'>two</table>"
        b"<a href=three\x00>three</a><!-- <a href=hidden> --!><a href=\"four>four</a><p class=''"
        b"<<a href=five>five</div></div></body></html><a href=six>six</a>"
    )


def _huge_attribute() -> bytes:
    return b"<title>Huge</title><a href='/" + b"a" * _MIB + b"'>x</a><p " + b"b=1 " * 50_000 + b">"


def _nested() -> bytes:
    return b"<title>Deep</title>" + b"<div>" * _NESTED + b"<a href=/deep>deep</a>"


def _big_page() -> bytes:
    return b"<title>Big</title>" + _PAGE * (_BIG_PAGE_BYTES // len(_PAGE))


def _png_bytes() -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8


def _warc_in_body() -> bytes:
    record = b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"
    return b"<title>Confusing</title>" + record * 3


MISBEHAVIOURS: dict[str, Callable[[FaultLocation], Iterator[FaultStep]]] = {
    "drop": _drop,
    "reset": _reset,
    "reset-mid-body": _reset_mid_body,
    "silent": _silent,
    "drip": _drip,
    "drip-header": _drip_header,
    "endless-body": _endless_body,
    "endless-chunks": _endless_chunks,
    "endless-header": _endless_header,
    "endless-103": _endless_103,
    "many-headers": _many_headers,
    "huge-header": _huge_header,
    "length-too-long": _length_too_long,
    "length-too-short": _length_too_short,
    "two-lengths": _two_lengths,
    "bad-chunk": _bad_chunk,
    "truncated-chunk": _truncated_chunk,
    "missing-last-chunk": _missing_last_chunk,
    "two-answers": _two_responses,
    "location-crlf": _location_crlf,
    "type-crlf": _type_crlf,
    "not-http": _not_http,
}

RESPONSES: dict[str, Callable[[FaultLocation, int], CannedResponse]] = {
    "redirect-loop": _loop,
    "redirect-self": _self_loop,
    "redirect-chain": _chain,
    "to-loopback": _to_loopback,
    "to-file": _to_file,
    "to-scheme": _to_scheme,
    "429": _busy(429),
    "503": _busy(503),
    "503-date": _busy_until,
    "500": lambda _location, _: html_response("<h1>Broken</h1>", status=500),
    "bomb-gzip": _bomb("gzip"),
    "bomb-deflate": _bomb("deflate"),
    "bomb-br": _bomb("br"),
    "bomb-zstd": _bomb("zstd"),
    "bomb-gzip-gzip": _bomb("gzip, gzip"),
    "bomb-redirect": _bomb("gzip", 302),
    "not-gzip": _cannot_decode,
    "cookie-bomb": _cookie_bomb,
    "wrong-charset": _wrong_charset,
    "broken-html": _body(_broken_html),
    "huge-attribute": _body(_huge_attribute),
    "nested": _body(_nested),
    "big-page": _body(_big_page),
    "png-as-html": _body(_png_bytes),
    "html-as-png": _body(lambda: _PAGE, "image/png"),
    "warc-in-body": _body(_warc_in_body),
}
