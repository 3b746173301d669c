"""A crawler as one writes it in an afternoon: asyncio, aiohttp, selectolax, everything in memory.

It obeys robots.txt, asks each host for one page at a time and keeps a set of known URLs. With
`--records` each page goes, compressed, to the end of one file; otherwise nothing is kept. It ends
with its own count as JSON. Runs in the environment that `versus.py` makes.
"""

import argparse
import asyncio
import gzip
import json
import os
from collections import deque
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urljoin, urlsplit

import aiohttp
import uvloop
from protego import Protego
from selectolax.lexbor import LexborHTMLParser


class Crawler:
    """Hosts with something to ask for wait in line; each worker serves the first of them."""

    def __init__(
        self, asked: argparse.Namespace, session: aiohttp.ClientSession, records: BinaryIO
    ) -> None:
        self.asked = asked
        self.session = session
        self.pages = 0
        self.done = asyncio.Event()
        self.known: set[str] = set()
        self.queues: dict[str, deque[str]] = {}
        self.robots: dict[str, Protego | None] = {}
        self.ready: asyncio.Queue[str] = asyncio.Queue()
        self.in_hand = 0
        self.records = records

    def add(self, url: str) -> None:
        """Queue a URL, without fragment, that is new and wanted."""
        if url in self.known:
            return
        parts = urlsplit(url)
        if parts.scheme != "http" or not (parts.hostname or "").endswith(self.asked.within):
            return
        self.known.add(url)
        queue = self.queues.get(parts.netloc)
        if queue is None:
            queue = self.queues[parts.netloc] = deque()
            self.ready.put_nowait(parts.netloc)
        queue.append(url)

    async def work(self) -> None:
        """Serve hosts until the crawl is done."""
        while True:
            netloc = await self.ready.get()
            self.in_hand += 1
            url = self.queues[netloc].popleft()
            if await self.may_ask(netloc, url):
                await self.visit(url)
            self.in_hand -= 1
            if self.queues[netloc]:
                self.ready.put_nowait(netloc)
            else:
                del self.queues[netloc]
            if self.pages >= self.asked.pages or not (self.in_hand or self.queues):
                self.done.set()

    async def may_ask(self, netloc: str, url: str) -> bool:
        """Tell whether robots.txt allows a URL; a server error forbids the host."""
        if netloc not in self.robots:
            async with self.session.get(f"http://{netloc}/robots.txt") as answer:
                text = await answer.text(errors="replace") if answer.status == 200 else ""
                self.robots[netloc] = Protego.parse(text) if answer.status < 500 else None
        rules = self.robots[netloc]
        return rules is not None and rules.can_fetch(url, self.asked.agent)

    async def visit(self, url: str) -> None:
        """Fetch one page and queue what it links to."""
        try:
            async with self.session.get(url, allow_redirects=False) as answer:
                if answer.status in (301, 302, 307, 308):
                    self.add(urljoin(url, answer.headers["Location"]).partition("#")[0])
                    return
                if answer.status != 200 or answer.content_type != "text/html":
                    return
                body = await answer.read()
        except (aiohttp.ClientError, TimeoutError):
            return
        self.pages += 1
        if self.asked.records:
            self.records.write(gzip.compress(url.encode() + b"\n" + body, 6))
        self.follow(url, body)

    def follow(self, url: str, body: bytes) -> None:
        """Queue the links of a page."""
        tree = LexborHTMLParser(body)
        place = tree.css_first("base[href]")
        base = urljoin(url, (place.attributes["href"] if place else "") or "")
        nodes = tree.css("a[href], area[href]")
        hrefs = {(node.attributes["href"] or "").partition("#")[0].strip() for node in nodes}
        for href in hrefs - {""}:
            try:
                self.add(urljoin(base, href))
            except ValueError:
                continue


async def crawl(asked: argparse.Namespace, records: BinaryIO) -> int:
    """Crawl until the limit or the end; return the count of pages."""
    connector = aiohttp.TCPConnector(limit=asked.concurrency, limit_per_host=1)
    headers = {"User-Agent": asked.agent}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        crawler = Crawler(asked, session, records)
        crawler.add(asked.seed)
        workers = [asyncio.create_task(crawler.work()) for _ in range(asked.concurrency)]
        await crawler.done.wait()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return crawler.pages


def main() -> None:
    """Read the flags, crawl, say how many pages."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--seed", required=True)
    flags.add_argument("--within", required=True, help="host names end so")
    flags.add_argument("--agent", required=True)
    flags.add_argument("--pages", type=int, required=True)
    flags.add_argument("--concurrency", type=int, required=True)
    flags.add_argument("--records", default="")
    asked = flags.parse_args()
    with Path(asked.records or os.devnull).open("ab") as records:
        print(json.dumps({"pages": uvloop.run(crawl(asked, records))}))


if __name__ == "__main__":
    main()
