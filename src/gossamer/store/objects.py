"""Objects: what lies below the URL of an object store, read, written and listed.

One small interface over `obstore`, for folders, S3 and what speaks its protocol, Google Cloud
Storage, Azure, and memory. What the library raises is told in one line that names what to set.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from gossamer.durable import sync
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import escape

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import ClientConfig, ObjectStore, RetryConfig, S3Config

SCHEMES = frozenset(("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "file", "memory"))
EXPECTED = "expected s3://BUCKET/PREFIX, gs://, az:// or file:///FOLDER"
_SERVERS = ("http", "https")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://")
CHUNK_BYTES = 8 * 1024 * 1024
MOST_READ_BYTES = 256 * 1024 * 1024
"""Of an object that is read into memory."""
MOST_RETRIES, RETRY_S, QUICK_RETRY_S = 4, 30.0, 3.0
"""Requests that fail are repeated, the waits growing from 0.1 s; the library's own limits are ten
times and three minutes, during which nothing would be said."""
CONNECT_S, STALLED_S, LONGEST_S = 5.0, 20.0, 600.0
"""How long a connection may take, an answer may bring nothing, and a request may last."""
_MOST_CHARS = 300


class TooLarge(CannotGoOn):
    """An object has more bytes than it can have."""


def is_store(place: str) -> bool:
    """Return True if a place is the URL of an object store."""
    found = _URL.match(place)
    return found is not None and found[1] not in _SERVERS


def require_store(url: str) -> None:
    """Refuse the URL of what is no object store."""
    scheme, _, place = url.partition("://")
    if scheme not in SCHEMES or (scheme == "file" and not place.startswith(("/", "localhost/"))):
        raise ConfigError(f"{url}: {EXPECTED}")


class Objects:
    """The objects below a URL. Any thread may ask."""

    def __init__(
        self,
        url: str,
        store: "ObjectStore | None" = None,
        *,
        is_made: bool = False,
        retry_s: float = RETRY_S,
    ) -> None:
        """Take where they are. `is_made`: a folder that is not there is made.

        A request that fails is tried again for `retry_s`.
        """
        self.url = url.rstrip("/") if store is None else url
        self._store = store or _opened(url, is_made=is_made, retry_s=retry_s)
        self._folder = _folder_of(url) if store is None else None
        self._inode = self._folder.stat().st_ino if self._folder is not None else 0
        self._synced: set[Path] = set()
        """Folders of a folder that a power loss does not take away."""

    def put(self, name: str, content: bytes | Path) -> None:
        """Make an object, or replace it at once."""
        import obstore  # noqa: PLC0415 - most places are folders

        if isinstance(content, Path):
            content.stat()  # a file that is gone is not what the store is to blame for
        with self._told():
            self._expect_folder()
            obstore.put(self._store, name, content)
            self._sync(name)

    def create(self, name: str, content: bytes) -> bool:
        """Make an object if there is none of that name; return True if the one there is this one.

        The content must be that of one writer only: an answer that was lost on the way makes the
        library repeat what has been done, so what is there already is read and compared.
        """
        import obstore  # noqa: PLC0415 - most places are folders
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415 - the same

        with self._told():
            self._expect_folder()
            try:
                obstore.put(self._store, name, content, mode="create")
                self._sync(name)
            except (AlreadyExistsError, FileExistsError):
                return self.read(name) == content
        return True

    def create_file(self, name: str, path: Path) -> bool:
        """Make an object of a file if there is none of that name; return False if there is one."""
        import obstore  # noqa: PLC0415 - most places are folders
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415 - the same

        path.stat()
        with self._told():
            self._expect_folder()
            try:
                obstore.put(self._store, name, path, mode="create", use_multipart=False)
                self._sync(name)
            except (AlreadyExistsError, FileExistsError):
                return False
        return True

    def read(self, name: str, most_bytes: int = MOST_READ_BYTES) -> bytes | None:
        """Return an object, None if there is none. One that is too long is refused."""
        pieces = self._pieces(name)
        return None if pieces is None else b"".join(self._up_to(most_bytes, name, pieces))

    def stream(self, name: str) -> Iterator[bytes] | None:
        """Return the pieces of an object, None if there is none."""
        return self._pieces(name)

    def read_range(self, name: str, start: int, length: int) -> bytes | None:
        """Return some bytes of an object, fewer at its end; None if there is no such object."""
        import obstore  # noqa: PLC0415 - most places are folders

        size = self.size(name)
        if size is None:
            return None
        length = min(length, size - start)
        if length <= 0:
            return b""
        with self._told():
            return bytes(obstore.get_range(self._store, name, start=start, length=length))

    def piece(self, name: str, start: int, length: int) -> bytes:
        """Return bytes of an object that is there and has so many; one request."""
        import obstore  # noqa: PLC0415 - most places are folders

        with self._told():
            return bytes(obstore.get_range(self._store, name, start=start, length=length))

    def size(self, name: str) -> int | None:
        """Return how many bytes an object has, None if there is none."""
        import obstore  # noqa: PLC0415 - most places are folders

        with self._told():
            try:
                return obstore.head(self._store, name)["size"]
            except FileNotFoundError as error:
                if _is_without_bucket(error):
                    raise
                return None

    def modified_at(self, name: str) -> float | None:
        """Return when an object was made, by the clock of the store; None if there is none."""
        import obstore  # noqa: PLC0415 - most places are folders

        with self._told():
            try:
                return obstore.head(self._store, name)["last_modified"].timestamp()
            except FileNotFoundError as error:
                if _is_without_bucket(error):
                    raise
                return None

    def exists(self, name: str) -> bool:
        """Return True if there is an object of that name."""
        return self.size(name) is not None

    def save(self, name: str, path: Path, most_bytes: int) -> bool:
        """Save an object as a file; return False if there is none. A longer one is refused."""
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

    def names(self, prefix: str) -> list[str]:
        """Return the names of all objects below a prefix."""
        import obstore  # noqa: PLC0415 - most places are folders

        with self._told():
            return [one["path"] for some in obstore.list(self._store, prefix) for one in some]

    def names_before(self, prefix: str, name: str, age_s: float) -> list[str]:
        """Return the names of objects below a prefix that are so much older than an object."""
        import obstore  # noqa: PLC0415 - most places are folders

        newest = self.modified_at(name) or 0.0
        with self._told():
            return [
                one["path"]
                for some in obstore.list(self._store, prefix)
                for one in some
                if newest - one["last_modified"].timestamp() > age_s
            ]

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects; those that are gone are no problem."""
        import obstore  # noqa: PLC0415 - most places are folders

        for name in names:
            with self._told():
                try:
                    obstore.delete(self._store, name)
                except FileNotFoundError as error:
                    if _is_without_bucket(error):
                        raise

    def _expect_folder(self) -> None:
        """Refuse to write where the folder was: it would be made anew, and others would see it."""
        if self._folder is None:
            return
        if not self._folder.is_dir() or self._folder.stat().st_ino != self._inode:
            raise CannotGoOn(f"{self.url} is not there any more: is it mounted?")

    def _sync(self, name: str) -> None:
        """Bring an object of a folder to the disk before anybody relies on it.

        If the folder went at that moment, the library has made it anew: that counts for nothing.
        """
        if self._folder is None:
            return
        self._expect_folder()
        path = self._folder / name
        sync(path)
        sync(path.parent)
        for parent in path.parent.relative_to(self._folder).parents:
            if (above := self._folder / parent) not in self._synced:
                sync(above)
                self._synced.add(above)

    def _pieces(self, name: str) -> Iterator[bytes] | None:
        import obstore  # noqa: PLC0415 - most places are folders

        with self._told():
            try:
                found = obstore.get(self._store, name)
            except FileNotFoundError as error:
                if _is_without_bucket(error):
                    raise
                return None
        return self._streamed(found)

    def _up_to(self, most_bytes: int, name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
        left = most_bytes
        for piece in pieces:
            left -= len(piece)
            if left < 0:
                raise TooLarge(f"{self.url}/{name} is damaged: more than {most_bytes} bytes")
            yield piece

    def _streamed(self, found: "GetResult") -> Iterator[bytes]:
        with self._told():
            for piece in found.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(piece)

    @contextmanager
    def _told(self) -> Iterator[None]:
        from obstore.exceptions import BaseError  # noqa: PLC0415 - most places are folders

        try:
            yield
        except (BaseError, OSError) as error:
            raise CannotGoOn(f"{self.url} cannot be used: {explained(str(error))}") from error


def _opened(url: str, *, is_made: bool, retry_s: float) -> "ObjectStore":
    from obstore.exceptions import BaseError  # noqa: PLC0415 - most places are folders
    from obstore.store import from_url  # noqa: PLC0415 - most places are folders

    require_store(url)
    is_folder = url.startswith("file://")
    try:
        if is_folder:
            return from_url(url, mkdir=is_made)
        stalls: ClientConfig = {
            "connect_timeout": timedelta(seconds=CONNECT_S),
            "read_timeout": timedelta(seconds=STALLED_S),
            "timeout": timedelta(seconds=LONGEST_S),
        }
        if "AWS_ALLOW_HTTP" in os.environ:  # options that are given hide it
            stalls["allow_http"] = os.environ["AWS_ALLOW_HTTP"].lower() in {"true", "1", "yes"}
        patience: RetryConfig = {
            "max_retries": MOST_RETRIES,
            "retry_timeout": timedelta(seconds=retry_s),
        }
        if url.startswith(("s3://", "s3a://")):
            files = _amazon_files(os.environ)
            return from_url(url, config=files, client_options=stalls, retry_config=patience)
        return from_url(url, client_options=stalls, retry_config=patience)
    except (BaseError, OSError, ValueError) as error:
        words = str(error)
        if is_folder:
            does = "cannot be made" if is_made else "is no folder"
            raise CannotGoOn(f"{url} {does}: {explained(words)}") from error
        if _advice(words) is not None:
            raise CannotGoOn(f"{url} cannot be used: {explained(words)}") from error
        raise ConfigError(f"{url}: {EXPECTED}: {explained(words)}") from error


def _amazon_files(environ: Mapping[str, str]) -> "S3Config":
    """Return what ~/.aws/credentials and config say of the profile, unless the environment does."""
    home = Path(environ.get("HOME", "/nonexistent")) / ".aws"
    profile = environ.get("AWS_PROFILE") or "default"
    files = (
        (environ.get("AWS_CONFIG_FILE") or home / "config", f"profile {profile}"),
        (environ.get("AWS_SHARED_CREDENTIALS_FILE") or home / "credentials", profile),
    )
    said: dict[str, str] = {}
    for path, section in files:
        parser = ConfigParser(interpolation=None)
        with suppress(ConfigParserError, OSError, UnicodeDecodeError):
            parser.read(path)
        for name in (profile, section):
            said |= dict(parser.items(name)) if parser.has_section(name) else {}
    found: S3Config = {}
    if not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} & environ.keys():  # they go together
        if "aws_access_key_id" in said:
            found["access_key_id"] = said["aws_access_key_id"]
        if "aws_secret_access_key" in said:
            found["secret_access_key"] = said["aws_secret_access_key"]
        if "aws_session_token" in said:
            found["session_token"] = said["aws_session_token"]
    if "region" in said and not {"AWS_REGION", "AWS_DEFAULT_REGION"} & environ.keys():
        found["region"] = said["region"]
    has_endpoint = any("ENDPOINT" in name for name in environ if name.startswith("AWS_"))
    if "endpoint_url" in said and not has_endpoint:
        found["endpoint"] = said["endpoint_url"]
    return found


def _folder_of(url: str) -> Path | None:
    """Return the folder that a URL names; None of a store that is somewhere else."""
    if not url.startswith("file://"):
        return None
    return Path(unquote(urlsplit(url).path))


def _is_without_bucket(error: FileNotFoundError) -> bool:
    """Return True if it is not the object that is missing, but all that it could be in."""
    words = str(error)
    return any(code in words for code in ("NoSuchBucket", "ContainerNotFound"))


_CAUSES = (
    # What the library says (in its first line, or in the account of the cause that follows), and
    # what a person is told instead; {place} is the URL that it has asked.
    (r"BadScheme", "{place} is plain http, which is refused: set AWS_ALLOW_HTTP=true to allow it"),
    (
        r"Missing AccessKeyId|Missing SecretAccessKey",
        "half of the credentials: set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (
        r"/latest/(api/token|meta-data)|security-credentials",
        "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (
        r"computeMetadata",
        "no credentials: set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account",
    ),
    (
        r"Account must be specified|MissingAccount",
        "no account: set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    ),
    (
        r"/metadata/identity",
        "no credentials: set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
    ),
    (
        r"NoSuchBucket|ContainerNotFound",
        "there is no such bucket at {place}: make it, or check its name and AWS_ENDPOINT_URL",
    ),
    (
        r"InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|401 Unauthorized",
        "the credentials are not accepted: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (
        r"AuthorizationHeaderMalformed|PermanentRedirect|301 Moved|IllegalLocationConstraint",
        "the bucket is in another region: set AWS_REGION",
    ),
    (
        r"Unable to canonicalize filesystem root",
        "nothing is there; check its spelling, and that its disk is mounted",
    ),
    (
        r"Read-only file system",
        "its disk is mounted to be read only; a crawl has to write there",
    ),
    (
        r"Permission denied",
        "it is not ours to write, or to read: check its owner and mode",
    ),
    (
        r"AccessDenied|403 Forbidden",
        "access is denied: the credentials lack the right to read, write, list or delete there",
    ),
    (
        r"kind: Connect\b",
        "{place} cannot be reached: check the network and AWS_ENDPOINT_URL",
    ),
    (
        r"kind: Timeout|retry_timeout exceeded|operation timed out",
        "{place} does not answer in time",
    ),
)
_ASKED = re.compile(r"\b(?:GET|PUT|HEAD|POST|DELETE) (https?://[^\s/?]+)")


def explained(words: str) -> str:
    """Return in one line what went wrong in an object store, and what to set if that is known."""
    asked = _ASKED.search(words)
    advice = _advice(words)
    if advice is None:
        return escape(words.partition("\n")[0][:_MOST_CHARS])
    return escape(advice.format(place=asked[1] if asked else "the store"))


def _advice(words: str) -> str | None:
    return next((advice for cause, advice in _CAUSES if re.search(cause, words)), None)
