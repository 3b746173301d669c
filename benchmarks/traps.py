"""Does a crawl endure traps, and is no honest page given up for one? `make bench-traps`.

Crawls of every honest family of the laboratory, as the seed and from a hub; of honest families and
traps together, on hosts of their own and as folders of one site (S5 and S20); of the older snares;
of archives of 10,000 numbered pages beside traps; and of a part of the real web. Half of the
families are held out: no rule was tuned on them, and the aims are for them. Judged by the server's
log: honest pages sent, the share of requests that went to traps up to the last honest page, and
how many went to a trap's registrable domain afterwards, as a share of what is allowed.

In the environment: HELD_OUT=1 runs the held-out half alone, HELD_OUT=0 the other one; FAMILIES
names families (shop,mail,word_maze), PARTS parts (alone, hub, mixes, sites, snares, archives,
index, realweb); PAGES is the size of an archive, SCALE that of the families, REAL_PAGES=0 leaves
the real web out; TIME is after how many seconds a crawl is cut off. SIMULATED=1 crawls families
without sockets, in a tenth of the time, and tells where the requests to traps came from: before a
suspicion (free), as the share of what is on probation while others wait, or when nothing else
waited (open). The result is kept if all families were crawled, and none was simulated.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from laboratory.families import (
    FOLDER_TRAPS,
    HELD_OUT,
    HONEST_FAMILIES,
    TRAP_FAMILIES,
    CrawlTally,
    FamilyWeb,
    domain_of,
    host_of,
    tally,
)
from laboratory.families.account import account_of
from laboratory.families.simulated import SimulatedCrawl
from laboratory.snares import SnareWeb, serve_snares
from realweb import FLAGS, SEED, bring_up, save
from summary import AIMS, figure_of, misses

import gossamer
from gossamer.config import TrapsConfig

PAGES = int(os.environ.get("PAGES", "10000"))
REAL_PAGES = int(os.environ.get("REAL_PAGES", "20000"))
SCALE = float(os.environ.get("SCALE", "1"))
IS_SIMULATED = bool(os.environ.get("SIMULATED"))
ALL_PARTS = ("alone", "hub", "mixes", "sites", "snares", "archives", "index", "realweb")
PARTS = [part for part in os.environ.get("PARTS", "").split(",") if part] or ALL_PARTS
FAMILIES = [name for name in os.environ.get("FAMILIES", "").split(",") if name]
HALVES = {"": ("held_out", "tuned"), "1": ("held_out",), "0": ("tuned",)}[
    os.environ.get("HELD_OUT", "")
]

MIX_SCALE = 0.3
SMALL_SCALE = 0.05
PER_ADDRESS = 10
"""An address may take as many times the allowance of a domain."""
ROOM = 1.2
"""The allowance of a mix, over the pages of its largest honest domain."""
MADE_UP_HOSTS = ("many_domains", "wildcard", "crossed_hosts", "endless_sitemaps")
SITES = ("wiki", "registry", "podcast", "law", "patents", "council", "newspapers", "theses")
SITE_PAGES = 1000
SITE_TRAPS = 4
SITE_URLS = 5_000
"""Five times the honest pages: what traps link counts, too."""
S5_FOLDERS = ("word_maze", "deepening", "empty_calendar", "session_ids")
"""As HARDENING names them; a wildcard domain is beside them."""
SNARE_HONEST = ("woven", "worded", "tree")
FIRST = ("flat", "loop", "calendar", "shop")
SECOND = ("tarpit", "listing", "events", "portal")
SNARE_KNOBS = {"traps": {"allowance": 500}, "filter": {"max_urls_per_host": SITE_URLS}}
ARCHIVES = ("indexed", "index_chain", "chained", "dated")
PER_INDEX = 100
FEW = 50
"""Honest pages around an archive."""
TIME_S = int(os.environ.get("TIME", "300"))
"""A crawl that goes on for longer is cut off."""
MOST_REQUESTS = 200_000
"""The same of a simulated one."""

Knobs = dict[str, dict[str, int]]


class Endured(NamedTuple):
    """One crawl: what it was to fetch, what the server saw of it, and what it said at its end."""

    name: str
    expected: int
    seen: CrawlTally
    allowed: dict[str, int]
    """Requests after the last honest page, by registrable domain; "" is for all others."""
    marks: dict[str, tuple[str, ...]]
    """Words of which a note on a trap has one in the name of its unit."""
    status: dict[str, object]
    account: tuple[str, ...] = ()
    """Lines that say where the requests to traps came from; of simulated crawls."""

    @property
    def coverage(self) -> float:
        """Return the share of the honest pages that were sent."""
        return min(1.0, len(self.seen.fetched) / self.expected)

    @property
    def after_share(self) -> float:
        """Return the most requests to a trap's domain or address later, over what is allowed."""
        other = self.allowed[""]
        shares = [n / self.allowed.get(name, other) for name, n in self.seen.after.items()]
        most = max(PER_ADDRESS * other, *self.allowed.values())
        return max([*shares, *(n / most for n in self.seen.after_by_trap.values())], default=0.0)

    @property
    def is_finished(self) -> bool:
        """Return True if the crawl ended by itself."""
        return bool(self.status.get("finished"))

    @property
    def unlisted(self) -> list[str]:
        """Return the traps that were entered and that no note of the status names."""
        notes = self.status.get("traps")
        units = [note["unit"] for note in notes] if isinstance(notes, list) else []
        return [
            name
            for name, marks in self.marks.items()
            if self.seen.by_trap[name] and not any(mark in unit for unit in units for mark in marks)
        ]

    def row(self) -> str:
        """Return the crawl as a line of the table."""
        honest = f"{len(self.seen.fetched)}/{self.expected}"
        told = ", ".join(f"{trap} {n}" for trap, n in self.seen.by_trap.most_common())
        figures = f"{honest:>12} {self.seen.share_before:6.3f} {self.after_share:6.2f}"
        ended = "" if self.is_finished else "CUT OFF "
        unlisted = f"; not listed: {', '.join(self.unlisted)}" if self.unlisted else ""
        row = f"{self.name:24} {figures} {self.status.get('held', 0):>8} {ended}{told}{unlisted}"
        return "\n".join((row, *self.account))


def crawl(seeds: tuple[str, ...], folder: Path, *flags: str) -> dict[str, object]:
    """Crawl to the end and return the status."""
    command = [sys.executable, "-m", "gossamer", "crawl", *seeds, "--into", str(folder), *FLAGS]
    done = subprocess.run(
        [*command, "--shards", "1", "--json", *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * TIME_S,
    )
    lines = done.stdout.splitlines()
    if not lines:
        sys.exit(f"the crawl of {seeds[0]} failed with exit code {done.returncode}\n{done.stderr}")
    found: dict[str, object] = json.loads(lines[-1])
    return found


def endure(name: str, web: FamilyWeb | SnareWeb, knobs: Knobs) -> Endured:
    """Crawl a web from its seeds."""
    if IS_SIMULATED and isinstance(web, FamilyWeb):
        return endure_simulated(name, web, knobs)
    with serve_snares(web) as served, tempfile.TemporaryDirectory() as place:
        lines = [f'[fetch]\nnameservers = ["{served.nameserver}"]']
        for section, values in knobs.items():
            lines += [f"[{section}]", *(f"{key} = {value}" for key, value in values.items())]
        config = Path(place) / "knobs.toml"
        config.write_text("\n".join(lines) + "\n")
        flags = ("--config", str(config), "--max-time", str(TIME_S))
        status = crawl(served.web.seeds, Path(place) / "crawl", *flags)
        requests = served.server.requests
    allowed = allowed_by(knobs, served.web.seeds)
    if isinstance(web, FamilyWeb):
        seen = tally(requests, web.trap_of, web.expected)
        return Endured(name, len(web.expected), seen, allowed, family_marks(web), status)
    seen = tally(requests, web.snare_of)
    marks = {trap: (f"/{trap}/", f"snare-{trap}.test") for trap in web.snares}
    return Endured(name, snare_pages(web), seen, allowed, {**marks, "wild": ("wild.test",)}, status)


def endure_simulated(name: str, web: FamilyWeb, knobs: Knobs) -> Endured:
    """Crawl a web without sockets."""
    config = TrapsConfig(**knobs.get("traps", {}))
    crawled = SimulatedCrawl(web, config, **per_home_of(knobs)).run(MOST_REQUESTS)
    notes = [{"unit": note.unit} for note in crawled.traps.notes()]
    ended = len(crawled.steps) < MOST_REQUESTS
    status = {"finished": ended, "held": crawled.traps.held, "traps": notes}
    seen = tally(crawled.requests, web.trap_of, web.expected)
    allowed = allowed_by(knobs, web.seeds)
    run = Endured(name, len(web.expected), seen, allowed, family_marks(web), status)
    has_traps = bool(web.traps or web.folders)
    lines = account_of(crawled.steps, web).lines() if has_traps else ()
    return run._replace(account=tuple(lines))


def per_home_of(knobs: Knobs) -> dict[str, int]:
    """Return how many URLs a seed's host may have, if that is not the usual number."""
    found = knobs.get("filter", {}).get("max_urls_per_host")
    return {} if found is None else {"per_home": found}


def allowed_by(knobs: Knobs, seeds: Iterable[str]) -> dict[str, int]:
    """Return how many requests a domain may have after the last honest page; "" is any other."""
    at_home = {domain_of(str(urlsplit(seed).hostname)) for seed in seeds}
    allowed = dict.fromkeys(at_home, knobs.get("filter", {}).get("max_urls_per_host", 100_000))
    allowed[""] = knobs.get("traps", {}).get("allowance", 12_000)
    return allowed


def snare_pages(web: SnareWeb) -> int:
    """Return how many honest pages a web of snares has."""
    lists = 1 + -(-web.archive_pages // PER_INDEX) if web.archive.startswith("index") else 0
    return web.honest_pages + web.archive_pages + lists


def family_marks(web: FamilyWeb) -> dict[str, tuple[str, ...]]:
    """Return by what a note on each trap may name it: a domain, an address, a folder."""
    marks: dict[str, tuple[str, ...]] = {f.name: (f"/{f.name}/",) for f in web.folder_traps}
    for family in web.trap_families:
        hosts = [host_of(door) for door in family.doors]
        addresses = [str(web.address_of(host)) for host in hosts]
        domains = [domain_of(host).removeprefix("first0") for host in hosts]
        marks[family.name] = (*addresses, *domains)
    return marks


def half(names: Iterable[str], which: str) -> list[str]:
    """Return the families of a half, of those that are asked for."""
    found = [name for name in names if (name in HELD_OUT) == (which == "held_out")]
    return [name for name in found if not FAMILIES or name in FAMILIES]


def single_crawls(which: str, *, has_hub: bool) -> Iterator[Endured]:
    """Crawl each honest family of a half by itself."""
    for name in half(HONEST_FAMILIES, which):
        web = FamilyWeb(honest=(name,), has_hub=has_hub, scale=SCALE)
        yield endure(f"{'hub to ' if has_hub else ''}{name}", web, {})


def mix_crawls(which: str) -> Iterator[Endured]:
    """Crawl families and traps of a half from a hub, with room for the largest honest domain.

    Traps that make up hosts have a smaller mix, because each address may take ten times as much.
    """
    honest = tuple(half(HONEST_FAMILIES, which))
    traps = half(TRAP_FAMILIES, which)
    mixes = {
        "mix": (tuple(name for name in traps if name != "many_domains"), MIX_SCALE),
        "mix of hosts": (tuple(name for name in traps if name in MADE_UP_HOSTS), SMALL_SCALE),
    }
    for name, (chosen, scale) in mixes.items():
        if honest and chosen:
            web = FamilyWeb(honest=honest, traps=chosen, scale=SCALE * scale)
            sizes = Counter(domain_of(page.host) for page in web.expected)
            allowance = int(ROOM * max(sizes.values()))
            yield endure(name, web, {"traps": {"allowance": allowance}})


def site_crawls(which: str) -> Iterator[Endured]:
    """Crawl sites of about 1,000 pages with traps in their folders (S5)."""
    sites = half(SITES, which)
    traps = half(FOLDER_TRAPS, which)
    groups = [tuple(traps[at : at + SITE_TRAPS]) for at in range(0, len(traps), SITE_TRAPS)]
    for site, group in zip(sites, groups, strict=False):
        scale = SCALE * SITE_PAGES / HONEST_FAMILIES[site](1.0).pages
        web = FamilyWeb(honest=(site,), folders=group, has_hub=False, scale=scale)
        yield endure(f"site {site}", web, {"filter": {"max_urls_per_host": SITE_URLS}})


def snare_crawls() -> Iterator[Endured]:
    """Crawl the older honest sites and snares."""
    for honest in SNARE_HONEST:
        for name, snares in (("first", FIRST), ("second", SECOND)):
            for are_hosts in (False, True):
                web = SnareWeb(honest=honest, snares=snares, are_hosts=are_hosts)
                place = "hosts" if are_hosts else "folders"
                yield endure(f"{honest} {name} {place}", web, SNARE_KNOBS)


def archive_crawls() -> Iterator[Endured]:
    """Crawl archives of numbered pages beside the older snares: one in folders, others on hosts."""
    knobs = {**SNARE_KNOBS, "filter": {"max_urls_per_host": 3 * PAGES}}
    for kind in ARCHIVES:
        web = SnareWeb(
            honest="tree",
            honest_pages=FEW,
            archive=kind,
            archive_pages=PAGES,
            are_hosts=kind != ARCHIVES[0],
        )
        yield endure(f"archive {kind}", web, knobs)


def indexed_share() -> float:
    """Crawl a site with the traps of S5; return their share of the pages that the index has."""
    scale = SITE_PAGES / HONEST_FAMILIES["wiki"](1.0).pages
    web = FamilyWeb(honest=("wiki",), folders=S5_FOLDERS, traps=("wildcard",), scale=scale)
    with serve_snares(web) as served, tempfile.TemporaryDirectory() as place:
        folder, config = Path(place) / "crawl", Path(place) / "knobs.toml"
        config.write_text(f'[fetch]\nnameservers = ["{served.nameserver}"]\n')
        status = crawl(served.web.seeds, folder, "--config", str(config), "--max-time", str(TIME_S))
        crawled = gossamer.open(folder)
        crawled.build_index()
        found = [urlsplit(url) for url in indexed_urls(crawled)]
        seen = tally(served.server.requests, web.trap_of, web.expected)
    traps = Counter(web.trap_of(str(url.hostname), url.path) for url in found)
    honest = traps.pop("", 0)
    print(
        f"index: {honest} honest pages, of traps {dict(traps)}; sent {len(seen.fetched)} of "
        f"{len(web.expected)} honest pages, of traps {dict(seen.by_trap)}; held {status['held']}"
    )
    return traps.total() / max(1, honest + traps.total())


def indexed_urls(crawled: gossamer.OpenCrawl) -> Iterator[str]:
    """Yield the URLs of all pages that can be searched."""
    index = crawled.index()
    for number in range(1, index.pages() // PER_INDEX + 2):
        hits = index.search("site:test", page=number, per_page=PER_INDEX).hits
        yield from (hit.url for hit in hits)
    index.close()


def worst(name: str, crawls: Iterable[Endured]) -> dict[str, object]:
    """Run some crawls, print a line for each, and return the worst of each figure."""
    print(f"\n{name:24} {'honest':>12} {'before':>6} {'after':>6} {'held':>8} requests by trap")
    runs = []
    for run in crawls:
        print(run.row(), flush=True)
        runs.append(run)
    if not runs:
        return {}
    return {
        "crawls": len(runs),
        "whole": sum(run.coverage == 1.0 for run in runs),
        "honest_pages": sum(run.expected for run in runs),
        "honest_coverage": min(run.coverage for run in runs),
        "trap_share": max(run.seen.share_before for run in runs),
        "after_share": max(run.after_share for run in runs),
        "unfinished": sum(not run.is_finished for run in runs),
        "unlisted": sum(len(run.unlisted) for run in runs),
    }


def parts_of(which: str) -> Iterator[Endured]:
    """Run the parts of one half."""
    parts: dict[str, Callable[[], Iterator[Endured]]] = {
        "alone": lambda: single_crawls(which, has_hub=False),
        "hub": lambda: single_crawls(which, has_hub=True),
        "mixes": lambda: mix_crawls(which),
        "sites": lambda: site_crawls(which),
    }
    for part, crawls in parts.items():
        if part in PARTS:
            yield from crawls()


def false_stops() -> int:
    """Crawl a part of the real web; return how many parts of it were closed or held."""
    with tempfile.TemporaryDirectory() as place:
        status = crawl((SEED,), Path(place) / "crawl", "--max-pages", str(REAL_PAGES))
    notes = status["traps"]
    assert isinstance(notes, list)
    stopped = [note for note in notes if note["reason"]]
    for note in stopped:
        print(f"stopped on the real web: {note['detail']}")
    print(f"real web: {status['pages']} pages, {len(stopped)} stops, {len(notes)} looked at")
    return len(stopped)


def measure() -> Iterator[tuple[str, object]]:
    """Yield the figures, those of the real web last."""
    for which in HALVES:
        yield which, worst(which, parts_of(which))
    if "snares" in PARTS:
        yield "snares", worst("snares", snare_crawls())
    if "archives" in PARTS:
        yield "archive_pages", PAGES
        yield "archive_coverage", worst("archives", archive_crawls())["honest_coverage"]
    if "index" in PARTS and not IS_SIMULATED:
        yield "index_trap_share", indexed_share()
    if "realweb" in PARTS and REAL_PAGES:
        try:
            bring_up()
        except SystemExit as missing:  # what was measured is worth keeping all the same
            print(missing)
            return
        yield "real_pages", REAL_PAGES
        yield "false_stops_realweb", false_stops()


def main() -> None:
    """Measure, print, and keep the result."""
    result = dict(measure())
    is_whole = len(HALVES) == 2 and not FAMILIES and set(PARTS) >= set(ALL_PARTS) and SCALE == 1
    is_whole = is_whole and not IS_SIMULATED
    if is_whole:
        save("traps", result)
        return
    print(json.dumps(result))
    measured = {
        aim.figure
        for aim in AIMS
        if aim.result == "traps" and figure_of(result, aim.figure) is not None
    }
    missed = [line for line in misses("traps", result) if line.split()[1] in measured]
    if missed:
        sys.exit("\n".join(missed))


if __name__ == "__main__":
    main()
