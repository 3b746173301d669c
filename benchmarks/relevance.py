"""Does ranking put the right page first? Known items and natural questions, asked of three indexes.

Crawls the real web, or takes the crawl in the folder CRAWL (nothing in it is changed). Makes
QUESTIONS questions of each kind, short ones that name a page (`judged/questions.py`) and long ones
in whole sentences (`judged/natural.py`), and asks them of an index with one field, by BM25 alone;
of the engine with its own English tokenizer, any word; and of ours, by all that ranking knows. The
half of the questions that is not
used for tuning is reported: the mean reciprocal rank of the page that was meant among the first 100
(MRR) and how often it is among the first ten, with a paired randomisation test. Pages with the same
main text as the page that was meant count as it. Then each part of ranking is switched off alone.

TUNE=1 searches better constants on the other half, one after another, and prints them.
INDEX=dir keeps the indexes there, or takes them from there. RANKS=file names the crawl's ranks.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from judged.engine import Engine
from judged.indexes import Built, build
from judged.natural import NATURAL_KINDS, make_natural
from judged.questions import KINDS, Judged, held_out, make_questions, read_web
from judged.tuning import tuned
from msgspec.structs import replace
from numpy.typing import NDArray
from realweb import FLAGS, SEED, bring_up, save

from gossamer.ranks import RankFile
from gossamer.search.analysis import Analyser
from gossamer.search.answer import SearchOptions, Switches
from gossamer.search.broker import Broker, Tiers
from gossamer.search.fields import Weights
from gossamer.search.index_reader import IndexReader
from gossamer.search.messages import ShardQuery
from gossamer.search.query import parse_query
from gossamer.search.query.analysed import analyse_query
from gossamer.search.ranking.ranker import RankingParameters
from gossamer.search.searcher import Searcher
from gossamer.search.shard import LocalShard
from gossamer.store import CrawlFolder
from gossamer.urls import fingerprint_of

CRAWL = os.environ.get("CRAWL", "")
INDEX = os.environ.get("INDEX", "")
RANKS = os.environ.get("RANKS", "")
QUESTIONS = int(os.environ.get("QUESTIONS", "400"))
TUNE = bool(int(os.environ.get("TUNE", "0")))
CHANCE = 6
DEPTH = 100
FLIPS = 10_000
ONE_FIELD = Weights(title=0, heads=0, main=1, rest=0, code=0, anchors=0, path=0)

SETS: Mapping[str, tuple[str, ...]] = {"known": KINDS, "natural": NATURAL_KINDS}
COLUMNS = (*KINDS, "known", *NATURAL_KINDS, "natural")

Ranks = NDArray[np.float64]
Order = Callable[[str], Sequence[int]]


class Judge(NamedTuple):
    """Says where the page that was meant came."""

    questions: list[Judged]
    class_of: Mapping[int, int]

    def ranks(self, order: Order) -> Ranks:
        """Return the reciprocal rank of each question's page; 0 if it was not found."""
        return np.array([self._rank(one, order(one.text)) for one in self.questions])

    def _rank(self, question: Judged, keys: Sequence[int]) -> float:
        key = fingerprint_of(question.target)
        wanted = self.class_of[key]
        for place, other in enumerate(keys[:DEPTH], 1):
            if other == key or self.class_of.get(other) == wanted:
                return 1 / place
        return 0.0

    def among(self, name: str) -> NDArray[np.bool_]:
        """Return which questions are of a kind, or of a set of kinds."""
        kinds = SETS.get(name, (name,))
        return np.array([one.kind in kinds for one in self.questions])

    def of(self, ranks: Ranks, name: str) -> dict[str, float]:
        """Return MRR and success at ten of a kind, or of a set of kinds."""
        mine = ranks[self.among(name)]
        return {
            "questions": len(mine),
            "mrr": round(float(mine.mean()), 4),
            "success_10": round(float((mine >= 1 / 10).mean()), 4),
        }


def opened(path: Path) -> IndexReader:
    """Return an index of one shard."""
    return Broker(Tiers([LocalShard(path)]))


def bm25(shard: IndexReader, *, is_all_first: bool) -> Order:
    """Return an order by BM25 alone: pages with any of the words, or those with all first.

    The question is understood as ours is: its languages, its stop words.
    """
    analyser = Analyser()

    def order(text: str) -> Sequence[int]:
        said = analyse_query(parse_query(text).query, analyser, shard)
        groups, boosts = said.groups, said.boosts
        ask = ShardQuery(groups=groups, boosts=boosts, needed=1, weights=ONE_FIELD, top=DEPTH)
        some = [one.key for one in shard.find(ask).candidates]
        if not is_all_first:
            return some
        every = replace(ask, needed=len(groups))
        first = [one.key for one in shard.find(every).candidates]
        return list(dict.fromkeys([*first, *some]))

    return order


def ours(
    reader: IndexReader, ranks: RankFile, parameters: RankingParameters, switches: Switches
) -> Order:
    """Return an order by our ranking."""
    searcher = Searcher(reader, ranks, parameters=parameters)
    options = SearchOptions(switches=switches)
    return lambda text: searcher.order(text, options)


def p_value(one: Ranks, other: Ranks) -> float:
    """Return how often chance alone would give so great a mean difference: signs are flipped."""
    difference = one - other
    signs = np.random.default_rng(CHANCE).choice((-1.0, 1.0), (FLIPS, len(difference)))
    means = np.abs(signs @ difference) / len(difference)
    return float((1 + (means >= abs(difference.mean()) - 1e-12).sum()) / (1 + FLIPS))


def crawled(into: Path) -> Path:
    """Crawl the real web to its end."""
    bring_up()
    command = [sys.executable, "-m", "gossamer", "crawl", SEED, "--into", str(into), *FLAGS]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return into


def ranks_of(crawl: Path, scratch: Path) -> RankFile:
    """Return the ranks of a crawl's pages; made in another folder if there are none."""
    path = Path(RANKS) if RANKS else crawl / "graph" / "ranks"
    if not path.exists():
        copy = scratch / "ranked"
        copy.mkdir()
        (copy / "archive").symlink_to((crawl / "archive").resolve())
        (copy / "crawl.toml").write_bytes((crawl / "crawl.toml").read_bytes())
        path = copy / "graph" / "ranks"
        words = ["rank", str(copy), "--save"]
        subprocess.run([sys.executable, "-m", "gossamer", *words], check=True, stdout=sys.stderr)
    return RankFile.open(path)


def stage_two_ms(reader: IndexReader, ranks: RankFile, questions: list[Judged]) -> dict[str, float]:
    """Return the median CPU of a question: all of it, and without static rank and the rest."""
    bare = Switches(static=False, proximity=False, copies=False, hosts=False)
    orders = {
        "all_ms": ours(reader, ranks, RankingParameters(), Switches()),
        "words_ms": ours(reader, ranks, RankingParameters(), bare),
    }
    spent: dict[str, list[float]] = {name: [] for name in orders}
    for one in questions:
        for name, order in orders.items():
            began = time.process_time()
            order(one.text)
            spent[name].append((time.process_time() - began) * 1000)
    return {name: round(float(np.median(times)), 3) for name, times in spent.items()}


def table(judge: Judge, arms: Mapping[str, Ranks]) -> dict[str, dict[str, dict[str, float]]]:
    """Print what each arm reaches, and return it."""
    print(f"{'':28}" + "".join(f"{kind:>18}" for kind in COLUMNS))
    found = {}
    for name, ranks in arms.items():
        found[name] = {kind: judge.of(ranks, kind) for kind in COLUMNS}
        cells = [f"{one['mrr']:.3f} / {one['success_10']:.3f}" for one in found[name].values()]
        print(f"{name:28}" + "".join(f"{cell:>18}" for cell in cells))
    return found


def report(built: Built, questions: list[Judged], ranks: RankFile) -> dict[str, object]:
    """Ask the questions of the held-out half, and tell."""
    judge = Judge([one for one in questions if not one.is_for_tuning], built.class_of)
    reader, plain = opened(built.ours), opened(built.plain)
    arms = {
        "BM25, any word": judge.ranks(bm25(plain, is_all_first=False)),
        "BM25, all words first": judge.ranks(bm25(plain, is_all_first=True)),
        "tantivy, any word": judge.ranks(Engine(built.engine).order),
        "full ranking": judge.ranks(ours(reader, ranks, RankingParameters(), Switches())),
    }
    baselines = list(arms)[:3]
    for name in Switches.__struct_fields__:
        order = ours(reader, ranks, RankingParameters(), Switches.without([name]))
        arms[f"without {name}"] = judge.ranks(order)
    found = table(judge, arms)
    result: dict[str, object] = {"pages": built.pages, "asked": len(judge.questions)}
    for name in SETS:
        of_set = {arm: reached[judge.among(name)] for arm, reached in arms.items()}
        base = max(baselines, key=lambda arm: float(of_set[arm].mean()))
        result |= _compared(of_set, base, "" if name == "known" else f"_{name}")
    return result | stage_two_ms(reader, ranks, judge.questions) | {"arms": found}


def _mean(judge: Judge, order: Order) -> float:
    """Return the mean of what is reached by known items and by natural questions."""
    ranks = judge.ranks(order)
    return float(np.mean([ranks[judge.among(name)].mean() for name in SETS]))


def _compared(arms: Mapping[str, Ranks], base: str, suffix: str) -> dict[str, object]:
    """Return what the full ranking gains over the best baseline, and what its parts add."""
    full = arms["full ranking"]
    return {
        f"questions{suffix}": len(full),
        f"compared_with{suffix}": base,
        f"mrr_bm25{suffix}": round(float(arms[base].mean()), 4),
        f"mrr_full{suffix}": round(float(full.mean()), 4),
        f"gain{suffix}": round(float(full.mean() / arms[base].mean()) - 1, 4),
        f"p{suffix}": p_value(full, arms[base]),
        f"p_without{suffix}": {
            name: round(p_value(full, arms[f"without {name}"]), 4)
            for name in Switches.__struct_fields__
        },
    }


def main() -> None:
    """Make questions and indexes, tune if that is wanted, ask, and tell."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        crawl = Path(CRAWL) if CRAWL else crawled(scratch / "crawl")
        web = read_web(CrawlFolder(crawl), SEED)
        questions = make_questions(web, QUESTIONS, CHANCE)
        questions += make_natural(CrawlFolder(crawl), web, QUESTIONS, CHANCE)
        into = Path(INDEX) if INDEX else scratch / "index"
        built = build(crawl, web, held_out(questions), into)
        del web
        ranks = ranks_of(crawl, scratch)
        questions = [one for one in questions if fingerprint_of(one.target) in built.class_of]
        if TUNE:
            judge = Judge([one for one in questions if one.is_for_tuning], built.class_of)
            reader = opened(built.ours)
            tuned(lambda parameters: _mean(judge, ours(reader, ranks, parameters, Switches())))
        result = report(built, questions, ranks)
    assert len(questions) >= 600, len(questions)
    save("relevance", result)


if __name__ == "__main__":
    main()
