"""Read the pages of a crawl again: as sent, and as their authors wrote them.

The files are WARC 1.1, so warcio, FastWARC and pywb read them too.

python examples/read_archive.py
"""

from small_web import small_web

import gossamer


def main() -> None:
    """Crawl a little, then list what was stored."""
    with small_web(max_pages=10) as (seed, config, folder):
        gossamer.run(seed, folder, config=config)
        for page in gossamer.open(folder).pages():
            sent, written = len(page.raw()), len(page.body())
            print(f"{page.status} {sent:>7} bytes sent, {written:>7} decoded  {page.url}")


if __name__ == "__main__":
    main()
