"""Views: answers about a graph as a person likes to read them. Text from the web is harmless."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.cli.screen import Facts, harmless

_BAR = 12
_STEPS = ("sweep", "round")


def info_view(facts: Facts) -> RenderableType:
    """Return what a graph is."""
    rows = _table()
    rows.add_row("nodes", f"{_int(facts, 'nodes'):,}")
    rows.add_row("arcs", f"{_int(facts, 'arcs'):,}")
    for name, title in (("out", "links out"), ("in", "links in")):
        way = facts.get(name)
        if isinstance(way, Mapping):
            rows.add_row(title, _coding(way))
            rows.add_row("", Text(_sizes(way.get("bytes")), "dim"))
    mean, most = facts.get("degree_mean", 0.0), _int(facts, "degree_max")
    rows.add_row("degrees", f"{mean:.1f} on average, {most:,} at most")
    rows.add_row("dangling", f"{_count(facts, 'dangling', 'node')} without links")
    for row in _more(facts):
        rows.add_row(*row)
    return rows


def _coding(way: Facts) -> str:
    bits = (way.get(name, 0.0) for name in ("bits_per_link", "bits_per_link_with_starts"))
    alone, both = (f"{one:.3f}" for one in bits)
    zeta = f"zeta {way.get('zeta')}"
    chain = f"window {way.get('window')}, chains of {_many(way.get('max_ref'))}"
    runs = f"runs from {way.get('min_interval')}"
    return f"{alone} bits per link, {both} with starts ({chain}, {runs}, {zeta})"


def _many(count: object) -> str:
    return "any length" if isinstance(count, int) and count > 1_000_000 else str(count)  # noqa: PLR2004 - see the words


def _sizes(found: object) -> str:
    sizes = found if isinstance(found, Mapping) else {}
    return ", ".join(f".{name} {size:,}" for name, size in sizes.items())


def _more(facts: Facts) -> Iterator[tuple[str, str]]:
    """Give what only some graphs have."""
    if isinstance(bytes_per_node := facts.get("names_bytes_per_node"), float):
        yield "names", f"{bytes_per_node:.1f} bytes per node, {_count(facts, 'hosts', 'host')}"
    if isinstance(kinds := facts.get("kinds"), Mapping):
        yield "kinds", ", ".join(f"{count:,} {name}" for name, count in kinds.items())
    if "edges" in facts:
        yield "read", f"{_count(facts, 'lines', 'line')}, {_count(facts, 'edges', 'edge')}"
    if "pages" in facts:
        yield "pages", f"{_int(facts, 'pages'):,} whose links are known"
        delta = f"{_count(facts, 'delta_pages', 'page')}, {_count(facts, 'delta_arcs', 'link')}"
        yield "delta", f"{delta} on top"
        share = _int(facts, "archive_bytes_covered") / max(_int(facts, "archive_bytes"), 1)
        yield "archive", f"{share:.1%} of the links archive is in it"


def links_view(facts: Facts) -> RenderableType:
    """Return the links of a page."""
    parts: list[RenderableType] = [Text(harmless(facts["url"]), "bold")]
    for name, title in (("in", "linked from"), ("out", "links to")):
        found, kinds = facts.get(name), facts.get(f"{name}_kinds")
        if not isinstance(found, list) or not isinstance(kinds, list):
            continue
        total = _int(facts, f"{name}_total")
        parts.append(Text(f"\n{title} {_count(facts, f'{name}_total', 'page')}", "cyan"))
        parts += (_link(url, words) for url, words in zip(found, kinds, strict=True))
        if total > len(found):
            parts.append(Text(f"  and {total - len(found):,} more (--limit 0 shows all)", "dim"))
    return Group(*parts)


def _link(url: str, kinds: Sequence[str]) -> Text:
    special = "".join(f"  {word}" for word in kinds if word != "link")
    return Text(f"  {harmless(url)}").append(special, "yellow")


def rank_view(facts: Facts) -> RenderableType:
    """Return the best pages, or hosts."""
    name = "host" if "hosts" in facts else "url"
    found = _dicts(facts, "hosts" if name == "host" else "pages")
    best = max((one["rank"] for one in found if isinstance(one["rank"], float)), default=0.0)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim")
    table.add_column(justify="right")
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(overflow="fold")
    for number, one in enumerate(found, 1):
        rank = one["rank"] if isinstance(one["rank"], float) else 0.0
        bar = "▇" * max(1, round(_BAR * rank / best)) if best else ""
        table.add_row(f"{number}", f"{rank:.4g}", bar, Text(harmless(one[name])))
    return Group(table, Text(f"\n{_convergence(facts)}", "dim"))


def _convergence(facts: Facts) -> str:
    words = [f"{facts.get('by')}"]
    if isinstance(kinds := facts.get("kinds"), list):
        words.append(f"over {', '.join(kinds)}")
    took = [_count(facts, f"{step}s", step) for step in _STEPS if facts.get(f"{step}s")]
    words += [f"after {told}" for told in took]
    if isinstance(error := facts.get("error_below"), float) and facts.get("by") == "pagerank":
        words.append(f"error below {error:.1e} in all")
    if facts.get("converged") is False:
        words.append("not converged")
    if "saved" in facts:
        words.append(f"saved to {harmless(facts['saved'])}")
    return ", ".join(words)


def path_view(facts: Facts) -> RenderableType:
    """Return the way between two pages."""
    steps = facts.get("path")
    if not isinstance(steps, list) or not steps:
        if facts.get("gave_up"):
            return Text(f"Given up after {_int(facts, 'visited'):,} pages: it is far, if at all.")
        return Text("No links lead there.")
    lines = [Text(_count(facts, "hops", "link"), "bold")]
    lines += [Text(f"{'→ ' if n else '  '}{harmless(url)}") for n, url in enumerate(steps)]
    return Group(*lines)


def like_view(facts: Facts) -> RenderableType:
    """Return the pages that are like one."""
    found = _dicts(facts, "pages")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for one in found:
        table.add_row(f"{one['score']:.3f}", f"{one['shared']}", Text(harmless(one["url"])))
    title = Text(harmless(facts["url"]), "bold")
    return Group(title, table) if found else Group(title, Text("No page is like it."))


def hosts_view(facts: Facts) -> RenderableType:
    """Return the hosts, or who links to one and to whom it links."""
    if "total" in facts:
        heads = ("host", "urls", "inside", "links_in", "links_out", "rank")
        table = _grid(_dicts(facts, "hosts"), heads)
        return Group(table, Text(f"\n{_count(facts, 'total', 'host')} in all", "dim"))
    told = f"{_count(facts, 'urls', 'URL')}, {_count(facts, 'inside', 'link')} between them"
    parts: list[RenderableType] = [Text(harmless(facts["host"]), "bold"), Text(told)]
    for side, title in (("in", "linked from"), ("out", "links to")):
        parts += [Text(f"\n{title}", "cyan"), _grid(_dicts(facts, side), ("host", "links"))]
    return Group(*parts)


def components_view(facts: Facts) -> RenderableType:
    """Return how a graph hangs together."""
    rows = _table()
    nodes = max(_int(facts, "nodes"), 1)
    for name in ("strong", "weak"):
        found = facts.get(name)
        if isinstance(found, Mapping):
            sizes = ", ".join(f"{size:,}" for size in _list(found, "largest"))
            rows.add_row(f"{name}ly connected", f"{_count(found, 'count', 'component')}: {sizes}")
    tie = facts.get("bow_tie")
    parts: Facts = tie if isinstance(tie, Mapping) else {}
    for name in parts:
        share = f"{_count(parts, name, 'node')} ({_int(parts, name) / nodes:.1%})"
        rows.add_row(name.replace("_", " "), share)
    return rows


def _grid(found: Sequence[Facts], heads: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in heads:
        is_text = head == "host"
        table.add_column(head.replace("_", " "), justify="left" if is_text else "right")
    for one in found:
        table.add_row(*(_cell(one[head]) for head in heads))
    return table


def _cell(value: object) -> Text:
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


def _dicts(facts: Facts, name: str) -> list[Facts]:
    return [one for one in _list(facts, name) if isinstance(one, Mapping)]


def _list(facts: Facts, name: str) -> list[object]:
    value = facts.get(name)
    return list(value) if isinstance(value, list | tuple) else []


def _count(facts: Facts, name: str, unit: str) -> str:
    """Return a number of things with their name: 1 page, 2 pages."""
    count = _int(facts, name)
    return f"{count:,} {unit}{'s' * (count != 1)}"


def _int(facts: Facts, name: str) -> int:
    value = facts.get(name, 0)
    return value if isinstance(value, int) else 0
