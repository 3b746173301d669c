"""A folder with an index and nothing else."""

from pathlib import Path

from gossamer.search import index_folder
from gossamer.search.analysis import Analyser
from gossamer.search.manifest import Manifest, read_manifest, shard_folders, write_manifest
from gossamer.search.page import IndexPage
from gossamer.search.shard import VERSION, ShardWriter

HARM = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)> \u202egnp\x00\x1b[31m"


def indexed(root: Path, *pages: IndexPage) -> Path:
    """Add pages to the index of a folder that has nothing else; return the folder."""
    index = index_folder(root)
    before = read_manifest(index) or Manifest(version=VERSION)
    analyser = Analyser()
    writer = ShardWriter(shard_folders(index, before, "high")[0])
    for page in pages:
        writer.add(analyser.prepare(page))
    writer.close()
    number, total = before.generation + 1, before.pages + len(pages)
    write_manifest(index, Manifest(version=VERSION, pages=total, generation=number))
    return root


def spider(number: int) -> IndexPage:
    """Return a page like few others."""
    words = " ".join(f"word{number}x{n}" for n in range(30))
    text = f"A spider of the cellar, number {number}, which nobody has seen. {words}"
    return IndexPage(
        url=f"http://h{number % 7}.test/{number}",
        title=f"Spider {number}",
        text=text,
        language="en",
        media_type="text/html",
        at=1.8e9,
    )
