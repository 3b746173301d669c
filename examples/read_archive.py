"""Read the pages of a crawl again: as sent, and as their authors wrote them.

The files are WARC 1.1, so warcio, FastWARC and pywb read them too.

python examples/read_archive.py
"""

from small_web import small_web

from gossamer import Crawl
from gossamer.store import CrawlFolder, iter_pages


def main() -> None:
    """Crawl a little, then list what was stored."""
    with small_web(max_pages=10) as (seed, config, folder):
        Crawl(folder, [seed], config).run()
        place = CrawlFolder(folder)
        for name in place.archive_names(kind="pages"):
            for page in iter_pages(place.archive / name.file_name):
                sent, written = len(page.payload), len(page.decoded())
                print(f"{page.status} {sent:>7} bytes sent, {written:>7} decoded  {page.url}")


if __name__ == "__main__":
    main()
