"""The life of a folder that is made from the archive: build, update, follow, build anew if damaged.

Graph, index and tables have it in common:
- one process builds (`Derived.sole_builder`), and what a killed one left is settled first;
- the manifest says how far the archive was read (`covered`), and is written last, with the hash of
  itself and of the files;
- what was read and does not count any more, other options or damage make a full build due;
  otherwise only what is new is read;
- beside a running crawl that is done again and again, and once more after its end.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from gossamer.errors import CannotGoOn, ConfigError, CorruptFile
from gossamer.model import BuildProgress, built_anew
from gossamer.store.derived import BuiltElsewhere, Derived, is_locked
from gossamer.store.layout import CrawlFolder

if TYPE_CHECKING:
    from gossamer.clock import Clock

T = TypeVar("T")
S = TypeVar("S", bound=Struct)
_READ_BYTES = 1 << 20


class FileSeal(Struct, frozen=True, forbid_unknown_fields=True):
    """What a file was when it was written."""

    bytes: int
    xxh3: str


def seal_of(path: Path) -> FileSeal:
    """Return what a file is now."""
    return FileSeal(path.stat().st_size, hash_of_file(path))


def check_seal(path: Path, seal: FileSeal, *, is_read: bool) -> None:
    """Raise `CorruptFile` unless a file is what was written; by its length, or all of it."""
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise CorruptFile(path, 0, "it is missing") from None
    if found != seal.bytes:
        told = f"expected {seal.bytes} bytes, found {found}"
        raise CorruptFile(path, min(found, seal.bytes), told)
    if is_read and hash_of_file(path) != seal.xxh3:
        raise CorruptFile(path, 0, "it is not what was written (by its hash)")


def hash_of_file(path: Path) -> str:
    """Return the hash of a file's content."""
    found = xxhash.xxh3_64()
    with path.open("rb", buffering=0) as file:
        while part := file.read(_READ_BYTES):
            found.update(part)
    return found.hexdigest()


def own_hash(manifest: Struct) -> str:
    """Return the hash of a manifest, of which `own` is that hash."""
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode(replace(manifest, own="")))


def with_own_hash(manifest: S) -> S:
    """Return a manifest with its hash."""
    return replace(manifest, own=own_hash(manifest))


def archive_of(root: Path | str) -> CrawlFolder:
    """Return a crawl's folder; raise `ConfigError` if it has no archive."""
    folder = CrawlFolder(Path(root))
    if not folder.archive.is_dir():
        raise ConfigError(f"{root} is not a crawl folder: it has no archive")
    expect_no_purge(folder)
    return folder


def expect_no_purge(folder: CrawlFolder) -> None:
    """Refuse to read an archive of which some files are replaced, and others not yet."""
    if folder.purge_path.exists():
        raise CannotGoOn(
            f"records are being removed from {folder.root}, or that was interrupted; "
            f"`gossamer build {folder.root} state` finishes it, and so does the next crawl"
        )


@contextmanager
def mending(place: Derived, what: str, *, more: str = "") -> Iterator[None]:
    """Finish what a killed builder left, and leave nothing half done behind.

    The caller is the sole builder. `more` says what is lost if the disk is full.
    """
    try:
        place.settle()
        yield
    except OSError as error:
        raise CannotGoOn(
            f"cannot build the {what} of {place.folder.parent}: {error.strerror or error}; {more}"
            "free some disk space or check its permissions, then build again"
        ) from error
    finally:
        place.discard_unfinished()


def anew_if_damaged(
    place: Derived,
    tell: BuildProgress,
    update: Callable[[], T],
    build: Callable[[], T],
    damaged: tuple[type[Exception], ...] = (CorruptFile,),
) -> T:
    """Update what there is; if that is damaged, tell so and build all of it."""
    try:
        return update()
    except damaged as error:
        tell_damaged(place, tell, error)
        return build()


def tell_damaged(place: Derived, tell: BuildProgress, error: Exception) -> None:
    """Tell that all is built anew; damage elsewhere, as in the archive, cannot be mended here."""
    if isinstance(error, CorruptFile) and place.folder not in error.path.parents:
        raise error
    tell(built_anew(error))


class Pacing:
    """Waits as long as the work took, so that half of the time is left to others."""

    def __init__(
        self,
        clock: "Clock",
        wait: Callable[[float], None],
        *,
        shortest_s: float,
        longest_s: float | None = None,
    ) -> None:
        self._clock = clock
        self._wait = wait
        self._shortest_s = shortest_s
        self._longest_s = longest_s
        self._began_at = clock.steady()

    def __call__(self) -> None:
        """Let time pass before the next piece of work."""
        pause_s = max(self._shortest_s, self._clock.steady() - self._began_at)
        self._wait(pause_s if self._longest_s is None else min(pause_s, self._longest_s))
        self._began_at = self._clock.steady()


def follow_builds(
    folder: CrawlFolder, build: Callable[[], T], pause: Callable[[], None]
) -> Iterator[T]:
    """Build again and again while a crawl runs; yield what each time was done.

    The last time is after the crawl has ended. Somebody else may build meanwhile.
    """
    while True:
        was_running = is_locked(folder)
        try:
            facts = build()
        except BuiltElsewhere:  # by somebody who asks a question, say
            pause()
            continue
        yield facts
        if not was_running:
            return
        pause()
