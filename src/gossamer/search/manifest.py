"""The manifest of an index: what it is made of, and how far it has come. Written last.

index/manifest.json  this
      SS/            shards; with tiers those of the high tier
      low-SS/        shards of the low tier, if there are tiers
      terms/         instead of them all: shards of terms, if these are split
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn

FILE = "manifest.json"
MOST_BYTES = 256 << 20
MOST_SHARDS = 9999
"""As many as there are names for."""
Partition = Literal["url", "host", "turn"]
"""Which shard a page belongs to: by its URL, by its host, or each in its turn."""
Organisation = Literal["documents", "terms"]
"""What a shard has: some of the pages, or of all pages some of the words."""


class Manifest(Struct, kw_only=True, frozen=True):
    """What an index is."""

    version: int
    partition: Partition = "url"
    shards: Annotated[int, Meta(ge=1, le=MOST_SHARDS)] = 1
    high_share: float = 0.0
    """Share of the pages in the high tier, by rank; 0: there are no tiers."""
    pages: int = 0
    languages: dict[str, int] = {}  # msgspec copies it
    """Pages of each language."""
    covered: dict[str, int] = {}  # msgspec copies it
    """How much of each archive file, by name, is in it."""
    generation: int = 0
    """Counts commits, so that readers notice them."""
    born: int = 0
    """The generation of the last full build: another one means other folders, to be opened anew."""
    organisation: Organisation = "documents"
    high_from: float = 0.0
    """From which rank on a page belongs to the high tier."""
    full_bytes: int = 0
    """How much of the archive the last full build has read: what was added since is compared."""
    left_out: dict[str, int] = {}  # msgspec copies it
    """Pages that are not in it, by reason, as the last full build has found them."""


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


def terms_folder(index: Path) -> Path:
    """Return the folder of the shards of an index that is split by terms."""
    return index / "terms"


def read_manifest(index: Path) -> Manifest | None:
    """Return the manifest of an index; None if there is none, or not one of ours."""
    path = index / FILE
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:  # a pipe would be waited for
            return None
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def write_manifest(index: Path, manifest: Manifest) -> None:
    """Replace the manifest at once: a reader sees the old one or this."""
    try:
        replace_file(index / FILE, msgspec.json.format(msgspec.json.encode(manifest)))
    except OSError as error:
        raise CannotGoOn(
            f"cannot write to {index}: {error.strerror}; free some disk space"
        ) from error
