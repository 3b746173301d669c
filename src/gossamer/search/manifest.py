"""The manifest of an index: what it is made of, and how far it has come. Written last.

index/manifest.json  this
      SS/            shards; with tiers those of the high tier
      low-SS/        shards of the low tier, if there are tiers
      images-SS/     shards of the images that pages show, if there are any
      terms/         instead of them all: shards of terms, if these are split
"""

from collections.abc import Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn
from gossamer.store import hash_of_file, own_hash, with_own_hash

FILE = "manifest.json"
MOST_BYTES = 256 << 20
MOST_SHARDS = 9999
"""As many as there are names for."""
Partition = Literal["url", "host", "turn"]
"""Which shard a page belongs to: by its URL, by its host, or each in its turn."""
Organisation = Literal["documents", "terms"]
"""What a shard has: some of the pages, or of all pages some of the words."""


class IndexedFile(Struct, frozen=True, array_like=True):
    """What a file was when it was written."""

    bytes: int
    xxh3: str
    changed_ns: int
    """By this and its length a file is known that need not be read again."""


class Manifest(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What an index is. A key with a flipped bit is not ours."""

    version: int
    partition: Partition = "url"
    shards: Annotated[int, Meta(ge=1, le=MOST_SHARDS)] = 1
    high_share: float = 0.0
    """Share of the pages in the high tier, by rank; 0: there are no tiers."""
    pages: int = 0
    images: int = 0
    """In shards of their own: what is asked of pages does not count them."""
    languages: dict[str, int] = {}  # msgspec copies it
    """Pages of each language."""
    covered: dict[str, int] = {}  # msgspec copies it
    """How much of each archive file, by name, is in it."""
    generation: int = 0
    """Counts commits, so that readers notice them."""
    born: int = 0
    """The generation of the last full build: another one means other folders, to be opened anew."""
    organisation: Organisation = "documents"
    keep: tuple[str, ...] = ()
    """What counts as text though it is hidden, an ad or code."""
    high_from: float = 0.0
    """From which rank on a page belongs to the high tier."""
    full_bytes: int = 0
    """How much of the archive the last full build has read: what was added since is compared."""
    left_out: dict[str, int] = {}  # msgspec copies it
    """Pages that are not in it, by reason, as the last full build has found them."""
    probations: str | UnsetType = UNSET
    """The digest of the probations whose pages are not in it, if there are such pages; "" if the
    crawl was running."""
    dropped: str | UnsetType = UNSET
    """The digest of the patterns whose pages are left out, if there are any."""
    received: dict[int, int] | UnsetType = UNSET
    """Of the index of one shard of a crawl's store: how many batches of links of the others the
    last full build has read, by shard."""
    received_bytes: int | UnsetType = UNSET
    files: dict[str, IndexedFile] = {}  # msgspec copies it
    """What its files were when this was written, by their names in the folder; {}: not known."""
    own: str = ""
    """The hash of all this; "" in those of older versions."""


def index_folder(root: Path) -> Path:
    """Return the folder of a crawl's index."""
    return root / "index"


def shard_folders(index: Path, manifest: Manifest, tier: Literal["high", "low"]) -> list[Path]:
    """Return the folders of the shards of a tier."""
    if manifest.organisation == "terms":
        raise CannotGoOn(
            f"{index} is split by terms; expected one that is split by documents: build it "
            "with `--organisation documents`"
        )
    prefix = "low-" if tier == "low" else ""
    return [index / f"{prefix}{number:02}" for number in range(manifest.shards)]


def image_folders(index: Path, manifest: Manifest) -> list[Path]:
    """Return the folders of the shards of images, however the pages are split."""
    return [index / f"images-{number:02}" for number in range(manifest.shards)]


def terms_folder(index: Path) -> Path:
    """Return the folder of the shards of an index that is split by terms."""
    return index / "terms"


def read_manifest(index: Path) -> Manifest | None:
    """Return the manifest of an index; None if there is none, or not one of ours."""
    path = index / FILE
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:  # a pipe would be waited for
            return None
        found = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if found.own in {"", own_hash(found)} else None


def write_manifest(index: Path, manifest: Manifest, *, is_sealed: bool = True) -> Manifest:
    """Replace the manifest at once: a reader sees the old one or this. Return what was written.

    It tells what the files are by now, unless they are kept elsewhere (`is_sealed`).
    """
    try:
        files = sealed_files(index, manifest.files) if is_sealed else {}
        manifest = with_own_hash(replace(manifest, files=files))
        replace_file(index / FILE, msgspec.json.format(msgspec.json.encode(manifest)))
    except OSError as error:
        raise CannotGoOn(
            f"cannot write to {index}: {error.strerror}; free some disk space"
        ) from error
    return manifest


def sealed_files(index: Path, known: Mapping[str, IndexedFile]) -> dict[str, IndexedFile]:
    """Return what the files of an index are; those that did not change since are not read again."""
    files: dict[str, IndexedFile] = {}
    for path in sorted(index.rglob("*")):
        name = path.relative_to(index).as_posix()
        try:
            facts = path.stat()
            if not S_ISREG(facts.st_mode) or not is_sealed_name(path.name):
                continue
            old = known.get(name)
            if old is None or (old.bytes, old.changed_ns) != (facts.st_size, facts.st_mtime_ns):
                old = IndexedFile(facts.st_size, hash_of_file(path), facts.st_mtime_ns)
        except FileNotFoundError:  # the engine deletes what it has merged
            continue
        files[name] = old
    return files


def is_sealed_name(name: str) -> bool:
    """Return True for files that only a build changes: no locks, no lists of the engine's own."""
    return name != FILE and not name.startswith(".") and not name.endswith((".lock", ".tmp"))
