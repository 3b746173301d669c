"""Objects: a place in an object store. What its library raises is told as what went wrong."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.errors import CannotGoOn, ConfigError

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import ObjectStore

_FAR = ("http", "https")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://")
CHUNK_BYTES = 8 * 1024 * 1024
MOST_READ_BYTES = 256 * 1024 * 1024
"""Of an object that is read into memory."""


def is_store(place: str) -> bool:
    """Return True if a place is the URL of an object store."""
    found = _URL.match(place)
    return found is not None and found[1] not in _FAR


class Objects:
    """The objects below a URL: s3://BUCKET/PREFIX, gs://, az://, file:///FOLDER."""

    def __init__(
        self, url: str, store: "ObjectStore | None" = None, *, is_made: bool = False
    ) -> None:
        """Take where they are. `is_made`: a folder that is not there is made."""
        self.url = url
        self._store = store or _opened(url, is_made=is_made)

    def read(self, name: str) -> bytes | None:
        """Return a small object, None if there is none."""
        pieces = self._pieces(name)
        return None if pieces is None else b"".join(self._up_to(MOST_READ_BYTES, name, pieces))

    def save(self, name: str, path: Path, most_bytes: int) -> bool:
        """Save an object as a file; tell whether there is one. One that is too long is refused."""
        pieces = self._pieces(name)
        if pieces is None:
            return False
        try:
            with path.open("wb") as file:
                file.writelines(self._up_to(most_bytes, name, pieces))
        except CannotGoOn:
            path.unlink()
            raise
        return True

    def put(self, name: str, content: bytes | Path) -> None:
        """Make an object, or replace it at once."""
        import obstore  # noqa: PLC0415 - most indexes are folders

        with self._told():
            obstore.put(self._store, name, content)

    def names(self, prefix: str) -> list[str]:
        """Return the names of all objects below a prefix."""
        import obstore  # noqa: PLC0415 - most indexes are folders

        with self._told():
            return [one["path"] for some in obstore.list(self._store, prefix) for one in some]

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects; those that are gone are no problem."""
        import obstore  # noqa: PLC0415 - most indexes are folders

        for name in names:
            with self._told():
                try:
                    obstore.delete(self._store, name)
                except FileNotFoundError:
                    continue

    def _pieces(self, name: str) -> Iterator[bytes] | None:
        import obstore  # noqa: PLC0415 - most indexes are folders

        with self._told():
            try:
                found = obstore.get(self._store, name)
            except FileNotFoundError:
                return None
        return self._streamed(found)

    def _up_to(self, most_bytes: int, name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
        left = most_bytes
        for piece in pieces:
            left -= len(piece)
            if left < 0:
                raise CannotGoOn(
                    f"{self.url}/{name} is damaged: more than {most_bytes} bytes; "
                    "publish the index again"
                )
            yield piece

    def _streamed(self, found: "GetResult") -> Iterator[bytes]:
        with self._told():
            for piece in found.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(piece)

    @contextmanager
    def _told(self) -> Iterator[None]:
        from obstore.exceptions import BaseError  # noqa: PLC0415 - most indexes are folders

        try:
            yield
        except (BaseError, OSError) as error:
            reason = str(error).partition("\n")[0][:300]
            raise CannotGoOn(f"{self.url} cannot be used: {reason}") from error


def _opened(url: str, *, is_made: bool) -> "ObjectStore":
    from obstore.exceptions import BaseError  # noqa: PLC0415 - most indexes are folders
    from obstore.store import from_url  # noqa: PLC0415 - most indexes are folders

    is_folder = url.startswith("file://")
    try:
        return from_url(url, mkdir=True) if is_folder and is_made else from_url(url)
    except (BaseError, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0][:300]
        if is_folder:
            does = "cannot be made" if is_made else "is no folder with an index"
            raise CannotGoOn(f"{url} {does}: {reason}") from error
        raise ConfigError(
            f"{url}: expected s3://BUCKET/PREFIX or file:///FOLDER: {reason}"
        ) from error
