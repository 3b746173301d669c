"""Files: reads local files. A folder is answered with a page of links, so that a crawl can walk it.

And the form that all documents have that did not come by HTTP.
"""

import asyncio
import mimetypes
import os
import stat
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.fetch.body import PLAIN, MemoryClaim, SpooledBody
from gossamer.fetch.decoding import Caps
from gossamer.fetch.http import FetchRequest
from gossamer.fetch.listings import MAX_ENTRIES, EntryKind, FolderEntry, folder_page
from gossamer.model import Document, Failed, FailureKind, Fetched, FetchOutcome

_PACKED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


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
        document = resource(request, data, len(data), media_type, self._caps)
        document.fetched_at = asked_at
        document.latency_s = self._clock.steady() - began_at
        document.truncated = "length" if is_cut else ""
        return Fetched(document=document)


def resource(
    request: FetchRequest,
    contents: bytes | BinaryIO,
    size: int,
    media_type: str,
    caps: Caps,
    claim: MemoryClaim | None = None,
) -> Document:
    """Return a document of a protocol that has no header: the archive keeps it as a `resource`."""
    return Document(
        url=request.url,
        status=200,
        head=b"",
        headers=(("content-type", media_type), ("content-length", str(size))),
        body=SpooledBody(contents, size, PLAIN, caps, claim),
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
        entries = sorted(
            FolderEntry(os.fsencode(one.name), _kind_of(one)) for one in path.iterdir()
        )
        is_cut = len(entries) > MAX_ENTRIES
        return folder_page(entries[:MAX_ENTRIES]), "text/html", is_cut
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} is not a regular file")
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    return data[:max_bytes], media_type_of_name(path.name), len(data) > max_bytes


def _kind_of(path: Path) -> EntryKind:
    return EntryKind.FOLDER if path.is_dir() else EntryKind.FILE


def media_type_of_name(name: str) -> str:
    """Return the media type that the name of a file promises."""
    kind, coding = mimetypes.guess_type(unquote(name))
    if coding is not None:
        return _PACKED.get(coding, "application/octet-stream")
    return kind or "application/octet-stream"
