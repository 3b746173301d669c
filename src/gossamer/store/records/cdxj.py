"""CDXJ: the index of a pages file, one sorted line per page, as pywb's cdx-indexer writes it."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import Struct

from gossamer.durable import replacing
from gossamer.model import Document, StoreRef
from gossamer.store.records.warc import plain, stamp_text

_WWW = re.compile(r"www\d*\.")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_SESSION_PATHS = (
    re.compile(r"(?i)(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)"),
    re.compile(r"(?i)(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)"),
)
_SESSION_QUERIES = (
    re.compile(r"(?i)(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?"),
    re.compile(r"(?i)(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?"),
    re.compile(r"(?i)(.*)sid=[0-9a-z]{32}(?:&(.*))?"),
    re.compile(r"(?i)(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?"),
    re.compile(r"(?i)(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?"),
)


_quoted = json.encoder.encode_basestring_ascii


class CdxRow(Struct, frozen=True, gc=False):
    """What the index says of a page, but for where it lies."""

    url: str
    timestamp: str
    mime: str
    status: int
    digest: str

    @classmethod
    def of(cls, document: Document, payload_digest: str, *, is_revisit: bool = False) -> "CdxRow":
        """Return the row of a document."""
        mime = "warc/revisit" if is_revisit else document.media_type or "unk"
        return cls(
            plain(document.url.text),
            stamp_text(document.fetched_at),
            mime,
            document.status,
            payload_digest,
        )

    def line(self, ref: StoreRef) -> bytes:
        """Return the index line of the page, now that its place is known."""
        key = f"{surt(self.url)} {self.timestamp} "
        facts = (
            f'{{"url": {_quoted(self.url)}, "mime": {_quoted(self.mime)}, '
            f'"status": "{self.status}", "digest": "{self.digest.removeprefix("sha1:")}", '
            f'"length": "{ref.length}", "offset": "{ref.offset}", "filename": "{ref.file}"}}'
        )
        return (key + facts).encode("utf-8", "replace")


def write_cdxj(path: Path, lines: Iterable[bytes], *, is_synced: bool) -> None:
    """Write an index under its final name, whole or not at all."""
    with replacing(path, is_synced=is_synced) as file:
        for line in sorted(lines):
            file.write(line + b"\n")


def surt(url: str) -> str:
    """Return the sort-friendly form of a URL: com,example)/path?query.

    The same normalising steps as the tools that will look a page up by it: no scheme, no www, no
    default port, lower case, no trailing slash, no session id, arguments sorted.
    """
    scheme, colon, rest = url.partition("://")
    if not colon:
        return plain(url.lower())
    rest = rest.partition("#")[0]
    before, question, query = rest.partition("?")
    authority, _, path = before.partition("/")
    host = authority.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
    tail = f"?{_query_key(query)}" if question and query else ""
    return f"{_host_key(host)}){_path_key('/' + path)}{tail if tail != '?' else ''}"


def _host_key(host: str) -> str:
    match = _WWW.match(host)
    if match is not None:
        host = host[match.end() :]
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name, colon, port = host, "", ""
    if name.startswith("["):
        return name.strip("[]") + colon + port
    return ",".join(reversed(name.strip(".").split("."))) + colon + port


def _path_key(path: str) -> str:
    if "%" in path or not path.isascii():
        path = _escaped_once(path)
    if "//" in path:
        path = re.sub("/{2,}", "/", path)
    path = path.lower()
    if "(" in path:
        for pattern in _SESSION_PATHS:
            if match := pattern.fullmatch(path):
                path = match[1] + match[2]
    return path[:-1] if len(path) > 1 and path[-1] == "/" else path


def _query_key(query: str) -> str:
    if "%" in query or not query.isascii():
        query = _escaped_once(query)
    lower = query.lower()
    if "id=" in lower or "sessionid" in lower or "cftoken" in lower:
        for pattern in _SESSION_QUERIES:
            if match := pattern.fullmatch(lower):
                lower = match[1] + (match[2] or "")
    if "&" not in lower:
        return lower
    pairs = sorted(tuple(pair.split("=", 1)) for pair in lower.split("&"))
    return "&".join("=".join(pair) for pair in pairs)


def _escaped_once(text: str) -> str:
    """Undo all %-escapes, however deep, and escape once what is not plain ASCII."""
    raw = text.encode("utf-8", "replace")
    while (shorter := unquote_to_bytes(raw)) != raw:
        raw = shorter
    return quote_from_bytes(raw, safe=_SAFE)
