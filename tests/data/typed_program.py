"""A program of a user's: type-checked, never run. A `dict` or an `Any` would not do here."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import gossamer


def counts(crawl: gossamer.OpenCrawl, url: str) -> Iterator[int]:
    """Use every answer about a crawl."""
    status: gossamer.Status = crawl.status()
    yield status.pages + status.watch.visits + sum(status.refused.values())
    yield sum(note.pages for note in status.traps)
    yield sum(errors.count for errors in status.user_errors.values())
    why: gossamer.Why = crawl.why(url)
    yield len(why.explanation) + sum(visit.status for visit in why.visits)
    yield why.page.offset if why.page is not None else 0
    yield why.near.bins if why.near is not None else 0
    yield why.robots.number if why.robots is not None else 0
    yield len(why.filter.detail) if why.filter is not None else 0
    yield why.watch.looks if why.watch is not None else 0
    for page in crawl.pages():
        yield page.status + len(page.text()) + len(page.body()) + page.location.length
    stored: gossamer.Page | None = crawl.page(url)
    yield len(stored.raw()) if stored is not None else 0
    for record in crawl.records():
        yield record.depth + len(record.links)
    copies: gossamer.CopyClusters = crawl.copies()
    yield sum(member.bins for cluster in copies.clusters for member in cluster.members)
    added: gossamer.Added = crawl.add([gossamer.Seed(url=url), url])
    yield added.added + len(added.refused)
    yield crawl.build_state().queued + crawl.build_near().exact


def links(crawl: gossamer.OpenCrawl, url: str) -> Iterator[int | float]:
    """Use every answer of a graph."""
    found: gossamer.Links | None = crawl.links(url)
    if found is not None and found.incoming is not None:
        yield found.incoming.total + len(found.incoming.urls) + len(found.incoming.kinds[0])
    ranking: gossamer.Ranking = crawl.rank("harmonic", top=3)
    yield sum(page.rank for page in ranking.pages) + (ranking.error_below or 0.0)
    graph: gossamer.LinkGraph = crawl.graph()
    path = graph.path(url, url)
    yield path.hops or 0 if path is not None else 0
    similar = graph.similar(url)
    yield sum(page.score for page in similar.pages) if similar is not None else 0
    yield sum(host.links_in for host in graph.hosts().hosts)
    host = graph.host("example.org")
    yield sum(other.links for other in host.incoming) if host is not None else 0
    yield sum(one.rank for one in graph.rank_hosts().hosts)
    components = graph.components()
    yield components.strong.largest[0] + components.bow_tie.core
    info: gossamer.GraphInfo = graph.info(check=True)
    yield info.bits_per_link + info.out.zeta + (info.pages or 0)
    picture = graph.picture(url)
    yield len(picture.svg) + picture.incoming if picture is not None else 0
    yield crawl.build_graph(gossamer.GraphOptions(is_full=True)).arcs
    yield sum(len(lines) for lines in graph.edge_lines())


def searches(crawl: gossamer.OpenCrawl, into: Path | str) -> Iterator[int | float]:
    """Use every answer of a search."""
    answer: gossamer.Answer = crawl.search("web archive", per_page=5, without=["copies"])
    for hit in answer.hits:
        yield hit.score + hit.at + sum(part.is_hit for part in hit.segments)
    built: gossamer.IndexFacts = crawl.build_index(gossamer.IndexOptions(shards=2))
    yield built.pages + gossamer.index_files(["a.warc.gz"], into).bad
    with gossamer.open_search(into, "s3://bucket/name") as index:
        yield index.search("words").total
    yield crawl.publish("file:///srv/index").sent_bytes


@gossamer.protocol("finger", port=79, has_robots=False)
async def finger(
    exchange: gossamer.Exchange,
) -> gossamer.Resource | gossamer.Moved | gossamer.Failed:
    """Ask a server over a connection."""
    wire: gossamer.Wire = await exchange.connect()
    await wire.send(exchange.url.target[1:].encode() + b"\r\n")
    first: bytes = await wire.line()
    if first.startswith(b"see "):
        return gossamer.Moved(first[4:].decode())
    content: gossamer.Content = await wire.rest()
    if not content.size:
        return gossamer.Failed(kind=gossamer.FailureKind.NOT_FOUND, detail="nobody")
    return gossamer.Resource(content, "text/plain")


def main() -> int:
    """Crawl, ask, and look at the errors."""
    told: list[float] = []
    try:
        ending: gossamer.Ending = gossamer.run(
            ["https://example.org/"],
            "mycrawl",
            max_pages=10,
            scope="host",
            protocols=[finger],
            scheme=["ftp"],
            on_progress=lambda status: told.append(status.pages_per_s),
        )
    except gossamer.ConfigError:
        return 2
    except (gossamer.CannotGoOn, gossamer.CorruptFile):
        return 4
    crawl = gossamer.open(Path("mycrawl"))
    told += counts(crawl, "https://example.org/")
    told += links(crawl, "https://example.org/")
    told += searches(crawl, "index")
    told.append(crawl.watch(10.0, rate=2.0).status.watch.expected_freshness or 0.0)
    again: gossamer.Ending = asyncio.run(gossamer.run_async((), "mycrawl", max_time=1.0))
    return ending.exit_code + again.exit_code
