"""An index of files that Gossamer did not crawl. Added to in place; run again, it adds nothing."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.model import BuildProgress, BuildStep
from gossamer.search.analysis import Analyser
from gossamer.search.build.options import IndexFacts, IndexOptions, Partitioning, facts_of
from gossamer.search.build.place import open_sink, place_of
from gossamer.search.build.sink import PageSink
from gossamer.search.manifest import Manifest, read_manifest, shard_folders, write_manifest
from gossamer.search.page import IndexPage, Prepared
from gossamer.search.shard import VERSION, LocalShard
from gossamer.search.shard.snapshot import META
from gossamer.search.sources import Bad, ForeignPages, SkippedPages

COMMIT_PAGES = 50_000
TOLD_PAGES = 1000
COMPARED_PAGES = 200
"""Looked up at once."""
TOLD_BAD = 20
"""Bad records of a file that are told one by one; the others are counted."""


def build_foreign(
    files: Sequence[str],
    into: Path,
    options: IndexOptions | None = None,
    tell: BuildProgress | None = None,
    complain: Callable[[str], None] | None = None,
) -> IndexFacts:
    """Index files of others in a folder of their own; `complain` is told what cannot be read.

    A page replaces an older one with the same URL, also one of an earlier run.
    """
    if (into / "archive").exists():
        raise ConfigError(
            f"{into} is a crawl folder, indexed by `gossamer build {into} index`; "
            "choose another folder for these files"
        )
    for name in files:
        _expect_readable(name)
    into.mkdir(parents=True, exist_ok=True)
    with place_of(into).sole_builder():
        try:
            building = _Foreign(into, options or IndexOptions(), tell or (lambda _: None))
            return building.build(files, complain or (lambda _: None))
        except OSError as error:
            raise CannotGoOn(
                f"cannot write the index in {into}: {error.strerror or error}; free some "
                "disk space, then run it again"
            ) from error


class _Foreign:
    """One such index."""

    def __init__(self, into: Path, options: IndexOptions, tell: BuildProgress) -> None:
        self._options = options
        self._tell = tell
        self._index = place_of(into).folder
        self._manifest = self._opened()
        self._sink: PageSink = open_sink(into, self._index, self._manifest, options)
        self._analyser = Analyser()
        self._left_out: Counter[str] = Counter()
        self._taken = _Taken(shard_folders(self._index, self._manifest, "high"))
        self._written = self._bad = 0

    def build(self, files: Sequence[str], complain: Callable[[str], None]) -> IndexFacts:
        """Take in all files, one after the other."""
        pages = ForeignPages()
        for name in files:
            bad = 0
            for found in pages.of(name):
                if isinstance(found, IndexPage):
                    self._add(found)
                elif isinstance(found, SkippedPages):
                    self._left_out[found.reason] += 1
                else:
                    bad += 1
                    if bad <= TOLD_BAD:
                        complain(_complaint(name, found))
            if bad > TOLD_BAD:
                complain(f"{name}: {bad - TOLD_BAD} more could not be read")
            self._bad += bad
        self._commit()
        self._sink.close()
        taken = self._taken
        facts = facts_of("news", self._manifest, added=taken.added, bad=self._bad)
        return replace(
            facts,
            did="news" if taken.added else "nothing",
            unchanged=taken.unchanged,
            left_out=dict(self._left_out),
        )

    def _add(self, page: IndexPage) -> None:
        prepared = self._analyser.prepare(page)
        self._taken.note(prepared)
        self._sink.add(prepared)
        self._written += 1
        if self._written % TOLD_PAGES == 0:
            self._tell(BuildStep(doing="writing", count=self._written, unit="page"))
        if self._written % COMMIT_PAGES == 0:
            self._commit()

    def _commit(self) -> None:
        self._taken.compare()
        self._sink.commit()
        self._manifest = replace(
            self._manifest,
            pages=self._sink.pages(),
            languages=self._sink.languages(),
            generation=self._manifest.generation + 1,
        )
        self._manifest = write_manifest(self._index, self._manifest)
        self._taken.renew()

    def _opened(self) -> Manifest:
        """Return what the index that exists is; a new one's manifest if there is none."""
        found = read_manifest(self._index)
        shape = Partitioning.wanted(self._options, found)
        if shape.high_share or shape.organisation != "documents":
            raise ConfigError(
                "an index of files has no tiers (there are no ranks) and must be split by documents"
            )
        if found is None:
            return self._new(shape)
        if found.version != VERSION or not shape.is_that_of(found):
            raise ConfigError(
                f"{self._index} was built by another version or with other options; delete it and "
                "index all files again"
            )
        return found

    def _new(self, shape: Partitioning) -> Manifest:
        """Make an index of nothing. What was there has no manifest: it was never finished."""
        place_of(self._index.parent).settle()
        self._index.mkdir(exist_ok=True)
        return Manifest(
            version=VERSION, partition=shape.partition, shards=shape.shards, generation=1, born=1
        )


class _Taken:
    """Counts pages that are taken in: which of them were there just so at the last commit?

    All are written, also those. Of a URL that comes twice, the last page is compared.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._shards = [LocalShard(folder) for folder in folders if (folder / META).exists()]
        self._folders = folders
        self._waiting: dict[int, Prepared] = {}
        self._is_same: dict[int, bool] = {}
        self.added = self.unchanged = 0

    def note(self, page: Prepared) -> None:
        """Take a page into account."""
        self._waiting[page.key] = page
        if len(self._waiting) >= COMPARED_PAGES:
            self.compare()

    def compare(self) -> None:
        """Look up the pages that were noted. To be called before they are committed."""
        pages = list(self._waiting.values())
        same = {key for shard in self._shards for key in shard.unchanged(pages)}
        self._is_same.update((page.key, page.key in same) for page in pages)
        self._waiting.clear()

    def renew(self) -> None:
        """Count what was compared, and take up what was committed."""
        unchanged = sum(self._is_same.values())
        self.unchanged += unchanged
        self.added += len(self._is_same) - unchanged
        self._is_same.clear()
        self._shards = [LocalShard(folder) for folder in self._folders]


def _expect_readable(name: str) -> None:
    """Refuse what is no file. A pipe is one: programs may write what is indexed."""
    path = Path(name)
    if name == "-" or (path.exists() and not path.is_dir() and os.access(path, os.R_OK)):
        return
    if path.is_dir():
        raise ConfigError(f"{name} is a folder; expected files")
    raise ConfigError(f"{name}: {'permission denied' if path.exists() else 'no such file'}")


def _complaint(name: str, bad: Bad) -> str:
    where = "standard input" if name == "-" else name
    return f"{where}: at byte {bad.at}: {bad.reason}"
