"""Where every file of a crawl lies, and what it is called. Names come only from numbers."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

ArchiveKind: TypeAlias = Literal["pages", "text", "links"]

KINDS: tuple[ArchiveKind, ...] = ("pages", "text", "links")
"""The three files of a set, in the order in which a group is appended: links come last."""

_SUFFIX: dict[str, str] = {"pages": "warc.gz", "text": "warc.wet.gz", "links": "warc.gz"}
_NAME = re.compile(
    r"(pages|text|links)-([0-9]{2,9})-([0-9]{4,12})-([0-9]{5,12})\.(warc(?:\.wet)?\.gz)"
)
_KIND_BY_NAME: dict[str, ArchiveKind] = {"pages": "pages", "text": "text", "links": "links"}
LOST_FOUND = "lost+found"
UNSHIPPED = "unshipped-"
FAR = "far"
_ENDS = re.compile(r"ends-([0-9]{2,9})")


class ArchiveName(Struct, frozen=True, order=True):
    """One archive file: what it holds, whose it is, of which start of that shard, and its number.

    The pages, text and links of one page lie in files with the same epoch and number.
    """

    kind: ArchiveKind
    shard: int
    epoch: int
    number: int

    @classmethod
    def parse(cls, name: str) -> "ArchiveName | None":
        """Return the name's parts, or None if the file is none of ours."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        kind, shard, epoch, number, _suffix = match.groups()
        parsed = cls(_KIND_BY_NAME[kind], int(shard), int(epoch), int(number))
        return parsed if parsed.file_name == name else None

    @property
    def file_name(self) -> str:
        """Return the file's name inside the archive folder."""
        return f"{self._stem(self.kind)}.{_SUFFIX[self.kind]}"

    @property
    def cdxj_name(self) -> str:
        """Return the name of the index of this set's pages file."""
        return f"{self._stem('pages')}.cdxj"

    @property
    def age(self) -> tuple[int, int]:
        """Return (epoch, number): a larger one was opened later by the same shard."""
        return (self.epoch, self.number)

    def sibling(self, kind: ArchiveKind) -> "ArchiveName":
        """Return the file of another kind in the same set."""
        return ArchiveName(kind, self.shard, self.epoch, self.number)

    def _stem(self, kind: str) -> str:
        return f"{kind}-{self.shard:02d}-{self.epoch:04d}-{self.number:05d}"


class CrawlFolder(Struct, frozen=True):
    """The folder of one crawl."""

    root: Path

    @property
    def config_path(self) -> Path:
        """Return the file that holds every knob."""
        return self.root / "crawl.toml"

    @property
    def archive(self) -> Path:
        """Return the folder of the WARC files."""
        return self.root / "archive"

    @property
    def lost_found(self) -> Path:
        """Return the folder of archive files that were never committed: nobody reads it."""
        return self.archive / LOST_FOUND

    @property
    def far(self) -> Path:
        """Return the folder of archive files that are in the object store only."""
        return self.root / FAR

    @property
    def scores_path(self) -> Path:
        """Return the copy of the scores that the crawl was given."""
        return self.root / "scores"

    @property
    def lock_path(self) -> Path:
        """Return the file that the process which runs the crawl keeps locked."""
        return self.root / "lock"

    @property
    def paused_path(self) -> Path:
        """Return the file that pauses the crawl for as long as it is there."""
        return self.root / "paused"

    def unshipped_path(self, shard: int) -> Path:
        """Return the file that names the store to which a shard could not ship its end."""
        return self.root / f"{UNSHIPPED}{shard:02d}"

    @property
    def unshipped_paths(self) -> list[Path]:
        """Return the files of all shards that could not ship their end."""
        return sorted(self.root.glob(f"{UNSHIPPED}*"))

    @property
    def taken_over_path(self) -> Path:
        """Return the file that says who goes on with the crawl of this folder."""
        return self.root / "taken-over"

    @property
    def purge_path(self) -> Path:
        """Return the file that says what a purge that has begun is to do."""
        return self.root / "purge.json"

    @property
    def forget_path(self) -> Path:
        """Return the file that says what the object store is yet to forget."""
        return self.root / "purge.store.json"

    @property
    def history_path(self) -> Path:
        """Return the file with samples of the last day."""
        return self.root / "history"

    @property
    def control_path(self) -> Path:
        """Return the socket through which a running crawl is asked and steered."""
        return self.root / "control.sock"

    @property
    def charter_path(self) -> Path:
        """Return the file that says into how many shards the state is split."""
        return self.root / "state" / "shards.json"

    @property
    def addresses_path(self) -> Path:
        """Return the file with the clocks of IP addresses, which all shards share."""
        return self.root / "state" / "addresses"

    def mail_path(self, shard: int) -> Path:
        """Return the socket at which other shards deliver links to this one."""
        return self.state(shard) / "mail.sock"

    def datagram_path(self, shard: int) -> Path:
        """Return the socket at which other shards ask this one about contents."""
        return self.state(shard) / "contents.sock"

    def state(self, shard: int = 0) -> Path:
        """Return a shard's state folder."""
        return self.root / "state" / f"{shard:02d}"

    def archive_path(self, file_name: str) -> Path:
        """Return where an archive file is read; a name that is not ours is refused.

        One that is in the object store only has a place of its own: see `far`.
        """
        if ArchiveName.parse(file_name) is None:
            msg = f"not the name of an archive file: {file_name!r}"
            raise ValueError(msg)
        return (self.far if self.is_far(file_name) else self.archive) / file_name

    def is_far(self, file_name: str) -> bool:
        """Return True if an archive file is in the object store, and not in the archive folder."""
        return (self.far / file_name).exists() and not (self.archive / file_name).exists()

    def tail_path(self, name: ArchiveName, start: int) -> Path:
        """Return where the end of an archive file is kept that was cut off at a byte."""
        return self.lost_found / f"{name.file_name}.from-{start}"

    def ends_path(self, shard: int) -> Path:
        """Return the file that says how far a shard's archive files are durable."""
        return self.archive / f"ends-{shard:02d}"

    def ends_shards(self) -> list[int]:
        """Return the shards that have such a file, in order."""
        if not self.archive.is_dir():
            return []
        found = (_ENDS.fullmatch(path.name) for path in self.archive.iterdir())
        numbers = sorted(int(match[1]) for match in found if match is not None)
        return [shard for shard in numbers if self.ends_path(shard).exists()]

    def archive_names(
        self, *, kind: ArchiveKind | None = None, shard: int | None = None
    ) -> Iterator[ArchiveName]:
        """Yield the archive files that exist, oldest first within kind and shard.

        Those that are in the object store only are among them.
        """
        folders = [one for one in (self.archive, self.far) if one.is_dir()]
        names = {ArchiveName.parse(path.name) for one in folders for path in one.iterdir()}
        for name in sorted(name for name in names if name is not None):
            if kind in (None, name.kind) and shard in (None, name.shard):
                yield name

    def has_archive(self) -> bool:
        """Return True if any archive file exists, of any shard."""
        return any(True for _ in self.archive_names())
