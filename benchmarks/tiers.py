"""What a high tier saves, and what it costs: shares of the pages by PageRank, beside one tier.

Crawls the real web, or takes the crawl in the folder CRAWL (nothing in it is changed) with the
ranks in RANKS. Builds its index without tiers and with SHARES of the pages in the high one. Asks
QUERIES questions made of titles, headings and anchor texts, as bench-search does, and questions of
which one page is the answer, as bench-relevance does (links that say it are not held out here). For
each share: how many questions the high tier answers alone, how far the first ten agree with those
of the index without tiers (by words alone, and as ranked), pages that fit in the tiers asked, CPU
of a whole answer beside that of the other index (arms interleaved), and the mean reciprocal rank of
the page that was meant. INDEX=dir keeps the indexes there, or takes them from there.
"""

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from judged.questions import Judged, make_questions, read_web
from realweb import SEED, save
from relevance import crawled, ranks_of
from search import Asked, agreement, asked, built, questions

from gossamer.ranks import RankFile
from gossamer.search import Searcher, index_folder, open_reader
from gossamer.search.broker import Broker
from gossamer.search.shard import LocalShard
from gossamer.store import CrawlFolder
from gossamer.urls import fingerprint_of

CRAWL = os.environ.get("CRAWL", "")
INDEX = os.environ.get("INDEX", "")
RANKS = os.environ.get("RANKS", "")
QUERIES = int(os.environ.get("QUERIES", "1000"))
SHARES = [float(share) for share in os.environ.get("SHARES", "0.1,0.2,0.3,0.5").split(",")]
KNOWN = 300
CHANCE = 12
BEST = 10
DEPTH = 100


def reciprocal(searcher: Searcher, one: Judged) -> float:
    """Return the reciprocal rank of the page that was meant."""
    key = fingerprint_of(one.target)
    keys = searcher.order(one.text)[:DEPTH]
    return 1 / (keys.index(key) + 1) if key in keys else 0.0


def overlap(one: Sequence[int], other: Sequence[int]) -> float:
    """Return how many of the first ten are the same."""
    best = set(one[:BEST])
    return len(best & set(other[:BEST])) / len(best) if best else 1.0


def arm(
    root: Path, ranks: RankFile, rows: Sequence[Asked], known: Sequence[Judged], base: Path
) -> dict[str, float]:
    """Return what one share saves and costs."""
    plain, tiered = open_reader(base), open_reader(root)
    whole = LocalShard(index_folder(base) / "00")
    all_of, some_of = Searcher(plain, ranks), Searcher(tiered, ranks)
    found = [tiered.find(row.ask) for row in rows]
    scored = sum(one.total for one in found) / sum(row.found.total for row in rows)
    texts = [row.text for row in rows]
    ranked = [overlap(all_of.order(text), some_of.order(text)) for text in texts]
    spent = [
        (one.is_low_asked, _cpu_s(tiered, row), _cpu_s(plain, row))
        for _ in range(2)
        for one, row in zip(found, rows, strict=True)
    ]
    mrr = [mean(reciprocal(one, judged) for judged in known) for one in (all_of, some_of)]
    return {
        "answered_by_high": round(1 - mean(one.is_low_asked for one in found), 4),
        "agreement": round(
            mean(agreement(whole, r, f) for r, f in zip(rows, found, strict=True)), 4
        ),
        "ranked_overlap": round(mean(ranked), 4),
        "pages_scored": round(scored, 4),
        "cpu_ratio": _ratio(spent),
        "cpu_ratio_high_alone": _ratio([one for one in spent if not one[0]]),
        "cpu_ratio_both": _ratio([one for one in spent if one[0]]),
        "mrr_without_tiers": round(mrr[0], 4),
        "mrr": round(mrr[1], 4),
        "mrr_cost": round(1 - mrr[1] / mrr[0], 4),
    }


def _ratio(spent: Sequence[tuple[bool, float, float]]) -> float:
    return round(sum(one[1] for one in spent) / sum(one[2] for one in spent), 4)


def _cpu_s(reader: Broker, row: Asked) -> float:
    began = time.process_time()
    reader.find(row.ask)
    return time.process_time() - began


def main() -> None:
    """Build, ask, compare, and tell."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        base = Path(INDEX or scratch)
        crawl = Path(CRAWL) if CRAWL else crawled(scratch / "crawl")
        ranks = ranks_of(crawl, scratch)
        place = Path(RANKS) if RANKS else crawl / "graph" / "ranks"
        plain = base / "url1"
        built(crawl, plain, {"shards": 1})
        rows = asked(open_reader(plain), questions(crawl, QUERIES, CHANCE))
        made = make_questions(read_web(CrawlFolder(crawl), SEED), KNOWN, CHANCE)
        result: dict[str, object] = {"queries": len(rows), "known": len(made)}
        for share in SHARES:
            root = base / f"high{share:g}"
            built(crawl, root, {"shards": 1, "high_share": share}, ranks=place)
            figures = arm(root, ranks, rows, made, plain)
            result[f"high_{share:g}"] = figures
            print(f"{share:5g} " + " ".join(f"{key} {value}" for key, value in figures.items()))
    save("tiers", result)


if __name__ == "__main__":
    main()
