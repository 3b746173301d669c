"""Do shards rank as one index, how soon do they answer, and what does an index cost?

Crawls the real web, or takes the crawl in the folder CRAWL (nothing in it is changed). Builds its
index with one shard in a process of its own and measures that; then with 4 and 16, by URL and by
host. Asks QUERIES questions, one to five words in a row of titles, headings and anchor texts, of
all of them. A page among the first ten of the shards agrees if the one index gives it at least the
score of its own tenth. Then asks the one index and 16 shards through the public door, with
snippets: 300 questions after 20 to warm up, a fifth of them whole lines of texts. INDEX=dir keeps
the indexes there, or takes them from there.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, quantiles
from typing import NamedTuple

from realweb import FLAGS, SEED, bring_up, save

from gossamer.search import Searcher, index_folder, open_reader, ranks_of, read_manifest
from gossamer.search.analysis import Analyser
from gossamer.search.broker import Broker
from gossamer.search.broker.scoring import Scorer
from gossamer.search.index_reader import CandidateList
from gossamer.search.messages import ShardQuery
from gossamer.search.ranking.ranker import RankingParameters
from gossamer.search.shard import LocalShard
from gossamer.store import CrawlFolder, Records, iter_links

CRAWL = os.environ.get("CRAWL", "")
INDEX = os.environ.get("INDEX", "")
QUERIES = int(os.environ.get("QUERIES", "1000"))
CHANCE = 11
BEST = 10
SLACK = 1e-5
"""Scores are 32-bit floats, summed up in another order."""
SPLITS = (("url", 4), ("url", 16), ("host", 4), ("host", 16))
LONG_EVERY, FEWEST_WORDS, MOST_WORDS = 5, 8, 25
"""Every so many questions of the public door is a whole line of a text, of so many words."""
DOOR, WARM = 300, 20
"""Questions that are asked through the public door, and before that to warm up."""
KEPT = 20_000
"""Texts of each kind that questions are drawn from."""
CHILD = """
import json, sys
from pathlib import Path
from gossamer.search.build import IndexOptions, build_index
build_index(Path(sys.argv[1]), IndexOptions(is_full=True, **json.loads(sys.argv[2])))
"""


class Cost(NamedTuple):
    """What a build took."""

    cpu_s: float
    wall_s: float
    rss_mb: float


class Asked(NamedTuple):
    """A question, and what the one index says."""

    text: str
    ask: ShardQuery
    found: CandidateList


def crawled(into: Path) -> Path:
    """Crawl the real web to its end."""
    bring_up()
    command = [sys.executable, "-m", "gossamer", "crawl", SEED, "--into", str(into), *FLAGS]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return into


def built(
    crawl: Path, root: Path, options: Mapping[str, object], ranks: Path | None = None
) -> Cost:
    """Build an index beside a crawl, in a process of its own; return what that took."""
    note = root / "cost.json"
    if note.exists():
        return Cost(*json.loads(note.read_text()))
    root.mkdir(parents=True)
    (root / "archive").symlink_to((crawl / "archive").resolve())
    if ranks is not None:
        (root / "graph").mkdir()
        (root / "graph" / "ranks").symlink_to(ranks.resolve())
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", CHILD, str(root), json.dumps(options)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    cpu_s = usage.ru_utime + usage.ru_stime
    cost = Cost(cpu_s, time.perf_counter() - began, usage.ru_maxrss / 1024)
    note.write_text(json.dumps(cost))
    return cost


def texts(crawl: Path, chance: random.Random) -> Iterator[str]:
    """Return titles, headings and anchor texts, each once, in an order of chance."""
    titles: dict[str, None] = {}
    headings: dict[str, None] = {}
    anchors: dict[str, None] = {}
    for _, record in iter_links(CrawlFolder(crawl)):
        if record.outcome == "fetched":
            titles[record.title] = None
            headings |= dict.fromkeys(record.headings)
            anchors |= dict.fromkeys(link[2] for link in record.links)
    kinds = [chance.sample(sorted(one), min(KEPT, len(one))) for one in (titles, headings, anchors)]
    for row in zip(*kinds, strict=False):
        yield from row


def questions(crawl: Path, count: int, seed: int = CHANCE) -> list[str]:
    """Return so many questions: one to five words in a row of a text."""
    chance = random.Random(seed)
    found: dict[str, None] = {}
    for text in texts(crawl, random.Random(seed)):
        words = re.findall(r"\w+", text)
        wanted = chance.randint(1, 5)
        if len(words) >= wanted:
            start = chance.randrange(len(words) - wanted + 1)
            found[" ".join(words[start : start + wanted]).lower()] = None
        if len(found) == count:
            break
    return list(found)


def sentences(crawl: Path, count: int) -> list[str]:
    """Return so many lines of texts, as long as questions that people ask in their own words."""
    chance = random.Random(CHANCE)
    path = chance.choice(sorted((crawl / "archive").glob("text-*")))
    found: list[str] = []
    for record in Records(path):
        lines = record.block.decode("utf-8", "replace").splitlines()
        fit = [line for line in lines if FEWEST_WORDS <= len(line.split()) <= MOST_WORDS]
        found += [chance.choice(fit)] if fit else []
    return chance.sample(found, min(count, len(found)))


def asked(one: Broker, texts: Sequence[str]) -> list[Asked]:
    """Return the questions that are answered at all, with the answers of the one index."""
    analyser, languages = Analyser(), one.languages()
    rows = []
    for text in texts:
        groups = tuple(dict.fromkeys(analyser.groups(text, languages)))
        ask = ShardQuery(groups=groups, needed=len(groups), weights=RankingParameters().weights)
        found = one.find(ask)
        if groups and found.candidates:
            rows.append(Asked(text, ask, found))
    return rows


def agreement(whole: LocalShard, question: Asked, found: CandidateList) -> float:
    """Return the share of the first ten that are as good as the tenth of the one index."""
    best = question.found.candidates[:BEST]
    bar = best[-1].score * (1 - SLACK)
    known = {one.key: one.score for one in question.found.candidates}
    others = [one.key for one in found.candidates[: len(best)] if one.key not in known]
    terms = [term for group in question.ask.groups for term in group]
    scorer = Scorer(question.ask, whole.counts(terms))
    evidence = whole.evidence(others, question.ask)
    known |= {key: scorer.score(said) for key, said in zip(others, evidence, strict=True)}
    good = sum(known[one.key] >= bar for one in found.candidates[: len(best)])
    return good / len(best)


def timed_ms(ask: Callable[[Asked], object], rows: Sequence[Asked]) -> tuple[float, float, float]:
    """Return the median, the 99th of a hundred and the mean CPU of questions, in ms."""
    took = []
    cpu = time.process_time()
    for row in rows:
        began = time.perf_counter()
        ask(row)
        took.append((time.perf_counter() - began) * 1000)
    cpu_ms = (time.process_time() - cpu) * 1000 / len(rows)
    parts = quantiles(took, n=100)
    return round(parts[49], 3), round(parts[98], 3), round(cpu_ms, 3)


def split_figures(root: Path, whole: LocalShard, rows: Sequence[Asked]) -> dict[str, float]:
    """Return how shards agree with the one index, and what their answers cost."""
    broker = open_reader(root)
    for row in rows:
        broker.find(row.ask)  # so that statistics are known, as they are after a while
    figures: dict[str, float] = {}
    for name, is_exact in (("fast", False), ("exact", True)):
        found = [broker.find(row.ask, is_exact=is_exact) for row in rows]
        assert not any(one.missing for one in found)
        shares = [agreement(whole, row, one) for row, one in zip(rows, found, strict=True)]
        figures[name] = round(mean(shares), 4)
        timed = timed_ms(partial(_find, broker, is_exact=is_exact), rows)
        figures[f"{name}_p50_ms"], figures[f"{name}_p99_ms"], figures[f"{name}_cpu_ms"] = timed
    return figures


def _find(broker: Broker, row: Asked, *, is_exact: bool) -> CandidateList:
    return broker.find(row.ask, is_exact=is_exact)


def door_figures(root: Path, rows: Sequence[Asked]) -> dict[str, float]:
    """Return how soon whole answers come, with snippets, and the bare ones without."""
    broker = open_reader(root)
    searcher = Searcher(broker, ranks_of(root))
    for row in rows[:WARM]:
        searcher.search(row.text)
    whole = timed_ms(lambda row: searcher.search(row.text), rows[WARM:])
    bare = timed_ms(lambda row: broker.find(row.ask), rows[WARM:])
    names = ("p50_ms", "p99_ms", "cpu_ms")
    bares = dict(zip(names, bare, strict=True))
    return {**dict(zip(names, whole, strict=True)), **{f"bare_{n}": v for n, v in bares.items()}}


def text_bytes(crawl: Path) -> int:
    """Return how much text the archive holds."""
    files = sorted((crawl / "archive").glob("text-*"))
    return sum(len(record.block) for path in files for record in Records(path))


def main() -> None:
    """Build, ask, compare, and tell."""
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(INDEX or scratch)
        crawl = Path(CRAWL) if CRAWL else crawled(Path(scratch) / "crawl")
        cost = built(crawl, base / "url1", {"shards": 1})
        index = index_folder(base / "url1")
        manifest = read_manifest(index)
        assert manifest is not None
        whole = LocalShard(index / "00")
        reader = open_reader(base / "url1")
        rows = asked(reader, questions(crawl, QUERIES))
        long = asked(reader, sentences(crawl, (DOOR + WARM) // LONG_EVERY))
        door = [*rows[: DOOR + WARM - len(long)], *long]
        random.Random(CHANCE).shuffle(door)
        one = door_figures(base / "url1", door)
        told, size = text_bytes(crawl), sum(p.stat().st_size for p in index.rglob("*.*"))
        result: dict[str, object] = {
            "pages": manifest.pages,
            "text_mb": round(told / 1e6),
            "docs_per_cpu_s": round(manifest.pages / cost.cpu_s),
            "mb_per_cpu_s": round(told / 1e6 / cost.cpu_s, 2),
            "build_rss_mb": round(cost.rss_mb),
            "index_to_text": round(size / told, 3),
            "queries": len(rows),
            **one,
        }
        print(f"{'split':8} {'fast':>8} {'exact':>8} {'fast p50':>9} {'exact p50 ms':>13}")
        for partition, shards in SPLITS:
            root = base / f"{partition}{shards}"
            built(crawl, root, {"shards": shards, "partition": partition})
            figures = split_figures(root, whole, rows)
            middle = "" if partition == "url" else "host_"
            result[f"agreement_{middle}{shards}"] = figures.pop("exact")
            result[f"agreement_{middle}{shards}_fast"] = figures.pop("fast")
            result[f"{partition}_{shards}"] = figures
            fast = result[f"agreement_{middle}{shards}_fast"]
            exact = result[f"agreement_{middle}{shards}"]
            times = f"{figures['fast_p50_ms']:>9} {figures['exact_p50_ms']:>13}"
            print(f"{partition + str(shards):8} {fast:>8} {exact:>8} {times}")
        many = door_figures(base / "url16", door)
        result["door_16"] = many
        for name in ("p50", "p99"):
            result[f"shards_16_{name}_ratio"] = round(many[f"{name}_ms"] / one[f"{name}_ms"], 2)
    for name, value in result.items():
        print(f"{name:24} {value}")
    save("search", result)


if __name__ == "__main__":
    main()
