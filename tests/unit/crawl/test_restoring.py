"""What is restored is what was uploaded, byte for byte, or an error."""

from hashlib import blake2b
from pathlib import Path

import pytest

from gossamer.crawl.restoring import restore_manifests
from gossamer.errors import CannotGoOn
from gossamer.store import (
    CrawlFolder,
    CrawlStore,
    Objects,
    ShardManifest,
    ShippedFile,
    shipped_digest,
)

CONTENT = b"rows" * 1000
DIGESTS = (
    shipped_digest((CONTENT[:7], CONTENT[7:])),
    blake2b(CONTENT, digest_size=16).hexdigest(),  # of older manifests
)


@pytest.mark.parametrize("digest", DIGESTS)
@pytest.mark.parametrize("place", ["000009.sst", ""])
def test_bytes_of_every_version_are_compared_with_their_digest(
    digest: str, place: str, tmp_path: Path
) -> None:
    store = CrawlStore(Objects(f"file://{tmp_path}/store", is_made=True))

    def restored(content: bytes, name: str) -> bytes:
        store.objects.put("000009.sst", content)
        file = ShippedFile(place, len(content), digest, b"" if place else content)
        manifest = ShardManifest(
            crawl="c",
            shard=0,
            epoch=1,
            lineage="l",
            nonce="n",
            at=1.0,
            sequence=1,
            files={"000009.sst": file},
        )
        folder = CrawlFolder(tmp_path / name)
        folder.root.mkdir()
        restore_manifests(store, [manifest], folder)
        return (folder.state(0) / "000009.sst").read_bytes()

    assert restored(CONTENT, "whole") == CONTENT
    with pytest.raises(CannotGoOn, match="other bytes"):
        restored(CONTENT[:-1] + b"t", "damaged")


def test_what_was_asked_of_a_crawl_is_there_before_any_state(tmp_path: Path) -> None:
    """A restore that is cut short begins again at the next start, which reads crawl.toml first."""
    store = CrawlStore(Objects(f"file://{tmp_path}/store", is_made=True))
    asked = b"seeds = []\n"
    manifest = ShardManifest(
        crawl="c",
        shard=0,
        epoch=1,
        lineage="l",
        nonce="n",
        at=1.0,
        sequence=1,
        files={"CURRENT": ShippedFile("gone", 7, DIGESTS[0])},
        root={"crawl.toml": ShippedFile("", len(asked), shipped_digest((asked,)), asked)},
    )
    folder = CrawlFolder(tmp_path / "cut")
    folder.root.mkdir()
    with pytest.raises(CannotGoOn):
        restore_manifests(store, [manifest], folder)
    assert (folder.root / "crawl.toml").read_bytes() == asked
