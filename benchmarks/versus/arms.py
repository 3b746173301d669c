"""Who takes part: how each crawler is asked for the same crawl, and what it keeps of it.

All obey robots.txt, wait between requests not at all and have 64 requests in flight. Where a tool
can be told to ask a host for one page at a time, it is told so; Gossamer always does.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from realweb import SEED

from versus.installed import GOSSAMER, go_peer, peer_python

CONCURRENCY = 64
PEERS = Path(__file__).parent / "peers"
NOT_A_LINK = (
    "applet,audio,bgsound,body,embed,fig,form,frame,iframe,img,input,layer,link,meta,object,"
    "overlay,script,source,table,td,th,track,video"
)


class Course(NamedTuple):
    """A crawl that every arm is asked for: a course that all run."""

    name: str
    about: str
    seed: str
    within: str
    """The domain that the crawl is held to."""
    pages: int
    """Where to stop, or, to the end, what the least thorough arm must reach."""
    is_to_the_end: bool


PAGES = int(os.environ.get("PAGES", "5000"))
BROAD = Course("broad", "from the hub over many hosts", SEED, "test", PAGES, is_to_the_end=False)
ONE_HOST = Course(
    "one_host",
    "one host to its end",
    "http://docs-sqlite.test:8100/",
    "docs-sqlite.test",
    540,  # 564 can be reached; 16 of them only by an Allow inside a Disallow
    is_to_the_end=True,
)
COURSES = (BROAD, ONE_HOST)


class Keeps(NamedTuple):
    """What is there after a crawl."""

    archive: str
    digests: bool
    text: bool
    survives_kill: bool


NOTHING = Keeps("nothing", digests=False, text=False, survives_kill=False)


class Arm(NamedTuple):
    """A crawler with the settings that it runs under."""

    name: str
    command: Callable[[Course, str], list[str]]
    """From the course and the user agent; it runs in an empty folder."""
    keeps: Keeps
    needs: str = ""
    """A program of the distribution."""
    counts_itself: bool = True
    """It ends at the page limit by itself and prints its count; otherwise it is stopped."""


def gossamer(shards: int) -> Arm:
    """Return Gossamer with everything on; sitemaps are off because no other arm reads them."""

    def command(course: Course, agent: str) -> list[str]:
        hosts = course.within if course.is_to_the_end else f"*.{course.within}"
        given = [GOSSAMER, "crawl", course.seed, "--into", "crawl", "--user-agent", agent]
        given += ["--scope", "any", "--allow", hosts, "--allow-private", "--json"]
        given += ["--delay", "0", "--no-sitemaps", "--concurrency", str(CONCURRENCY)]
        if not course.is_to_the_end:
            given += ["--max-pages", str(course.pages)]
        return [*given, "--shards", str(shards)]

    keeps = Keeps("WARC, links", digests=True, text=True, survives_kill=True)
    return Arm(f"Gossamer, {shards} shard{'s' * (shards > 1)}", command, keeps)


def python_peer(script: str, *more: str) -> Callable[[Course, str], list[str]]:
    """Return the command of a script in `peers/`."""

    def command(course: Course, agent: str) -> list[str]:
        pages = 10**9 if course.is_to_the_end else course.pages
        given = [
            peer_python(),
            str(PEERS / script),
            "--seed",
            course.seed,
            "--within",
            course.within,
        ]
        given += ["--agent", agent, "--pages", str(pages), "--concurrency", str(CONCURRENCY)]
        return [*given, *more]

    return command


def by_hand_in_go(course: Course, agent: str) -> list[str]:
    """Return the crawler in `peers/go`, on as many CPUs as there are."""
    pages = 10**9 if course.is_to_the_end else course.pages
    given = [go_peer(), "--seed", course.seed, "--within", course.within, "--agent", agent]
    return [*given, "--pages", str(pages), "--concurrency", str(CONCURRENCY)]


def spanning(course: Course) -> list[str]:
    """Return the flags of both Wgets for a crawl of many hosts."""
    return [] if course.is_to_the_end else ["--span-hosts", f"--domains={course.within}"]


def wget(course: Course, agent: str) -> list[str]:
    """Return GNU Wget: one connection, WARC with digests, files deleted once they are read."""
    given = ["wget", "--quiet", "--recursive", "--level=inf", "--follow-tags=a,area"]
    given += ["--execute", "robots=on", *spanning(course)]
    return [*given, "--warc-file=pages", "--delete-after", f"--user-agent={agent}", course.seed]


def wget2(course: Course, agent: str) -> list[str]:
    """Return GNU Wget2: threads, files in folders."""
    given = ["wget2", "--quiet", "--recursive", "--level=0", f"--ignore-tags={NOT_A_LINK}"]
    given += ["--robots=on", *spanning(course)]
    return [*given, f"--max-threads={CONCURRENCY}", f"--user-agent={agent}", course.seed]


SHARDS = int(os.environ.get("SHARDS", "2"))
RECORDS = Keeps("gzip pages", digests=False, text=False, survives_kill=False)
WARC = Keeps("WARC", digests=True, text=False, survives_kill=False)
FILES = Keeps("files", digests=False, text=False, survives_kill=False)
SCRIPT = Arm("asyncio script", python_peer("plain.py"), NOTHING)
ARMS = (
    gossamer(1),
    gossamer(SHARDS),
    Arm("wget2", wget2, FILES, needs="wget2", counts_itself=False),
    Arm("wget, WARC", wget, WARC, needs="wget", counts_itself=False),
    Arm("Go by hand", by_hand_in_go, NOTHING, needs="go"),
    SCRIPT,
    Arm("asyncio script, gzip", python_peer("plain.py", "--records", "pages.gz"), RECORDS),
    Arm("Crawlee", python_peer("crawlee_peer.py"), NOTHING),
    Arm("Scrapy", python_peer("scrapy_peer.py"), NOTHING),
)


def claimed_pages(output: str) -> int:
    """Return the count on the last line that an arm printed."""
    pages = json.loads(output.splitlines()[-1])["pages"]
    assert isinstance(pages, int)
    return pages
