"""Crawl one site from Python, watch it, and ask why a page is missing.

python examples/crawl_one_site.py
"""

from small_web import small_web

from gossamer import Crawl
from gossamer.report import status, why


def main() -> None:
    """Crawl, then ask."""
    with small_web() as (seed, config, folder):
        crawl = Crawl(folder, [seed], config)
        ending = crawl.run(lambda facts: print(facts["pages"], "pages so far"))
        print(f"ended as {ending.reason}, exit code {ending.exit_code}")

        facts = status(folder)
        print(f"{facts['pages']} pages, {facts['queued']} queued, refused: {facts['refused']}")

        print(why(folder, seed)["explanation"])
        print(why(folder, "http://elsewhere.example/")["explanation"])


if __name__ == "__main__":
    main()
