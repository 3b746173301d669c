"""The URLs of an archive, by the plainest reading there is: what an index of it must hold."""

from pathlib import Path

from gossamer.store import CrawlFolder, iter_links


def archive_urls(root: Path) -> set[str]:
    """Return the URLs of all pages of a crawl's archive that may be in an index.

    Of the records of a URL that say what became of it (fetched, redirected, gone) the newest
    counts. It is a page if it was fetched and does not ask to be left out of indexes.
    """
    newest: dict[str, float] = {}
    pages: set[str] = set()
    for _, record in iter_links(CrawlFolder(root)):
        if record.outcome not in ("fetched", "redirected", "gone"):
            continue
        if record.at < newest.get(record.url, record.at):
            continue
        newest[record.url] = record.at
        pages.discard(record.url)
        if record.outcome == "fetched" and not {"noindex", "none"} & {*record.robots}:
            pages.add(record.url)
    return pages
