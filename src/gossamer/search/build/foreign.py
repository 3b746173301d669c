"""An index of files that Gossamer did not crawl. Added to in place; run again, it adds nothing."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.search.analysis import Analyser
from gossamer.search.build.options import IndexFacts, IndexOptions, Shape, Tell, facts_of
from gossamer.search.build.place import open_sink, place_of
from gossamer.search.build.sink import PageSink
from gossamer.search.gather.foreign import Bad, ForeignPages, LeftOut
from gossamer.search.manifest import Manifest, read_manifest, write_manifest
from gossamer.search.page import IndexPage
from gossamer.search.shard import VERSION

COMMIT_PAGES = 50_000
TOLD_PAGES = 1000
TOLD_BAD = 20
"""Bad records of a file that are told one by one; the others are counted."""


def build_foreign(
    files: Sequence[str],
    into: Path,
    options: IndexOptions | None = None,
    tell: Tell | None = None,
    complain: Callable[[str], None] | None = None,
) -> IndexFacts:
    """Index files of others in a folder of their own; `complain` is told what cannot be read.

    A page replaces an older one with the same URL, also one of an earlier run.
    """
    if (into / "archive").exists():
        raise ConfigError(
            f"{into} holds a crawl: `gossamer build {into} index` makes its index; "
            "choose another folder for files of others"
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
                f"cannot write the index in {into}: {error.strerror or error}; make room and run "
                "the same again"
            ) from error


class _Foreign:
    """One such index."""

    def __init__(self, into: Path, options: IndexOptions, tell: Tell) -> None:
        self._options = options
        self._tell = tell
        self._index = place_of(into).folder
        self._manifest = self._opened()
        self._sink: PageSink = open_sink(into, self._index, self._manifest, options)
        self._analyser = Analyser()
        self._languages: Counter[str] = Counter(self._manifest.languages)
        self._left_out: Counter[str] = Counter()
        self._added = self._bad = 0

    def build(self, files: Sequence[str], complain: Callable[[str], None]) -> IndexFacts:
        """Take in all files, one after the other."""
        pages = ForeignPages()
        for name in files:
            bad = 0
            for found in pages.of(name):
                if isinstance(found, IndexPage):
                    self._add(found)
                elif isinstance(found, LeftOut):
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
        facts = facts_of("news", self._manifest, added=self._added, bad=self._bad)
        did = facts.did if self._added else "nothing"
        return replace(facts, did=did, left_out=dict(self._left_out))

    def _add(self, page: IndexPage) -> None:
        self._sink.add(self._analyser.prepare(page))
        self._languages[page.language] += 1
        self._added += 1
        if self._added % TOLD_PAGES == 0:
            self._tell({"written": self._added})
        if self._added % COMMIT_PAGES == 0:
            self._commit()

    def _commit(self) -> None:
        self._sink.commit()
        self._manifest = replace(
            self._manifest,
            pages=self._sink.pages(),
            languages=dict(self._languages.most_common()),
            generation=self._manifest.generation + 1,
        )
        write_manifest(self._index, self._manifest)

    def _opened(self) -> Manifest:
        """Return what the index that exists is; a new one's manifest if there is none."""
        found = read_manifest(self._index)
        shape = Shape.wanted(self._options, found)
        if shape.high_share or shape.organisation != "documents":
            raise ConfigError("files of others have no ranks, and are split by documents")
        if found is None:
            return self._new(shape)
        if found.version != VERSION or not shape.is_that_of(found):
            raise ConfigError(
                f"{self._index} is of another version, or split in another way; delete it and "
                "index all files again"
            )
        return found

    def _new(self, shape: Shape) -> Manifest:
        """Make an index of nothing. What was there has no manifest: it was never finished."""
        place_of(self._index.parent).settle()
        self._index.mkdir(exist_ok=True)
        return Manifest(
            version=VERSION, partition=shape.partition, shards=shape.shards, generation=1, born=1
        )


def _expect_readable(name: str) -> None:
    """Refuse what is no file. A pipe is one: programs may write what is indexed."""
    path = Path(name)
    if name == "-" or (path.exists() and not path.is_dir() and os.access(path, os.R_OK)):
        return
    if path.is_dir():
        raise ConfigError(f"{name} is a folder: name the files in it")
    raise ConfigError(f"{name}: {'it may not be read' if path.exists() else 'no such file'}")


def _complaint(name: str, bad: Bad) -> str:
    where = "standard input" if name == "-" else name
    return f"{where}: at byte {bad.at}: {bad.reason}"
