"""Crawl one site from Python, watch it, and ask why a page is missing.

python examples/crawl_one_site.py
"""

from small_web import small_web

import gossamer


def main() -> None:
    """Crawl, then ask."""
    with small_web() as (seed, config, folder):
        crawl = gossamer.Crawl(folder, [seed], config)
        ending = crawl.run(lambda so_far: print(so_far.pages, "pages so far"))
        print(f"ended as {ending.reason}, exit code {ending.exit_code}")

        status = gossamer.status(folder)
        print(f"{status.pages} pages, {status.queued} queued, refused: {status.refused}")

        print(gossamer.why(folder, seed).explanation)
        print(gossamer.why(folder, "http://elsewhere.example/").explanation)


if __name__ == "__main__":
    main()
