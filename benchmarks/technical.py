"""Forty technical questions over the real web: where does the best right page come?

Crawls the real web, or takes the crawl in the folder CRAWL. Options, error messages, names of
functions, phrases, misspellings, other languages and sentences (`judged/technical.py`), asked as
anybody asks. A question whose answer only offers the right spelling counts as not answered.
"""

import os
import re
import tempfile
from collections import defaultdict
from pathlib import Path

from judged.technical import TECHNICAL, Technical
from realweb import save
from relevance import crawled

import gossamer

CRAWL = os.environ.get("CRAWL", "")
DEEPEST = 50


def rank_of(index: gossamer.SearchIndex, question: Technical) -> int:
    """Return the rank of the best right page; 0 if it is not among the first ones."""
    hits = index.search(question.text, per_page=DEEPEST).hits
    right = re.compile(question.right)
    return next((rank for rank, hit in enumerate(hits, 1) if right.search(hit.url)), 0)


def asked(crawl: Path) -> dict[str, object]:
    """Ask all questions, and tell."""
    ranks: dict[str, int] = {}
    by_kind: dict[str, list[float]] = defaultdict(list)
    with gossamer.open_search(crawl) as index:
        for question in TECHNICAL:
            rank = rank_of(index, question)
            ranks[question.text] = rank
            by_kind[question.kind].append(1 / rank if rank else 0.0)
            print(f"{rank or '-':>3}  {question.kind:9} {question.text}", flush=True)
    every = [value for values in by_kind.values() for value in values]
    return {
        "questions": len(every),
        "mrr": round(sum(every) / len(every), 4),
        "first_ten": sum(0 < rank <= 10 for rank in ranks.values()),
        "by_kind": {kind: round(sum(some) / len(some), 3) for kind, some in by_kind.items()},
        "ranks": ranks,
    }


def main() -> None:
    """Ask the questions of a crawl."""
    with tempfile.TemporaryDirectory() as name:
        result = asked(Path(CRAWL) if CRAWL else crawled(Path(name) / "crawl"))
    save("technical", result)


if __name__ == "__main__":
    main()
