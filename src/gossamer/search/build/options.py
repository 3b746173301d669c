"""How an index shall be built, and what was done."""

from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.search.manifest import Manifest, Organisation, Partition
from gossamer.search.sources import KINDS, Skip

Did: TypeAlias = Literal["nothing", "news", "full"]

MOST_SHARDS = 64
MIB = 1 << 20


class IndexOptions(Struct, frozen=True, kw_only=True):
    """How an index is built. None: as it was before, or the first of the choices."""

    shards: int | None = None
    partition: Partition | None = None
    high_share: float | None = None
    """Share of the pages in the high tier, by rank; 0: no tiers."""
    organisation: Organisation | None = None
    keep: tuple[str, ...] | None = None
    """What counts as text though it is hidden, an ad or code: any of hidden, ads, code."""
    is_full: bool = False
    """Read the whole archive, whatever there is."""
    memory_bytes: int = 256 * MIB
    """For words that wait to be written. What grows with the number of pages (some 20 bytes each,
    in a full build) comes on top."""
    news_share: float = 0.25
    """When the archive has grown by more than this share since the last full build, and no crawl
    runs, another one is due: anchors and tiers are those of the last one."""
    ranks: bool = True
    """Have the ranks of the pages built first, if there are none or the crawl has far more links
    now. This room only reads them: whoever joins it with the graph does it."""
    skip: Skip | None = None
    """Links whose texts shall not count."""


class IndexFacts(Struct, frozen=True, kw_only=True):
    """What was built, and what there is now."""

    did: Did
    pages: int
    added: int = 0
    """Pages that were written, those of files of others only if they were not there just so."""
    unchanged: int = 0
    """Pages of files of others that were there just so."""
    deleted: int = 0
    """Pages that are gone, or ask to be left out."""
    left_out: dict[str, int] = {}  # msgspec copies it
    """Pages that are not in it, by reason."""
    bad: int = 0
    """Records of foreign files that could not be read."""
    shards: int = 1
    partition: Partition = "url"
    high_share: float = 0.0
    organisation: Organisation = "documents"
    generation: int = 0


class Partitioning(Struct, frozen=True, kw_only=True):
    """Into what an index is split, and what it takes in."""

    shards: int
    partition: Partition
    high_share: float
    organisation: Organisation
    keep: tuple[str, ...] = ()

    @classmethod
    def wanted(cls, options: IndexOptions, before: Manifest | None) -> "Partitioning":
        """Return what is asked for; what is not said stays as it was."""
        old = before or Manifest(version=0)
        shape = cls(
            shards=old.shards if options.shards is None else options.shards,
            partition=options.partition or old.partition,
            high_share=old.high_share if options.high_share is None else options.high_share,
            organisation=options.organisation or old.organisation,
            keep=old.keep if options.keep is None else tuple(sorted(set(options.keep))),
        )
        if not 1 <= shape.shards <= MOST_SHARDS:
            raise ConfigError(
                f"shards: expected a number from 1 to {MOST_SHARDS}, found {shape.shards}"
            )
        if not 0 <= shape.high_share < 1:
            raise ConfigError(
                f"tiers: expected a share from 0 to less than 1, found {shape.high_share}"
            )
        if unknown := sorted(set(shape.keep) - set(KINDS)):
            raise ConfigError(f"keep: expected any of {', '.join(KINDS)}, found {unknown[0]}")
        if shape.organisation == "terms" and shape.high_share:
            raise ConfigError(
                "tiers need an index split by documents; use --tiers 0 with --organisation terms"
            )
        return shape

    def is_that_of(self, manifest: Manifest) -> bool:
        """Return True if an index is split so."""
        return self == Partitioning(
            shards=manifest.shards,
            partition=manifest.partition,
            high_share=manifest.high_share,
            organisation=manifest.organisation,
            keep=manifest.keep,
        )


def facts_of(did: Did, manifest: Manifest, **done: int) -> IndexFacts:
    """Return what there is now, and what was done for it."""
    return IndexFacts(
        did=did,
        pages=manifest.pages,
        left_out=manifest.left_out,
        shards=manifest.shards,
        partition=manifest.partition,
        high_share=manifest.high_share,
        organisation=manifest.organisation,
        generation=manifest.generation,
        **done,
    )
