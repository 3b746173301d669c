"""Who linked a URL first: of one that filters refused, the archive alone knows."""

import msgspec

from gossamer.model import LinkKind
from gossamer.report.explanation import Linker
from gossamer.store import CrawlFolder, links_in, readable_records


def find_linker(folder: CrawlFolder, text: str) -> Linker | None:
    """Return the first record of the links archive that links a URL."""
    needle = msgspec.json.encode(text)
    for name in folder.archive_names(kind="links"):
        for record in readable_records(folder.archive_path(name.file_name)):
            # A look at the bytes is enough for nearly all records.
            if needle not in record.block or record.headers.get("warc-type") != "metadata":
                continue
            if (links := links_in(record)) is None:
                continue
            for target, kind, _, rel in links.links:
                if target == text:
                    return Linker(url=links.url, depth=links.depth, kind=LinkKind(kind), rel=rel)
    return None
