"""Which pages of a crawl on many machines matter most? By PageRank, shard by shard."""

import secrets
import shutil
from collections.abc import Iterable
from heapq import nsmallest

import numpy as np

from gossamer.errors import ConfigError
from gossamer.graph.asking import RankedPage, Ranking, RankOptions
from gossamer.graph.kinds import kind_names
from gossamer.graph.names import key_of
from gossamer.graph.sharded.parts import StoredGraph
from gossamer.graph.sharded.ranked import RankedPart, RankedParts, RankStore, RankTell
from gossamer.graph.sharded.rounds import Wait
from gossamer.graph.sharded.sweeping import BEST, Sweeping, best_of
from gossamer.ranks import RankFile

MOST_SCORES_BYTES = 1 << 40


def rank_stored(
    graph: StoredGraph, options: RankOptions, wait: Wait, tell: RankTell | None = None
) -> Ranking:
    """Return the best pages of a store by PageRank; whoever else ranks it takes a part."""
    url = graph.crawl.url
    if options.by != "pagerank":
        raise ConfigError(
            f"rank by: shards are ranked by pagerank only, found {options.by!r}; "
            f"`gossamer restore {url} --into DIR` makes a folder that is ranked by all measures"
        )
    store = RankStore(graph, options.kinds)
    done = store.whole() or _computed(store, options.kinds, wait, tell)
    fetched: list[tuple[str, float]] = []
    others: list[tuple[str, float]] = []
    for shard in store.shards:
        is_all = not options.top or options.top > BEST
        best, best_not_fetched = _all_of(store, shard) if is_all else _part(store, shard)
        fetched += best
        others += best_not_fetched
    found = _first(fetched + others if options.is_all else fetched, options.top, done.total)
    last = found[-1].rank if found else np.inf
    left_out = 0 if options.is_all else sum(score / done.total >= last for _, score in others)
    return Ranking(
        pages=found,
        by=options.by,
        kinds=kind_names(options.kinds),
        nodes=graph.whole.nodes,
        newer_pages=0,
        sweeps=done.sweeps,
        error_below=done.error_below,
        converged=done.converged,
        saved=f"{url}/{store.prefix}/files",
        not_fetched=left_out,
    )


def ranks_of_store(graph: StoredGraph, kinds: int) -> RankedParts | None:
    """Return the ranks of a store's shards, if they were computed."""
    return RankStore(graph, kinds).whole()


def rank_file_of(graph: StoredGraph, kinds: int, shard: int) -> RankFile | None:
    """Return the ranks of the pages of a shard; None if nobody has computed them."""
    done = RankStore(graph, kinds).whole()
    file = done.files.get(shard) if done is not None else None
    return None if file is None else RankFile.open(graph.fetched_file(file))


def _computed(store: RankStore, kinds: int, wait: Wait, tell: RankTell | None) -> RankedParts:
    work = store.graph.crawl.place(f"rank-{secrets.token_hex(4)}").root
    try:
        return Sweeping(store, kinds, work, wait, tell or (lambda _sweep, _error: None)).run()
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _part(store: RankStore, shard: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    part = store.read("parts", shard, RankedPart)
    if part is None:
        raise ConfigError(f"{store.graph.crawl.url} was built anew meanwhile; rank it again")
    return part.best, part.best_not_fetched


def _all_of(
    store: RankStore, shard: int
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the ranks of all pages of a shard."""
    content = store.objects.read(store.name("scores", shard), MOST_SCORES_BYTES) or b""
    return best_of(store.graph.shard(shard).graph, np.frombuffer(content, np.float64), 0)


def _first(found: Iterable[tuple[str, float]], top: int, total: float) -> list[RankedPage]:
    """Return the best, the first of equals first; 0: all of them."""

    def place(one: tuple[str, float]) -> tuple[float, bytes]:
        return -one[1], key_of(one[0])

    best = nsmallest(top, found, key=place) if top else sorted(found, key=place)
    return [RankedPage(url=url, rank=score / total) for url, score in best]
