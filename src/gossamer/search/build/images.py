"""Shards of images: written after the pages in a full build, kept up to date with them later."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from gossamer.search.analysis import Analyser
from gossamer.search.analysis.address import host_of, sites_of
from gossamer.search.build.sink import LEAST_HEAP_BYTES, URL_MASK
from gossamer.search.manifest import Manifest, image_folders
from gossamer.search.messages import Stored
from gossamer.search.page import HASH, ON_PAGE, ImageFacts, IndexPage, Prepared
from gossamer.search.shard import LocalShard, ShardWriter
from gossamer.search.sources import GatheredImage, ImageSpool, StoredImage, images_of
from gossamer.search.sources.archive import PageFacts
from gossamer.search.sources.images import merged
from gossamer.urls import fingerprint_of

GUESSED = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "svg": "image/svg+xml",
    "bmp": "image/bmp",
    "ico": "image/x-icon",
}
"""Types of images that were not fetched, by the ends of their names."""
MOST_FORBIDDEN = 100_000
_LOOKED_UP = 500
"""Images or pages that are looked up at a time."""


def prepared_image(image: GatheredImage, analyser: Analyser) -> Prepared:
    """Return what is written of an image: what is said of it is its text, as that of a page."""
    facts = image.facts
    stored = image.stored
    also = [*facts.other_alts, stored.text if stored else ""]
    page = IndexPage(
        url=image.url,
        title=facts.alt,
        headings=(facts.caption,) if facts.caption else (),
        text="\n".join(filter(None, [facts.caption, *also])),
        language=image.language,
        media_type=stored.media_type if stored else _guessed(image.url),
        at=stored.at if stored else image.at,
        anchors=(facts.page_title,) if facts.page_title else (),
        labels=image.label,
    )
    found = analyser.prepare(page)
    marks = [f"{ON_PAGE}{fingerprint_of(facts.page):016x}"] if facts.page else []
    marks += [f"{HASH}{facts.hash:016x}"] if facts.hash else []
    sites = sites_of(host_of(facts.page)) if facts.page else ()
    return replace(
        found,
        sketch=facts.hash,
        sites=tuple(dict.fromkeys((*found.sites, *sites))),
        types=tuple(dict.fromkeys((*found.types, "image"))),
        marks=tuple(marks),
        image=facts,
    )


class ImageShards:
    """The shards of images, open for writing. They are split by URL, however pages are."""

    def __init__(self, index: Path, manifest: Manifest, *, is_new: bool) -> None:
        self._folders = image_folders(index, manifest)
        self._writers = [
            ShardWriter(folder, heap_bytes=LEAST_HEAP_BYTES, is_new=is_new)
            for folder in self._folders
        ]

    def add(self, image: Prepared) -> None:
        """Put an image in, in place of an older one with its URL."""
        self._writers[self._number(image.key)].add(image)

    def delete(self, url: str) -> None:
        """Take an image out, if it is in."""
        self._writers[self._number(fingerprint_of(url))].delete(url)

    def commit(self) -> int:
        """Make everything so far count; return how many images there are."""
        for writer in self._writers:
            writer.commit()
        return sum(writer.pages() for writer in self._writers)

    def close(self) -> None:
        """Commit, and wait until the files are in order."""
        for writer in self._writers:
            writer.close()

    def _number(self, key: int) -> int:
        return (key & URL_MASK) % len(self._writers)


def write_images(spool: ImageSpool, index: Path, manifest: Manifest, analyser: Analyser) -> int:
    """Write the images of a new index; return how many there are."""
    shards: ImageShards | None = None
    count = 0
    try:
        for image in spool.images():
            shards = shards or ImageShards(index, manifest, is_new=True)
            shards.add(prepared_image(image, analyser))
            count += 1
    finally:
        if shards is not None:
            shards.close()
    return count


class ImageUpdater:
    """Takes in the images of pages that are new, or gone, round by round.

    What is known of an image and what a page says of it now are put together so that a round that
    is repeated after a kill changes nothing. An image whose page is gone is gone, too, unless it is
    stored: that others show it as well is found out by the next full build.
    """

    def __init__(self, index: Path, manifest: Manifest, analyser: Analyser) -> None:
        self._index = index
        self._manifest = manifest
        self._analyser = analyser
        self._shards: ImageShards | None = None
        self._pages: set[int] = set()
        """Keys of the pages of this round: whatever was known of images from them is not."""
        self._found: dict[str, GatheredImage] = {}
        self._gone: set[str] = set()
        """URLs of stored images that are gone."""
        self._forbidden: set[str] = set()
        """URLs of those that ask to be left out: they are, whoever shows them."""

    def page(self, facts: PageFacts) -> None:
        """Take the images that a page shows now."""
        self.gone(facts.url)  # as an image, if it was one before
        for image in images_of(facts):
            self._add(image)

    def stored(self, image: GatheredImage) -> None:
        """Take an image that was stored."""
        self._gone.discard(image.url)
        self._forbidden.discard(image.url)
        self._add(image)

    def gone(self, url: str, *, is_forbidden: bool = False) -> None:
        """Take the news that a page, or a stored image, is gone, or asks to be left out."""
        self._pages.add(fingerprint_of(url))
        self._gone.add(url)
        self._found.pop(url, None)
        if is_forbidden and len(self._forbidden) < MOST_FORBIDDEN:
            self._forbidden.add(url)

    def commit(self) -> int:
        """Write what this round has changed; return how many images there are."""
        known = self._known()
        changed = {url: known[url] for url in known if url not in self._found}
        changed |= {
            url: merged(known[url], image, is_sum=False) if url in known else image
            for url, image in self._found.items()
        }
        self._pages, self._found, self._gone = set(), {}, set()
        if not changed:
            return self._manifest.images
        if self._shards is None:
            self._shards = ImageShards(self._index, self._manifest, is_new=False)
        for url, image in changed.items():
            is_shown = image.page and url not in self._forbidden
            if is_shown or image.stored is not None:
                self._shards.add(prepared_image(image, self._analyser))
            else:
                self._shards.delete(url)
        self._manifest = replace(self._manifest, images=self._shards.commit())
        return self._manifest.images

    def close(self) -> None:
        """Let go of the shards."""
        if self._shards is not None:
            self._shards.close()

    def _add(self, image: GatheredImage) -> None:
        before = self._found.get(image.url)
        self._found[image.url] = merged(before, image, is_sum=True) if before else image

    def _known(self) -> dict[str, GatheredImage]:
        """Return the images of the index that this round concerns, without what is not so now."""
        if not self._manifest.images:
            return {}
        keys = [fingerprint_of(url) for url in (*self._found, *self._gone)]
        found: dict[str, Stored] = {}
        for folder in image_folders(self._index, self._manifest):
            shard = LocalShard(folder)
            for some in _parts(keys):
                found |= {one.url: one for one in shard.stored(some)}
            for pages in _parts(sorted(self._pages)):
                marks = [f"{ON_PAGE}{key:016x}" for key in pages]
                found |= {one.url: one for one in shard.marked(marks)}
        images: dict[str, GatheredImage] = {}
        for url, one in found.items():
            image = _gathered(one)
            if fingerprint_of(image.page) in self._pages or not image.page:
                image = GatheredImage(url, stored=image.stored)
            if url in self._gone:
                image = replace(image, stored=None)
            images[url] = image
        return images


def _parts(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    return (keys[start : start + _LOOKED_UP] for start in range(0, len(keys), _LOOKED_UP))


def _gathered(one: Stored) -> GatheredImage:
    """Return an image of the index as if it were met again."""
    facts = one.image or ImageFacts()
    stored = None
    if facts.is_stored:
        known = {facts.caption, *facts.other_alts}
        text = " ".join(line for line in one.text.splitlines() if line not in known)
        stored = StoredImage(
            one.media_type, one.at, facts.width, facts.height, facts.bytes, facts.hash, text
        )
    alts = {alt: max(facts.pages - place, 1) for place, alt in enumerate(_alts(facts))}
    return GatheredImage(
        one.url,
        alts,
        facts.caption,
        facts.page,
        facts.page_title,
        one.language,
        facts.labels,
        one.at,
        facts.pages,
        stored,
    )


def _alts(facts: ImageFacts) -> list[str]:
    return [alt for alt in (facts.alt, *facts.other_alts) if alt]


def _guessed(url: str) -> str:
    """Return the type of an image by the end of its name; "" if that says nothing."""
    name = url.partition("?")[0].rpartition("/")[2]
    return GUESSED.get(name.rpartition(".")[2].lower(), "")
