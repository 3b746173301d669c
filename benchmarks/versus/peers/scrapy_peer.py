"""Scrapy with its own link extractor, breadth first; it keeps nothing but its count.

Its page limit, concurrency and robots switch are Scrapy's own. Runs in the environment that
`versus.py` makes.
"""

import argparse
import json
import re
from collections.abc import Iterator

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class PeerSpider(scrapy.Spider):
    """Follows every link of every page inside some domain."""

    name = "peer"
    pages = 0

    def __init__(self, asked: argparse.Namespace) -> None:
        super().__init__()
        self.asked = asked
        self.start_urls = [asked.seed]
        self.allowed_domains = [asked.within]
        wanted = rf"^http://([^/]*\.)?{re.escape(asked.within)}(:\d+)?/"
        self.extractor = LinkExtractor(allow=wanted, deny_extensions=[])

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        """Count a page and follow its links."""
        if not isinstance(response, HtmlResponse):
            return
        if PeerSpider.pages >= self.asked.pages:
            raise CloseSpider("enough")
        PeerSpider.pages += 1
        for link in self.extractor.extract_links(response):
            yield scrapy.Request(link.url)


def main() -> None:
    """Read the flags, crawl, say how many pages."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--seed", required=True)
    flags.add_argument("--within", required=True, help="a domain")
    flags.add_argument("--agent", required=True)
    flags.add_argument("--pages", type=int, required=True)
    flags.add_argument("--concurrency", type=int, required=True)
    asked = flags.parse_args()
    process = CrawlerProcess(
        {
            "USER_AGENT": asked.agent,
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": asked.concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": 0,
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "COOKIES_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        }
    )
    process.crawl(PeerSpider, asked=asked)
    process.start()
    print(json.dumps({"pages": PeerSpider.pages}))


if __name__ == "__main__":
    main()
