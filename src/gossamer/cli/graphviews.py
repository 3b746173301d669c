"""Views: answers about a graph as a person likes to read them. Text from the web is harmless."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.cli.screen import harmless
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import (
        CodingFacts,
        GraphComponents,
        GraphInfo,
        HostLinks,
        HostRanking,
        HostTable,
        LinkPath,
        Links,
        MadeGraph,
        Ranking,
        SimilarPages,
    )

_BAR = 12
_ANY_LENGTH = 1_000_000


def info_view(info: "GraphInfo", made: "MadeGraph | None" = None) -> RenderableType:
    """Return what a graph is, and of what it was made if that was just done."""
    rows = _table()
    rows.add_row("nodes", f"{info.nodes:,}")
    rows.add_row("arcs", f"{info.arcs:,}")
    for coding, title in ((info.out, "links out"), (info.incoming, "links in")):
        if coding is not None:
            rows.add_row(title, _coding(coding))
            sizes = ", ".join(f".{name} {size:,}" for name, size in coding.bytes.items())
            rows.add_row("", Text(sizes, "dim"))
    rows.add_row("degrees", f"{info.degree_mean:.1f} on average, {info.degree_max:,} at most")
    rows.add_row("dangling", f"{counted(info.dangling, 'node')} without links")
    for row in _more(info):
        rows.add_row(*row)
    if made is not None:
        rows.add_row("read", f"{counted(made.lines, 'line')}, {counted(made.edges, 'edge')}")
    return rows


def _coding(coding: "CodingFacts") -> str:
    alone, both = f"{coding.bits_per_link:.3f}", f"{coding.bits_per_link_with_starts:.3f}"
    chains = "any length" if coding.max_ref > _ANY_LENGTH else f"{coding.max_ref}"
    how = f"window {coding.window}, chains of {chains}, runs from {coding.min_interval}"
    return f"{alone} bits per link, {both} with starts ({how}, zeta {coding.zeta})"


def _more(info: "GraphInfo") -> Iterator[tuple[str, str]]:
    """Give what only some graphs have."""
    if info.names_bytes_per_node is not None:
        hosts = counted(info.hosts or 0, "host")
        yield "names", f"{info.names_bytes_per_node:.1f} bytes per node, {hosts}"
    if info.kinds:
        yield "kinds", ", ".join(f"{count:,} {name}" for name, count in info.kinds.items())
    if info.pages is not None:
        yield "pages", f"{info.pages:,} whose links are known"
        delta = f"{counted(info.delta_pages or 0, 'page')}, {counted(info.delta_arcs or 0, 'link')}"
        yield "delta", f"{delta} on top"
        share = (info.archive_bytes_covered or 0) / max(info.archive_bytes or 0, 1)
        yield "archive", f"{share:.1%} of the links archive is in it"


def links_view(links: "Links") -> RenderableType:
    """Return the links of a page."""
    parts: list[RenderableType] = [Text(harmless(links.url), "bold")]
    for row, title in ((links.incoming, "linked from"), (links.outgoing, "links to")):
        if row is None:
            continue
        parts.append(Text(f"\n{title} {counted(row.total, 'page')}", "cyan"))
        parts += (_link(url, kinds) for url, kinds in zip(row.urls, row.kinds, strict=True))
        if row.total > len(row.urls):
            left = row.total - len(row.urls)
            parts.append(Text(f"  and {left:,} more (--limit 0 shows all)", "dim"))
    return Group(*parts)


def _link(url: str, kinds: Sequence[str]) -> Text:
    special = "".join(f"  {word}" for word in kinds if word != "link")
    return Text(f"  {harmless(url)}").append(special, "yellow")


def rank_view(ranking: "Ranking") -> RenderableType:
    """Return the best pages."""
    rows = [(page.rank, page.url) for page in ranking.pages]
    return Group(_ranks(rows), Text(f"\n{_convergence(ranking)}", "dim"))


def rank_hosts_view(ranking: "HostRanking") -> RenderableType:
    """Return the best hosts."""
    rows = [(host.rank, host.host) for host in ranking.hosts]
    return Group(_ranks(rows), Text(f"\n{ranking.by}{_over(ranking.kinds)}", "dim"))


def _ranks(rows: Sequence[tuple[float, str]]) -> Table:
    best = max((rank for rank, _ in rows), default=0.0)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim")
    table.add_column(justify="right")
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(overflow="fold")
    for number, (rank, name) in enumerate(rows, 1):
        bar = "▇" * max(1, round(_BAR * rank / best)) if best else ""
        table.add_row(f"{number}", f"{rank:.4g}", bar, Text(harmless(name)))
    return table


def _over(kinds: Sequence[str] | None) -> str:
    return f", over {', '.join(kinds)}" if kinds is not None else ""


def _convergence(ranking: "Ranking") -> str:
    words = [f"{ranking.by}{_over(ranking.kinds)}"]
    if ranking.sweeps:
        words.append(f"after {counted(ranking.sweeps, 'sweep')}")
    if ranking.rounds:
        words.append(f"after {counted(ranking.rounds, 'round')}")
    if ranking.error_below is not None and ranking.by == "pagerank":
        words.append(f"error below {ranking.error_below:.1e} in all")
    if ranking.converged is False:
        words.append("not converged")
    if ranking.saved is not None:
        words.append(f"saved to {harmless(ranking.saved)}")
    if ranking.not_fetched:
        urls = counted(ranking.not_fetched, "URL")
        words.append(f"{urls} as high left out: never fetched (--all lists them)")
    return ", ".join(words)


def path_view(path: "LinkPath") -> RenderableType:
    """Return the path between two pages."""
    if not path.path:
        if path.gave_up:
            return Text(f"Given up after {path.visited:,} pages: it is far, if at all.")
        return Text("No links lead there.")
    lines = [Text(counted(path.hops or 0, "link"), "bold")]
    lines += [Text(f"{'→ ' if n else '  '}{harmless(url)}") for n, url in enumerate(path.path)]
    return Group(*lines)


def similar_view(similar: "SimilarPages") -> RenderableType:
    """Return the pages that are similar to one."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for one in similar.pages:
        table.add_row(f"{one.score:.3f}", f"{one.shared}", Text(harmless(one.url)))
    title = Text(harmless(similar.url), "bold")
    return Group(title, table) if similar.pages else Group(title, Text("No page is like it."))


def hosts_view(table: "HostTable") -> RenderableType:
    """Return the hosts."""
    heads = ("host", "urls", "inside", "links in", "links out", "rank")
    rows = [
        (one.host, one.urls, one.inside, one.links_in, one.links_out, one.rank)
        for one in table.hosts
    ]
    return Group(_grid(heads, rows), Text(f"\n{counted(table.total, 'host')} in all", "dim"))


def host_view(host: "HostLinks") -> RenderableType:
    """Return who links to a host, and to whom it links."""
    told = f"{counted(host.urls, 'URL')}, {counted(host.inside, 'link')} between them"
    parts: list[RenderableType] = [Text(harmless(host.host), "bold"), Text(told)]
    for side, title in ((host.incoming, "linked from"), (host.outgoing, "links to")):
        rows = [(one.host, one.links) for one in side]
        parts += [Text(f"\n{title}", "cyan"), _grid(("host", "links"), rows)]
    return Group(*parts)


def components_view(found: "GraphComponents") -> RenderableType:
    """Return the components of a graph."""
    rows = _table()
    for name, sizes in (("strong", found.strong), ("weak", found.weak)):
        largest = ", ".join(f"{size:,}" for size in sizes.largest)
        rows.add_row(f"{name}ly connected", f"{counted(sizes.count, 'component')}: {largest}")
    for name in found.bow_tie.__struct_fields__:
        count: int = getattr(found.bow_tie, name)
        share = f"{counted(count, 'node')} ({count / max(found.nodes, 1):.1%})"
        rows.add_row(name.replace("_", " "), share)
    return rows


def _grid(heads: Sequence[str], rows: Sequence[tuple[str | int | float, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in heads:
        table.add_column(head, justify="left" if head == "host" else "right")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    return table


def _cell(value: str | float) -> Text:
    match value:
        case int():
            return Text(f"{value:,}")
        case float():
            return Text(f"{value:.4g}")
        case _:
            return Text(harmless(value))


def _table() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table
