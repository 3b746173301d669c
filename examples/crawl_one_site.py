"""Crawl one site from Python, watch it, and ask why a page is missing.

python examples/crawl_one_site.py
"""

from small_web import small_web

import gossamer


def main() -> None:
    """Crawl, then ask."""
    with small_web() as (seed, config, folder):
        ending = gossamer.run(
            seed,
            folder,
            config=config,
            on_progress=lambda status: print(status.pages, "pages so far"),
        )
        print(f"ended as {ending.reason}, exit code {ending.exit_code}")

        crawl = gossamer.open(folder)
        status = crawl.status()
        print(f"{status.pages} pages, {status.queued} queued, refused: {status.refused}")

        print(crawl.why(seed).explanation)
        print(crawl.why("http://elsewhere.example/").explanation)


if __name__ == "__main__":
    main()
