"""The textbook's envelope: a billion pages a month of 500 kB each, in cores: `make bench-envelope`.

That is about 400 pages a second. Pages of that size, joined from text and markup of the built-in
web, are served by another process and crawled by the command line with everything on. CPU is user +
system of all processes of the crawl, per page, start-up apart: the difference of a long and a short
crawl, in pairs. Every stored page is compared with what was served, byte by byte.
"""

import asyncio
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import urlsplit

import turbohtml
from realweb import save

from gossamer.store import CrawlFolder, StoredPage, iter_pages
from gossamer.testing import CannedResponse, FakeServer, FakeWeb, Request, not_found

PAGE_BYTES = 500_000
SHORT, LONG = 40, 340
PAIRS = 3
PAGES_PER_S = 400
GOSSAMER = str(Path(sys.executable).parent / "gossamer")
FLAGS = ["--scope", "any", "--allow", "*.test", "--allow-net", "127.0.0.0/8", "--delay", "0"]


@dataclass(frozen=True)
class LargeWeb:
    """The built-in web's numbered pages, each with its neighbours' contents after its own."""

    web: FakeWeb
    is_pure: ClassVar[bool] = True

    @property
    def addresses(self) -> dict[str, str]:
        """The loopback address of every host."""
        return self.web.addresses

    @property
    def listen_on(self) -> set[str]:
        """The addresses of all hosts."""
        return self.web.listen_on

    def pages(self) -> list[str]:
        """Return nothing: they are made when they are asked for."""
        return []

    def served_at(self, scheme: str, port: int) -> Self:
        """Return this web as it is served on a port."""
        return replace(self, web=self.web.served_at(scheme, port))

    def respond(self, request: Request) -> CannedResponse:
        """Return a page of the size wanted; there is nothing but pages."""
        atlas = self.web.catalog
        index = atlas.plan.index(request.host)
        number = atlas.renderer(index).number(request.target) if index is not None else None
        if index is None or number is None:
            return not_found()
        answer = self.web.respond(request)
        head, _, contents = answer.body.partition(b"<body>")
        parts = [head, b"<body><p>", f"{request.host}{request.target}</p>".encode(), contents]
        size = sum(map(len, parts))
        while size < PAGE_BYTES:
            number = (number + 1) % atlas.site(index).pages
            parts.append(_contents(self.web, index, number))
            size += len(parts[-1])
        return replace(answer, body=b"".join(parts)[:PAGE_BYTES])


@lru_cache(maxsize=4096)
def _contents(web: FakeWeb, index: int, number: int) -> bytes:
    url = urlsplit(web.catalog.page_url(index, number))
    target = url.path + (f"?{url.query}" if url.query else "")
    return web.response(url.hostname or "", target).body.partition(b"<body>")[2]


WEB = LargeWeb(FakeWeb(seed=7, hosts=16, pages_per_host=60))


async def serve() -> None:
    """Serve until standard input ends; the first line of output is the port."""
    async with FakeServer(WEB) as server:
        print(server.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


def crawl(folder: Path, web: LargeWeb, pages: int) -> float:
    """Crawl so many pages and return the CPU seconds."""
    command = [GOSSAMER, "crawl", web.web.seeds[0], "--into", str(folder), *FLAGS, "--no-sitemaps"]
    for host, address in web.addresses.items():
        command += ["--resolve", f"{host}:{address}"]
    command += ["--max-pages", str(pages), "--shards", "1", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = json.loads(done.stdout.splitlines()[-1])
    assert status["pages"] == status["html_pages"] == pages, status
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def stored(folder: Path) -> list[StoredPage]:
    """Return the pages that a crawl stored with status 200."""
    crawled = CrawlFolder(folder)
    names = [name.file_name for name in crawled.archive_names(kind="pages")]
    pages = (page for name in names for page in iter_pages(crawled.archive_path(name)))
    return [page for page in pages if page.status == 200]


def check(pages: list[StoredPage], web: LargeWeb) -> dict[str, float]:
    """Compare every page with the web's own; return what the pages are like."""
    assert len({page.url for page in pages}) == LONG, len(pages)
    links = sent = parse_s = 0.0
    for page in pages:
        url = urlsplit(page.url)
        target = url.path + (f"?{url.query}" if url.query else "")
        body = page.decoded()
        assert body == web.respond(Request("GET", target, url.hostname or "", b"")).body, page.url
        began = time.process_time()
        turbohtml.parse(body, positions=False)
        parse_s += time.process_time() - began
        links += body.count(b"<a ")
        sent += len(page.payload)
    count = len(pages)
    return {
        "kb_sent_per_page": round(sent / count / 1000, 1),
        "links_per_page": round(links / count),
        "parse_us_per_kb": round(1e6 * parse_s / count / (PAGE_BYTES / 1000), 2),
    }


def measure(base: Path, web: LargeWeb) -> dict[str, object]:
    """Crawl short and long in pairs; return the figures."""
    costs, starts = [], []
    for n in range(PAIRS):
        short_s = crawl(base / f"short{n}", web, SHORT)
        long_s = crawl(base / f"long{n}", web, LONG)
        costs.append((long_s - short_s) / (LONG - SHORT))
        starts.append(short_s - SHORT * costs[-1])
        print(f"{1000 * costs[-1]:8.2f} ms of CPU per page, {starts[-1]:.2f} s to start")
    page_s = statistics.median(costs)
    return {
        "cores_for_400_pages_s": round(page_s * PAGES_PER_S, 2),
        "cpu_ms_per_page": round(1000 * page_s, 2),
        "cpu_ms_per_page_runs": [round(1000 * cost, 2) for cost in costs],
        "us_per_kb": round(1e6 * page_s / (PAGE_BYTES / 1000), 2),
        "startup_cpu_s": round(statistics.median(starts), 2),
        "kb_per_page": PAGE_BYTES / 1000,
        "pages": PAIRS * (SHORT + LONG),
        **check(stored(base / "long0"), web),
    }


def main() -> None:
    """Measure, print a table, keep the result."""
    server = subprocess.Popen(
        [sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    web = WEB.served_at("http", int(server.stdout.readline()))
    base = Path(tempfile.mkdtemp(prefix="gossamer-envelope-"))
    try:
        result = measure(base, web)
    finally:
        shutil.rmtree(base, ignore_errors=True)
        server.stdin.close()
        server.wait()
    for name, value in result.items():
        print(f"{name:24} {value}")
    save("envelope", result)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        main()
