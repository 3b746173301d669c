"""Http: one request, one answer, over HTTP/1.1 with or without TLS. Never raises for a server.

libcurl does the talking; what comes back is kept as it was sent (header lines, chunk framing and
content coding included) and interpreted here. Redirects are reported, not followed.
"""

import asyncio
import errno
import os
import ssl
from collections.abc import Callable
from typing import Any

import pycurl
from msgspec import Struct

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.errors import CannotGoOn
from gossamer.fetch.body import PLAIN, BodyMemory, SpooledBody
from gossamer.fetch.curl import CurlHandle, CurlLoop, TlsSessions, TransferEnd, TransferWatch
from gossamer.fetch.decoding import (
    COMPILED_FROM_BYTES,
    Caps,
    has_many_chunks,
    is_chunk_code_loaded,
    load_chunk_code,
)
from gossamer.fetch.grants import HostRules
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.headers import (
    BadResponseHead,
    CookieJar,
    RequestHeaders,
    ResponseHead,
    Validators,
    media_type_of,
    read_head,
    retry_after_s,
    split_answer,
    wire_text,
)
from gossamer.model import (
    CERTIFICATES,
    CONNECTION_REFUSED,
    CertificateProblem,
    Document,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
    Url,
)

_BUFFER_BYTES = 128 * 1024
_MAX_IDLE = 512
_CURVES = "X25519:P-256:P-384:P-521"
"""Classic key shares only: hybrid ones cost a tenth of a handshake and protect nothing public."""

_ANSWER_LINES = 2
_ELSEWHERE, _OUR_FAULT, _THEIR_FAULT = 300, 400, 500
_NOT_MODIFIED, _UNAVAILABLE = 304, 503
_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
_STATUS: dict[int, FailureKind] = {
    401: FailureKind.UNAUTHORIZED,
    404: FailureKind.NOT_FOUND,
    410: FailureKind.GONE,
    429: FailureKind.THROTTLED,
    503: FailureKind.THROTTLED,
}
_CURL: dict[int, FailureKind] = {
    1: FailureKind.BAD_HTTP,
    3: FailureKind.BAD_HTTP,
    5: FailureKind.PROXY_FAILED,
    6: FailureKind.DNS_UNREACHABLE,
    7: FailureKind.CONNECT_FAILED,
    8: FailureKind.BAD_HTTP,
    35: FailureKind.TLS_FAILED,
    51: FailureKind.TLS_CERTIFICATE,
    53: FailureKind.TLS_FAILED,
    54: FailureKind.TLS_FAILED,
    58: FailureKind.TLS_FAILED,
    59: FailureKind.TLS_FAILED,
    60: FailureKind.TLS_CERTIFICATE,
    61: FailureKind.BAD_HTTP,
    77: FailureKind.TLS_FAILED,
    80: FailureKind.TLS_FAILED,
    83: FailureKind.TLS_CERTIFICATE,
    91: FailureKind.TLS_CERTIFICATE,
    97: FailureKind.PROXY_FAILED,
    100: FailureKind.HEADER_TOO_LARGE,
}
"""libcurl's errors; those that are not here mean that the connection broke."""

_MESSAGES = (("header", FailureKind.HEADER_TOO_LARGE), ("chunk", FailureKind.BAD_HTTP))
"""What libcurl's general error for a broken connection hides stands in its message only.
`tests/integration/test_libcurl_messages.py` fails if a release words them otherwise."""

_WEIRD_REPLY = 8
_CERTIFICATES: dict[int, CertificateProblem] = {
    9: CertificateProblem.NOT_YET_VALID,
    10: CertificateProblem.EXPIRED,
    18: CertificateProblem.SELF_SIGNED,
    19: CertificateProblem.SELF_SIGNED,
    20: CertificateProblem.UNTRUSTED,
    21: CertificateProblem.UNTRUSTED,
    62: CertificateProblem.OTHER_NAME,
    64: CertificateProblem.OTHER_NAME,
}
"""OpenSSL's results of verification: X509_V_ERR_... 19 is of a chain that ends in such a one."""
_OTHER_NAME = "certificate subject name"
"""In libcurl's message if its own check of the name fails; the chain was verified then."""

_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")
"""How an alert and a handshake of TLS begin."""
_TIMED_OUT = 28
_TRUNCATED: dict[FailureKind, str] = {
    FailureKind.TOTAL_TIMEOUT: "time",
    FailureKind.STALLED: "time",
    FailureKind.DISCONNECTED: "disconnect",
}
"""What a body is marked with when its transfer failed so."""


class FetchRequest(Struct, frozen=True):
    """What is asked of a protocol module."""

    url: Url
    address: str
    """The address to connect to; "" lets a proxy find it."""
    validators: Validators | None
    max_body_bytes: int
    watch: TransferWatch | None = None
    """Of whoever wants to look at the transfer, or to cut it."""
    is_head: bool = False
    """The header is all that is wanted, if the protocol has one."""
    on_sending: Callable[[], bool] | None = None
    """Called when there is a connection; the request goes out if it returns True. By http and https
    only."""


class _Asked(Struct, frozen=True):
    """A request that was made: its URL as sent, when, and how long it took."""

    request: FetchRequest
    text: str
    at: float
    took_s: float
    has_cookie: bool
    """What the server had set was sent."""


class Http:
    """Asks http and https servers. Connections and handles are kept and used again."""

    def __init__(
        self,
        config: FetchConfig,
        clock: Clock,
        guard: AddressGuard,
        curl: CurlLoop,
        rules: HostRules,
    ) -> None:
        self._config = config
        self._clock = clock
        self._guard = guard
        self._curl = curl
        self._headers = RequestHeaders(config, rules)
        self._insecure = rules.insecure
        self._cookies = CookieJar() if config.cookies else None
        self._caps = Caps(config.max_decoded_bytes, config.max_ratio)
        self._options = http_options(config, self._headers.usual)
        self._sessions = TlsSessions()
        self._memory = BodyMemory(config.body_memory_bytes)
        self._idle: list[CurlHandle] = []
        self._loading = asyncio.Lock()

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        """Ask once; every way in which it can end is an outcome."""
        handle = self._idle.pop() if self._idle else self._new_handle()
        is_reusable = False
        asked_at = self._clock.wall()
        text = wire_text(request.url)
        cookie = self._cookies.header(request.url) if self._cookies is not None else ""
        try:
            self._prepare(handle, request, text, cookie)
            if request.watch is not None:
                request.watch.follow(self._curl, handle, request.url.host)
            ended = await self._curl.start(handle)
            took_s = self._clock.steady() - handle.began_at
            if handle.spool.size >= COMPILED_FROM_BYTES and not is_chunk_code_loaded():
                await self._load_chunk_code(handle)
            asked = _Asked(request, text, asked_at, took_s, bool(cookie))
            outcome = self._outcome(asked, handle, ended)
            is_reusable = len(self._idle) < _MAX_IDLE
        finally:
            self._curl.leave(handle)
            if request.watch is not None:
                request.watch.leave()
            if is_reusable:
                self._idle.append(handle)
            else:
                handle.close()
        return outcome

    async def _load_chunk_code(self, handle: CurlHandle) -> None:
        """Load what reads many small chunks, if an answer has them; it would stop the loop."""
        is_chunked = any(b"chunked" in line.lower() for line in handle.lines)
        if not is_chunked or not (
            handle.spool.is_file or has_many_chunks(handle.spool.in_memory())
        ):
            return
        async with self._loading:
            if not is_chunk_code_loaded():
                await asyncio.to_thread(load_chunk_code)

    def close(self) -> None:
        """Free the handles."""
        for handle in self._idle:
            handle.close()
        self._idle.clear()

    def _new_handle(self) -> CurlHandle:
        return CurlHandle(self._config, self._guard, self._options, self._memory, self._curl.ended)

    def _prepare(self, handle: CurlHandle, request: FetchRequest, text: str, cookie: str) -> None:
        handle.begin(request.max_body_bytes, self._clock.steady())
        handle.on_sending = request.on_sending
        curl = handle.curl
        curl.setopt(pycurl.URL, text)
        address = request.address
        if address != handle.connect_to:
            handle.connect_to = address
            host = f"[{address}]" if ":" in address else address
            curl.setopt(pycurl.CONNECT_TO, [f"::{host}:"] if address else [])
        if request.is_head != handle.is_head:
            handle.is_head = request.is_head
            curl.setopt(pycurl.NOBODY if request.is_head else pycurl.HTTPGET, 1)
        if text.startswith("https"):
            self._prepare_tls(handle, request.url.host)
        own = self._headers.special(request.url, request.validators, cookie)
        if own is not None or handle.has_own_headers:
            curl.setopt(pycurl.HTTPHEADER, own if own is not None else self._headers.usual)
            handle.has_own_headers = own is not None

    def _prepare_tls(self, handle: CurlHandle, host: str) -> None:
        curl, is_insecure = handle.curl, self._is_insecure(host)
        if is_insecure != handle.is_insecure:
            handle.is_insecure = is_insecure
            for option, value in verification(is_insecure=is_insecure).items():
                curl.setopt(option, value)
        # What was agreed on with a server that nobody vouched for is not worth remembering.
        share = None if is_insecure else self._sessions.share_of(host)
        if share is not handle.share:
            handle.share = share
            curl.unsetopt(pycurl.SHARE)
            if share is not None:
                curl.setopt(pycurl.SHARE, share)

    def _is_insecure(self, host: str) -> bool:
        """Return True if the certificate of a host need not be valid."""
        usual = self._config.insecure
        return self._insecure.get(host, usual) if self._insecure else usual

    def _outcome(self, asked: _Asked, handle: CurlHandle, ended: TransferEnd) -> FetchOutcome:
        """Return what an ended transfer amounts to: by its head, then its body, then its status."""
        if handle.refusal:
            return Refused(kind=RefusalKind.PRIVATE_ADDRESS, detail=handle.refusal)
        is_ended_by_us = handle.is_full or handle.is_whole
        failed = None if not ended.code or is_ended_by_us else _failure(handle, ended)
        spool = handle.spool
        if len(handle.lines) < _ANSWER_LINES and spool.size:
            return self._headless_outcome(asked, spool.in_memory())
        head = self._read_head(handle.lines, failed)
        if isinstance(head, Failed):
            return head
        if self._cookies is not None:
            self._cookies.take(asked.request.url, head.headers)
        framing = PLAIN if asked.request.is_head else head.framing
        body = SpooledBody(spool.contents(), spool.size, framing, self._caps, spool.claim())
        document = self._document(asked, head, body)
        document.truncated = "length" if handle.is_full else ""
        if handle.is_insecure and (error := handle.curl.getinfo(pycurl.SSL_VERIFYRESULT)):
            document.oddities += (f"the certificate is not valid (error {error})",)
        if framing.is_chunked:
            failed = _check_chunks(document, body, failed)
        elif failed is None and _has_excess(handle, head, asked.request):
            document.oddities += ("bytes after the answer",)
        return _outcome_of(asked, document, failed)

    def _read_head(self, lines: list[bytes], failed: Failed | None) -> ResponseHead | Failed:
        """Return the head of an answer, or why there is none to be trusted."""
        if len(lines) < _ANSWER_LINES:
            return failed or Failed(kind=FailureKind.DISCONNECTED, detail="no answer")
        if self._is_too_large(lines):
            return Failed(kind=FailureKind.HEADER_TOO_LARGE, detail=f"{len(lines)} lines")
        if lines[-1].strip():
            return failed or Failed(kind=FailureKind.DISCONNECTED, detail="the header broke off")
        head = read_head(lines)
        if isinstance(head, BadResponseHead):
            return Failed(kind=FailureKind.BAD_HTTP, detail=head.detail)
        return head

    def _headless_outcome(self, asked: _Asked, data: bytes) -> FetchOutcome:
        """Return what a body without a head is: an answer behind a blank line, or not HTTP/1."""
        answer = split_answer(data)
        head = read_head(answer.lines) if answer is not None else None
        if answer is None or not isinstance(head, ResponseHead):
            is_tls = data.startswith(_TLS_RECORDS)
            detail = "this is TLS, not HTTP/1" if is_tls else "this is not HTTP/1"
            return Failed(kind=FailureKind.BAD_HTTP, detail=detail)
        body = SpooledBody(answer.body, len(answer.body), head.framing, self._caps)
        document = self._document(asked, head, body)
        document.oddities += ("blank line before the answer",)
        failed = _check_chunks(document, body, None) if head.framing.is_chunked else None
        if failed is None and head.content_length is not None and not answer.is_whole:
            failed = Failed(kind=FailureKind.DISCONNECTED, detail="the body broke off")
        return _outcome_of(asked, document, failed)

    def _is_too_large(self, lines: list[bytes]) -> bool:
        config = self._config
        return len(lines) > config.max_header_lines or (
            len(b"".join(lines)) > config.max_header_bytes
        )

    def _document(self, asked: _Asked, head: ResponseHead, body: SpooledBody) -> Document:
        url = asked.request.url
        media_type, charset = media_type_of(head.get("content-type"))
        target = asked.text[len(url.origin) :] or "/"
        validators, has_cookie = asked.request.validators, asked.has_cookie
        method = "HEAD" if asked.request.is_head else "GET"
        request, redacted = self._headers.archived(
            url, target, validators, has_cookie=has_cookie, method=method
        )
        return Document(
            url=url,
            status=head.status,
            head=head.raw,
            headers=head.headers,
            body=body,
            request=request,
            redacted=redacted,
            address=asked.request.address,
            fetched_at=asked.at,
            latency_s=asked.took_s,
            media_type=media_type,
            charset=charset,
            oddities=head.oddities,
        )


def _outcome_of(asked: _Asked, document: Document, failed: Failed | None) -> FetchOutcome:
    """Return what an answer means: that its transfer failed, or what its status says."""
    if failed is not None:
        document.truncated = _TRUNCATED.get(failed.kind, "unspecified")
        return Failed(kind=failed.kind, detail=failed.detail, document=document)
    status = document.status
    if status < _ELSEWHERE or (status == _NOT_MODIFIED and asked.request.validators is not None):
        return Fetched(document=document)
    if status < _OUR_FAULT:
        target = _location(document) if status in _REDIRECTS else ""
        if target:
            return Redirected(document=document, target=target)
        return Failed(
            kind=FailureKind.BAD_REDIRECT, detail=f"{status} leads nowhere", document=document
        )
    kind = FailureKind.HTTP_4XX if status < _THEIR_FAULT else FailureKind.HTTP_5XX
    wait_s = retry_after_s(document.header("retry-after"), asked.at + asked.took_s)
    if status != _UNAVAILABLE or wait_s is not None:  # without a moment it is one more 5xx
        kind = _STATUS.get(status, kind)
    return Failed(kind=kind, detail=str(status), retry_after_s=wait_s, document=document)


def _location(document: Document) -> str:
    """Return Location as a browser reads it: bytes beyond ASCII are UTF-8 if they can be."""
    value = document.header("location")
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return value


def _failure(handle: CurlHandle, ended: TransferEnd) -> Failed:
    """Return the failure that a broken transfer stands for."""
    if handle.is_repeat:
        detail = "the server closed a kept connection before it answered"
        return Failed(kind=FailureKind.STALE_CONNECTION, detail=detail)
    if ended.code == _WEIRD_REPLY and not handle.is_new and _is_blank(handle.lines):
        # Over a new connection we see the bytes, and the answer in them.
        detail = "a blank line came before the answer over a kept connection"
        return Failed(kind=FailureKind.STALE_CONNECTION, detail=detail)
    if handle.problem.startswith("no socket"):
        return Failed(kind=FailureKind.CONNECT_FAILED, detail=handle.problem)
    if handle.problem:
        raise CannotGoOn(f"cannot write a temporary file: {handle.problem}")
    if ended.code == _TIMED_OUT:
        return Failed(kind=_timeout_of(ended), detail=_silent_handshake(handle) or ended.message)
    kind = _CURL.get(ended.code, FailureKind.DISCONNECTED)
    if kind is FailureKind.DISCONNECTED:
        kind = next((meaning for word, meaning in _MESSAGES if word in ended.message), kind)
    detail = ended.message
    if kind is FailureKind.TLS_CERTIFICATE:
        detail = _certificate_detail(handle.curl.getinfo(pycurl.SSL_VERIFYRESULT), detail)
    if kind is FailureKind.CONNECT_FAILED and (number := handle.curl.getinfo(pycurl.OS_ERRNO)):
        # libcurl's own words do not say why.
        why = CONNECTION_REFUSED if number == errno.ECONNREFUSED else os.strerror(number)
        detail = f"{detail.rpartition(': ')[0] or detail}: {why}"
    return Failed(kind=kind, detail=detail)


def _is_blank(lines: list[bytes]) -> bool:
    """Return True if all that came of an answer are blank lines."""
    return bool(lines) and not b"".join(lines).strip()


def _certificate_detail(verify_result: int, message: str) -> str:
    """Return what is wrong with a certificate: in our words, then in those of the library."""
    problem = _CERTIFICATES.get(verify_result)
    if problem is None and _OTHER_NAME in message:
        problem = CertificateProblem.OTHER_NAME
    return message if problem is None else f"{CERTIFICATES[problem]} ({message})"


def _silent_handshake(handle: CurlHandle) -> str:
    """Return what a timeout means if a server accepts connections and ignores TLS; or ""."""
    curl = handle.curl
    is_https = curl.getinfo(pycurl.EFFECTIVE_URL).startswith("https:")
    was_silent = curl.getinfo(pycurl.CONNECT_TIME) > 0 and not curl.getinfo(pycurl.APPCONNECT_TIME)
    is_new = handle.is_new and not handle.lines
    return "the TLS handshake was not answered" if is_https and is_new and was_silent else ""


def _timeout_of(ended: TransferEnd) -> FailureKind:
    """Return which of the timeouts ended a transfer."""
    if ended.overdue:
        is_stalled = ended.overdue == "stalled"
        return FailureKind.STALLED if is_stalled else FailureKind.FIRST_BYTE_TIMEOUT
    is_total = ended.message.startswith("Operation")
    return FailureKind.TOTAL_TIMEOUT if is_total else FailureKind.CONNECT_TIMEOUT


def _check_chunks(document: Document, body: SpooledBody, failed: Failed | None) -> Failed | None:
    """Undo the chunk framing; return why it cannot be trusted, if it cannot."""
    chunks = body.dechunk()
    document.oddities += tuple(sorted(chunks.oddities))
    if chunks.error:
        return Failed(kind=FailureKind.BAD_HTTP, detail=chunks.error)
    if failed is None and chunks.end is None and not document.truncated:
        return Failed(kind=FailureKind.DISCONNECTED, detail="the last chunk is missing")
    return failed


def _has_excess(handle: CurlHandle, head: ResponseHead, request: FetchRequest) -> bool:
    """Return True if the server sent more than its answer, on a connection that is new and plain.

    libcurl drops such bytes, and the connection with them; only the kernel's count shows them.
    """
    if handle.is_full:
        return False
    is_delimited = head.content_length is not None or not head.has_body
    is_plain = request.url.scheme == "http" and bool(request.address)
    return is_delimited and is_plain and handle.excess_bytes > 0


def http_options(config: FetchConfig, headers: list[bytes]) -> dict[int, Any]:
    """Return the options that are equal for all requests."""
    options = base_options(config) | verification(is_insecure=config.insecure)
    options |= {
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.HTTP09_ALLOWED: 1,  # so that we see it; CurlHandle refuses it
        pycurl.HTTP_CONTENT_DECODING: 0,
        pycurl.HTTP_TRANSFER_DECODING: 0,
        pycurl.FOLLOWLOCATION: 0,
        pycurl.PATH_AS_IS: 1,
        pycurl.HTTPHEADER: headers,
        pycurl.SSL_EC_CURVES: _CURVES,
    }
    authorities = ssl.get_default_verify_paths()
    if authorities.cafile:
        options[pycurl.CAINFO] = authorities.cafile
    if authorities.capath:
        options[pycurl.CAPATH] = authorities.capath
    return options


def verification(*, is_insecure: bool) -> dict[int, int]:
    """Return the options that say whether a certificate must be valid."""
    verify = 0 if is_insecure else 1
    return {
        pycurl.SSL_VERIFYPEER: verify,
        pycurl.SSL_VERIFYHOST: 2 * verify,
        pycurl.SSL_SESSIONID_CACHE: verify,
    }


def base_options(config: FetchConfig) -> dict[int, Any]:
    """Return the options that every protocol of libcurl's shares."""
    return {
        pycurl.NOSIGNAL: 1,
        # Or libcurl walks, at the end of each transfer, over all addresses of the last minute.
        pycurl.DNS_CACHE_TIMEOUT: 0,
        pycurl.PROXY: _asking_by_name(config.proxy),
        pycurl.NOPROXY: "",
        pycurl.BUFFERSIZE: _BUFFER_BYTES,
        pycurl.CONNECTTIMEOUT_MS: _milliseconds(config.connect_s),
        pycurl.TIMEOUT_MS: _milliseconds(config.total_s),
    }


def _asking_by_name(proxy: str) -> str:
    """Return a proxy's URL such that it is told names: libcurl resolves them itself for socks5."""
    scheme, separator, rest = proxy.partition("://")
    return f"socks5h{separator}{rest}" if scheme.lower() == "socks5" else proxy


def _milliseconds(seconds: float) -> int:
    """Return a time for libcurl, to which 0 would mean for ever."""
    return max(1, int(seconds * 1000))
