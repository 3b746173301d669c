"""Files and Ftp: two small protocol modules that show the table of schemes to be open.

Both answer a folder with a page of links, so that a crawl can walk it.
"""

import asyncio
import mimetypes
import stat
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote, urlsplit

import pycurl

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.fetch.body import PLAIN, SpooledBody
from gossamer.fetch.curl import CurlHandle, CurlLoop
from gossamer.fetch.decoding import Caps
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http import FetchRequest, base_options
from gossamer.model import (
    Document,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    RefusalKind,
    Refused,
)

_FTP_ERRORS: dict[int, FailureKind] = {
    7: FailureKind.CONNECT_FAILED,
    9: FailureKind.UNAUTHORIZED,
    19: FailureKind.NOT_FOUND,
    28: FailureKind.TOTAL_TIMEOUT,
    67: FailureKind.UNAUTHORIZED,
    78: FailureKind.NOT_FOUND,
}
_MAX_NAMES = 10_000


class Files:
    """Reads local files. Only seeds and local pages lead here; the filters see to that."""

    def __init__(self, config: FetchConfig, clock: Clock) -> None:
        self._caps = Caps(config.max_decoded_bytes, config.max_ratio)
        self._clock = clock

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        """Read a file, or the names in a folder, off the loop."""
        asked_at, began_at = self._clock.wall(), self._clock.steady()
        path = Path(unquote(urlsplit(request.url.text).path))
        try:
            data, media_type, is_cut = await asyncio.to_thread(
                _read_path, path, request.max_body_bytes
            )
        except FileNotFoundError:
            return Failed(kind=FailureKind.NOT_FOUND, detail=f"{path} does not exist")
        except (OSError, ValueError) as problem:
            return Failed(kind=FailureKind.UNREADABLE_FILE, detail=str(problem))
        document = local_document(request, data, media_type, self._caps)
        document.fetched_at = asked_at
        document.latency_s = self._clock.steady() - began_at
        document.truncated = "length" if is_cut else ""
        return Fetched(document=document)


class Ftp:
    """Asks ftp servers, as a guest."""

    def __init__(
        self, config: FetchConfig, clock: Clock, guard: AddressGuard, curl: CurlLoop
    ) -> None:
        self._config = config
        self._clock = clock
        self._guard = guard
        self._curl = curl
        self._caps = Caps(config.max_decoded_bytes, config.max_ratio)
        self._options = base_options(config) | {
            pycurl.PROTOCOLS: pycurl.PROTO_FTP,
            pycurl.FTP_SKIP_PASV_IP: 1,
        }

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        """Retrieve a file, or the names in a folder (a path that ends with a slash)."""
        handle = CurlHandle(self._config, self._guard, self._options)
        try:
            return await self._ask(handle, request)
        finally:
            self._curl.leave(handle)
            if request.watch is not None:
                request.watch.leave()
            handle.close()

    async def _ask(self, handle: CurlHandle, request: FetchRequest) -> FetchOutcome:
        is_folder = request.url.target.endswith("/")
        host = f"[{request.address}]" if ":" in request.address else request.address
        handle.curl.setopt(pycurl.URL, request.url.text)
        handle.curl.setopt(pycurl.CONNECT_TO, [f"::{host}:"] if host else [])
        handle.curl.setopt(pycurl.DIRLISTONLY, is_folder)
        asked_at = self._clock.wall()
        handle.begin(request.max_body_bytes, self._clock.steady())
        if request.watch is not None:
            request.watch.follow(self._curl, handle, request.url.host)
        ended = await self._curl.start(handle)
        if handle.refusal:
            return Refused(kind=RefusalKind.PRIVATE_ADDRESS, detail=handle.refusal)
        if ended.code and not handle.is_full:
            kind = _FTP_ERRORS.get(ended.code, FailureKind.DISCONNECTED)
            return Failed(kind=kind, detail=ended.message or ended.overdue)
        contents = handle.spool.contents()
        data = contents if isinstance(contents, bytes) else _whole(contents)
        media_type = _media_type(request.url.target)
        if is_folder:
            names = data.decode("utf-8", "replace").splitlines()
            data, media_type = _listing(names), "text/html"
        document = local_document(request, data, media_type, self._caps)
        document.fetched_at = asked_at
        document.latency_s = self._clock.steady() - handle.began_at
        document.truncated = "length" if handle.is_full else ""
        return Fetched(document=document)


def local_document(request: FetchRequest, data: bytes, media_type: str, caps: Caps) -> Document:
    """Return a document in the form of an HTTP answer, which is what archives can hold."""
    fields = (("content-type", media_type), ("content-length", str(len(data))))
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in fields)
    return Document(
        url=request.url,
        status=200,
        head=f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode(),
        headers=fields,
        body=SpooledBody(data, len(data), PLAIN, caps),
        request=b"",
        address=request.address,
        fetched_at=0.0,
        latency_s=0.0,
        media_type=media_type,
    )


def _read_path(path: Path, max_bytes: int) -> tuple[bytes, str, bool]:
    """Return a file's bytes, its media type, and whether it was cut; devices are refused."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        names = sorted(f"{item.name}/" if item.is_dir() else item.name for item in path.iterdir())
        return _listing(names), "text/html", False
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} is not a regular file")
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    return data[:max_bytes], _media_type(path.name), len(data) > max_bytes


def _listing(names: Iterable[str]) -> bytes:
    shown = [name for name in names if name not in {".", "..", "./", "../"}][:_MAX_NAMES]
    items = "".join(f'<li><a href="./{quote(name)}">{escape(name)}</a></li>\n' for name in shown)
    return f"<!DOCTYPE html>\n<meta charset=utf-8>\n<ul>\n{items}</ul>\n".encode()


def _media_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _whole(file: BinaryIO) -> bytes:
    with file:
        file.seek(0)
        return file.read()
