"""Reader: what a document in a WARC file says, by the same processors that read what we crawl."""

import struct
import subprocess

import msgspec

from gossamer.config import Config
from gossamer.model import Document, Extraction, Url
from gossamer.process import HELPER_COMMAND, CarriedBody, Registry, Tools, helper_request
from gossamer.store import (
    ForeignRecord,
    decoded,
    header_fields,
    joined_field,
    split_head,
    status_of,
)

MOST_BODY_BYTES = 16 << 20
"""Of a document, decoded."""
STARTUP_S = 30.0
_LENGTH = struct.Struct(">I")
_OK = 200


class Reader:
    """Reads documents; the slow and dangerous ones in a process that can be killed."""

    def __init__(self) -> None:
        config = Config()
        self._tools = Tools(
            urls=config.urls, process=config.process, robots_agent=config.fetch.robots_agent
        )
        self._registry = Registry.load(self._tools)

    def read(self, url: Url, record: ForeignRecord) -> Extraction:
        """Return what a response or resource says."""
        document = _document(url, record)
        media_type = self._registry.media_type(document)
        if self._registry.needs_helper(document, media_type):
            return self._read_aside(document, media_type)
        return self._registry.read(document, media_type)

    def _read_aside(self, document: Document, media_type: str) -> Extraction:
        limit_s = self._tools.process.helper_seconds
        messages = (self._tools, helper_request(document, media_type))
        try:
            done = subprocess.run(  # noqa: S603 - our own program
                HELPER_COMMAND,
                input=b"".join(map(_framed, messages)),
                capture_output=True,
                timeout=STARTUP_S + limit_s,
                check=False,
            )
            _, answer = _frames(done.stdout)
            return msgspec.msgpack.decode(answer, type=Extraction)
        except subprocess.TimeoutExpired:
            problem = f"not finished after {limit_s:g} s"
        except (OSError, ValueError, struct.error, msgspec.DecodeError):
            problem = "its reader ended before it answered"
        return Extraction(media_type=media_type, errors=(problem,))


def status_of_record(record: ForeignRecord) -> int:
    """Return the status of an answer; a resource has none, and is sound."""
    if record.headers.get("warc-type") == "resource":
        return _OK
    return status_of(split_head(record.block)[0])


def _document(url: Url, record: ForeignRecord) -> Document:
    head, payload = b"", record.block
    fields: tuple[tuple[str, str], ...] = ()
    declared = record.headers.get("content-type", "")
    if record.headers.get("warc-type") == "response":
        head, payload = split_head(record.block)
        fields = header_fields(head)
        declared = _first(fields, "content-type")
    body = decoded(
        payload,
        transfer=joined_field(fields, "transfer-encoding"),
        codings=joined_field(fields, "content-encoding"),
        max_bytes=MOST_BODY_BYTES,
    )
    media_type, _, parameters = declared.partition(";")
    charset = parameters.lower().partition("charset=")[2].strip(" \"'").partition(";")[0]
    return Document(
        url=url,
        status=_OK,
        head=head,
        headers=fields,
        body=CarriedBody(body),
        request=b"",
        address="",
        fetched_at=0.0,
        latency_s=0.0,
        media_type=media_type.strip().lower(),
        charset=charset.strip(" \"'"),
    )


def _first(fields: tuple[tuple[str, str], ...], name: str) -> str:
    return next((value for key, value in fields if key == name), "")


def _framed(message: object) -> bytes:
    block = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(block)) + block


def _frames(answer: bytes) -> tuple[bytes, bytes]:
    """Return the two messages of a helper; raise `struct.error` if it did not say so much."""
    (first,) = _LENGTH.unpack_from(answer)
    (second,) = _LENGTH.unpack_from(answer, _LENGTH.size + first)
    start = 2 * _LENGTH.size + first
    return answer[_LENGTH.size : _LENGTH.size + first], answer[start : start + second]
