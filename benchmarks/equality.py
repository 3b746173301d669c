"""Does one pass over a page say what its tree says? `make bench-equality`, on all real pages.

Every page of the local real web is read from disk, by rows and by its tree; PAGES=1000 takes that
many, from all over it. What differs is counted by kind, with examples: targets and kinds of links
must not, and at most 3 % of the pages may be left to the tree.
"""

import json
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from realweb import DATA, save

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document, Extraction
from gossamer.process import Tools
from gossamer.process.helper import CarriedBody
from gossamer.process.html import read_rows, read_tree
from gossamer.process.onepass.loading import natives
from gossamer.urls import parse

PAGES = int(os.environ.get("PAGES") or 0)
WORKERS = int(os.environ.get("WORKERS") or os.cpu_count() or 1)
BATCH = 500
EXAMPLES = 5
RULES = UrlConfig()
TOOLS = Tools(urls=RULES, process=ProcessConfig(), robots_agent="gossamer")


class Compared(NamedTuple):
    """What came of some pages."""

    pages: int
    html_bytes: int
    links: int
    left: list[str]
    """URLs of those that only the tree can tell."""
    differing: list[tuple[str, str]]
    """What differs, and the URL of the page."""


def places() -> list[tuple[str, str]]:
    """Return URL and file of all pages, or of as many as are wanted."""
    hosts = json.loads((DATA / "hosts.json").read_text())
    found = [
        (f"http://{name}:{hosts['port']}/{page}", str(DATA / "www" / host["site"] / page))
        for name, host in sorted(hosts["hosts"].items())
        for page in host["pages"]
    ]
    return found[:: max(1, len(found) // PAGES)][:PAGES] if PAGES else found


def document_of(address: str, body: bytes) -> Document:
    """Return a page as a server sends it that names no charset, as this web's does."""
    url = parse(address, RULES)
    assert url is not None, address
    return Document(
        url=url,
        status=200,
        head=b"",
        headers=(),
        body=CarriedBody(body),
        request=b"",
        address="127.0.0.1",
        fetched_at=0.0,
        latency_s=0.0,
        media_type="text/html",
        charset="",
    )


def differences(rows: Extraction, tree: Extraction) -> list[str]:
    """Return the names of what two readings of a page say differently."""
    ours, theirs = list(rows.links), list(tree.links)
    sets = {
        "targets": ({one.target.text for one in links} for links in (ours, theirs)),
        "kinds": ({(one.target.text, one.kind) for one in links} for links in (ours, theirs)),
        "order": ([(one.target.text, one.kind) for one in links] for links in (ours, theirs)),
        "rel": (
            {(one.target.text, one.kind, one.rel) for one in links} for links in (ours, theirs)
        ),
        "anchors": ([(one.target.text, one.text) for one in links] for links in (ours, theirs)),
        "lines": ([one.line for one in links] for links in (ours, theirs)),
        "fragments": ([one.fragment for one in links] for links in (ours, theirs)),
    }
    found = [name for name, (one, other) in sets.items() if one != other]
    return found + [
        name
        for name in rows.__struct_fields__
        if name != "links" and getattr(rows, name) != getattr(tree, name)
    ]


def compared(batch: list[tuple[str, str]]) -> Compared:
    """Read some pages in both ways."""
    size, links, left, differing = 0, 0, [], []
    for address, file in batch:
        body = Path(file).read_bytes()
        size += len(body)
        document = document_of(address, body)
        rows = read_rows(document, body, TOOLS)
        if rows is None:
            left.append(address)
            continue
        links += len(rows.links)
        tree = read_tree(document, body, TOOLS)
        differing += [(name, address) for name in differences(rows, tree)]
    return Compared(len(batch), size, links, left, differing)


def main() -> None:
    """Compare, print what differs, keep the result."""
    natives()
    wanted = places()
    batches = [wanted[at : at + BATCH] for at in range(0, len(wanted), BATCH)]
    results = []
    with ProcessPoolExecutor(WORKERS) as pool:
        for result in pool.map(compared, batches):
            results.append(result)
            if len(results) % 20 == 0:
                print(f"{sum(one.pages for one in results):,} pages", flush=True)
    pages = sum(one.pages for one in results)
    left = [url for one in results for url in one.left]
    differing: dict[str, list[str]] = {"targets": [], "kinds": []}
    for name, url in (pair for one in results for pair in one.differing):
        differing.setdefault(name, []).append(url)
    for name, urls in (*differing.items(), ("left to the tree", left)):
        print(f"{name:20} {len(urls):6} pages", *urls[:EXAMPLES])
    hosts = Counter(url.split("/")[2] for url in left)
    save(
        "equality" if not PAGES else "equality-quick",
        {
            "pages": pages,
            "html_mb": round(sum(one.html_bytes for one in results) / 1e6),
            "links": sum(one.links for one in results),
            "left_share": round(len(left) / pages, 4),
            "left_hosts": dict(hosts.most_common(10)),
            "left_examples": left[:EXAMPLES],
            "differing_pages": {name: len(urls) for name, urls in differing.items()},
            "targets": len(differing["targets"]),
            "kinds": len(differing["kinds"]),
            "examples": {name: urls[:EXAMPLES] for name, urls in differing.items()},
        },
    )


if __name__ == "__main__":
    sys.exit(main())
