"""Crawlee for Python with Parsel and its storage in memory; it keeps nothing but its count.

It cannot limit connections per host. Runs in the environment that `versus.py` makes.
"""

import argparse
import asyncio
import json
import re
from datetime import timedelta

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient


async def crawl(asked: argparse.Namespace) -> int:
    """Crawl until the limit or the end; return the count of pages."""
    crawler = ParselCrawler(
        http_client=ImpitHttpClient(browser=None, headers={"User-Agent": asked.agent}),
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=asked.concurrency,
            desired_concurrency=asked.concurrency,
            max_concurrency=asked.concurrency,
        ),
        respect_robots_txt_file=True,
        max_request_retries=0,
        request_handler_timeout=timedelta(seconds=60),
        configure_logging=False,
    )
    wanted = re.compile(rf"^http://([^/]*\.)?{re.escape(asked.within)}(:\d+)?/")
    pages = 0

    @crawler.router.default_handler
    async def read(context: ParselCrawlingContext) -> None:
        nonlocal pages
        if "text/html" not in context.http_response.headers.get("content-type", ""):
            return
        pages += 1
        if pages >= asked.pages:
            crawler.stop()
            return
        await context.enqueue_links(selector="a, area", strategy="all", include=[wanted])

    await crawler.run([asked.seed])
    return pages


def main() -> None:
    """Read the flags, crawl, say how many pages."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--seed", required=True)
    flags.add_argument("--within", required=True, help="a domain")
    flags.add_argument("--agent", required=True)
    flags.add_argument("--pages", type=int, required=True)
    flags.add_argument("--concurrency", type=int, required=True)
    print(json.dumps({"pages": asyncio.run(crawl(flags.parse_args()))}))


if __name__ == "__main__":
    main()
