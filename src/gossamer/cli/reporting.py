"""`gossamer report`: a crawl at a glance, on the terminal or as a page in one file."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.cli.copying import write_page
from gossamer.cli.options import Folder, Json
from gossamer.cli.parameters import option
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import crawl_folder
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import SiteReport, Spread

TOLD = 5
"""Of each list, on a terminal."""
_BAR = 30
_KB = 1000
Shown: TypeAlias = Callable[[int], str]


def report(
    folder: Folder,
    *,
    html: Annotated[
        Path | None,
        option("--html", metavar="FILE", help="Write it as a page that opens anywhere."),
    ] = None,
    json: Json = False,
) -> None:
    """Show a crawl at a glance: codes, depth, types, sizes, titles, redirects, orphans, traps.

    A crawl that runs can be reported on, too.
    """
    from gossamer import OpenCrawl, html_of

    facts = OpenCrawl(crawl_folder(folder)).report()
    if html is not None:
        write_page(html, html_of(facts))
    if json:
        print_json(as_json(facts))
    elif html is not None:
        out().print(harmless(f"{html}: {counted(facts.pages, 'page')}"), markup=False)
    else:
        out().print(Group(*_parts(facts)))


def _parts(facts: "SiteReport") -> Iterator[RenderableType]:
    yield Text(
        f"{counted(facts.pages, 'page')} of {counted(facts.hosts, 'host')}, "
        f"{facts.redirected:,} redirected, {facts.failed:,} failed, {facts.refused:,} refused, "
        f"{facts.queued:,} queued",
        "bold",
    )
    yield from _bars("Status", [(str(one.status), one.urls) for one in facts.statuses])
    yield from _bars("Failures", [(one.reason, one.urls) for one in facts.failures])
    yield from _bars("Depth", [(str(n), count) for n, count in enumerate(facts.depths)])
    yield from _bars("Types", [(one.media_type, one.pages) for one in facts.media_types[:TOLD]])
    yield from _spread("Sizes (archive)", facts.sizes, _bytes)
    yield from _listed(
        "Largest", [f"{_bytes(one.value):>8}  {one.url}" for one in facts.largest[:TOLD]]
    )
    if facts.times is not None:
        yield from _spread("Response times", facts.times, _ms)
        slow = [f"{_ms(one.value):>8}  {one.url}" for one in facts.slowest[:TOLD]]
        yield from _listed("Slowest", slow)
    yield from _redirects(facts)
    yield from _titles(facts)
    orphans = f"Orphans: {facts.orphans.orphans:,} (in a sitemap, linked by no stored page)"
    yield from _listed(orphans, facts.orphans.urls[:TOLD])
    robots = f"Robots: {counted(facts.robots_txt.forbidden, 'URL')} forbidden"
    yield from _listed(
        robots, [f"{one.urls:>6,}  {one.line}" for one in facts.robots_txt.lines[:TOLD]]
    )
    traps = f"Traps: {counted(facts.held, 'URL')} held"
    yield from _listed(traps, [f"{one.held:>6,}  {one.unit}" for one in facts.trap_units[:TOLD]])
    levels = ", ".join(f"{count:,} {level}" for level, count in facts.copies.levels.items())
    copies = f"Copies: {facts.copies.same_content:,} same content"
    told = [f"{one.copies:>6,}  {one.url}" for one in facts.copies.most_copied[:TOLD]]
    yield from _listed(f"{copies}, {levels}" if levels else copies, told)


def _redirects(facts: "SiteReport") -> Iterator[Text]:
    found = facts.redirects
    name = f"Redirect chains: {found.chains:,}, loops: {found.loops:,}"
    yield from _listed(name, [" -> ".join(one.urls) for one in found.longest[:TOLD]])


def _titles(facts: "SiteReport") -> Iterator[Text]:
    found = facts.titles
    repeated = [f"{one.pages:>6,}  {one.title}" for one in found.most_repeated[:TOLD]]
    yield from _listed(f"Duplicate titles: {counted(found.repeated, 'page')}", repeated)
    yield from _listed(
        f"Missing titles: {counted(found.missing, 'page')}", found.missing_urls[:TOLD]
    )


def _bars(name: str, rows: Sequence[tuple[str, int]]) -> Iterator[RenderableType]:
    if not rows:
        return
    yield Text(f"\n{name}", "bold")
    table = Table.grid(padding=(0, 2, 0, 0))
    most = max(count for _, count in rows) or 1
    for label, count in rows:
        bar = "█" * max(round(_BAR * count / most), 1 if count else 0)
        table.add_row(
            Text(f"  {harmless(label)}"), Text(f"{count:,}", justify="right"), Text(bar, "blue")
        )
    yield table


def _spread(name: str, found: "Spread", shown: Shown) -> Iterator[Text]:
    if found.pages:
        yield Text(f"\n{name}", "bold")
        middle, most = shown(found.median), shown(found.most)
        yield Text(f"  median {middle}, 9 of 10 up to {shown(found.p90)}, at most {most}")


def _listed(name: str, lines: Sequence[str]) -> Iterator[Text]:
    yield Text(f"\n{name}", "bold")
    for line in lines:
        yield Text(f"  {harmless(line)}")


def _bytes(count: int) -> str:
    return f"{count / _KB:,.1f} kB" if count < _KB * _KB else f"{count / _KB / _KB:,.1f} MB"


def _ms(count: int) -> str:
    return f"{count} ms" if count < _KB else f"{count / _KB:.1f} s"
