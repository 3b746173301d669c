"""Split by documents or by terms: what moves over the wire, who works, and where does each win?

Takes the crawl in the folder CRAWL, or crawls the real web. The same pages go into indexes of 4 and
of 16 shards of either organisation, built in processes of their own; terms also lie where a day's
load says that they should (the heaviest first, each on the shard with least). Statistics are known
to the brokers, and each question is asked twice, of which the second time counts: QUERIES questions
about any pages, as three kinds; and EPOCHS days of PER_EPOCH questions whose topics change. All
messages are bytes and are counted without headers of a protocol; work is CPU time. INTO=dir keeps
the indexes, and uses them the next time.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import thread_time_ns
from typing import Any, NamedTuple

import numpy as np
from organised.pages import build_cpu_s, size_bytes, spool, thinned
from organised.questions import Asker, Question, packed
from organised.weighed import Scale, of_documents, of_terms
from realweb import FLAGS, SEED, bring_up, save

from gossamer.search.index_reader import CandidateList, IndexReader
from gossamer.search.terms import TermIndexReader

CRAWL = os.environ.get("CRAWL", "")
INTO = os.environ.get("INTO", "")
PAGES = int(os.environ.get("PAGES", "1000000"))
QUERIES = int(os.environ.get("QUERIES", "200"))
EPOCHS = int(os.environ.get("EPOCHS", "10"))
PER_EPOCH = int(os.environ.get("PER_EPOCH", "120"))
SHARDS = (4, 16)
KINDS = ("all", "any", "phrase")
NEAR = 30
THINNED = 10
"""Every so many-th page, to see how messages grow with the index."""
SEED_OF_CHANCE = 6


class Asked(NamedTuple):
    """What one question moved and cost in one index."""

    words: int
    bytes: int
    messages: int
    rounds: int
    """Messages of which each waits for the one before."""
    touched: int
    cpu_ns: int
    """Of the broker and all shards."""
    path_ns: int
    """Of those that wait for each other."""
    work_ns: tuple[int, ...]


class Built(NamedTuple):
    """An index on disk."""

    name: str
    shards: int
    path: Path
    is_terms: bool
    cpu_s: float


class Arm(NamedTuple):
    """One index, open."""

    reader: IndexReader
    scale: Scale
    is_terms: bool
    is_exact: bool = False

    def asked(self, question: Question, kind: str) -> tuple[CandidateList, Asked]:
        """Ask; return the answer and what it took."""
        ask = question.ask(kind)
        self.reader.find(ask, is_exact=self.is_exact)  # else the shard that is first warms caches
        self.scale.clear()
        began = thread_time_ns()
        found = self.reader.find(ask, is_exact=self.is_exact)
        return found, self._noted(question, thread_time_ns() - began)

    def near(self, question: Question, found: CandidateList) -> Asked:
        """Ask which of the best have words beside each other."""
        rows = list(zip(question.words, question.words[1:], strict=False))
        self.scale.clear()
        began = thread_time_ns()
        self.reader.near(found.candidates[:NEAR], rows)
        return self._noted(question, thread_time_ns() - began)

    def _noted(self, question: Question, took_ns: int) -> Asked:
        work = tuple(self.scale.work_ns)
        messages, touched = self.scale.messages, sum(map(bool, work))
        rounds = messages if self.is_terms else 2 * max(self.scale.asked)
        waits_ns = sum(work) if self.is_terms else max(work)
        path_ns = took_ns - sum(work) + waits_ns
        words = len(question.words)
        return Asked(words, self.scale.bytes, messages, rounds, touched, took_ns, path_ns, work)


class Workshop:
    """Makes the indexes, and knows those that were made before."""

    def __init__(self, folder: Path, whole: "Workshop | None" = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._whole = whole
        self._log = folder / "built.json"
        self._known = json.loads(self._log.read_text()) if self._log.exists() else {}

    def pages(self) -> tuple[Path, int]:
        """Return the file of the pages, and how many these are."""
        path = self.folder / "pages"
        if "pages" not in self._known and self._whole is not None:
            self._note("pages", thinned(self._whole.pages()[0], path, THINNED))
        elif "pages" not in self._known:
            self._note("pages", spool(Path(CRAWL) if CRAWL else self._crawled(), path, PAGES))
        return path, int(self._known["pages"])

    def built(self, name: str, shards: int, placed: dict[str, int] | None = None) -> Built:
        """Return an index, made if there is none."""
        kind = "documents" if name == "documents" else "terms"
        path, label = self.folder / f"{name}-{shards}", f"{name}-{shards}"
        pages, _ = self.pages()
        if label not in self._known:
            self._note(label, build_cpu_s(pages, path, kind, shards, placed) - self._reading_s())
        return Built(name, shards, path, kind == "terms", self._known[label])

    def _reading_s(self) -> float:
        """Return what it takes to read the pages and to do nothing with them."""
        if "reading" not in self._known:
            spent = build_cpu_s(self.folder / "pages", self.folder / "none", "nothing", 0)
            self._note("reading", spent)
        return float(self._known["reading"])

    def _crawled(self) -> Path:
        bring_up()
        into = self.folder / "crawl"
        command = [sys.executable, "-m", "gossamer", "crawl", SEED, "--into", str(into), *FLAGS]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return into

    def _note(self, name: str, value: float) -> None:
        self._known[name] = value
        self._log.write_text(json.dumps(self._known))


def opened(built: Built, *, is_exact: bool = False) -> Arm:
    """Open an index for questions."""
    reader, scale = (of_terms if built.is_terms else of_documents)(built.path, built.shards)
    return Arm(reader, scale, built.is_terms, is_exact)


def summary(asked: Sequence[Asked]) -> dict[str, object]:
    """Return what some questions moved and cost."""
    sizes = np.array([one.bytes for one in asked])
    path_ms = np.array([one.path_ns for one in asked]) / 1e6
    lengths = sorted({one.words for one in asked})
    by_words = {n: _mean([it.bytes for it in asked if it.words == n]) for n in lengths}
    return {
        "bytes_p50": round(float(np.median(sizes))),
        "bytes_mean": round(float(sizes.mean())),
        "bytes_p99": round(float(np.quantile(sizes, 0.99))),
        "bytes_by_words": {str(n): round(size) for n, size in by_words.items()},
        "messages": round(_mean([one.messages for one in asked]), 2),
        "rounds": round(_mean([one.rounds for one in asked]), 2),
        "shards": round(_mean([one.touched for one in asked]), 2),
        "cpu_ms": round(_mean([one.cpu_ns for one in asked]) / 1e6, 3),
        "path_p50_ms": round(float(np.median(path_ms)), 3),
        "path_p99_ms": round(float(np.quantile(path_ms, 0.99)), 3),
    }


def load(asked: Sequence[Asked]) -> dict[str, float]:
    """Return how work spread over the shards, and what that lets through."""
    work = np.array([one.work_ns for one in asked]).sum(axis=0)
    return {
        "busiest_over_mean": round(float(work.max() / work.mean()), 3),
        "cv": round(float(work.std() / work.mean()), 3),
        "most_per_s": round(len(asked) / (float(work.max()) / 1e9), 1),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def agreement(exact: CandidateList, other: CandidateList) -> float:
    """Return the share of the ten best that another has there as well; equals count."""
    best = exact.candidates[:10]
    if not best:
        return 1.0
    scores = {one.key: one.score for one in other.candidates}
    least = other.candidates[:10][-1].score - 1e-3 if other.candidates else 0.0
    return sum(scores.get(one.key, -1.0) >= least for one in best) / len(best)


def on_the_wire(arms: dict[str, Arm], questions: Sequence[Question]) -> dict[str, object]:
    """Ask every arm every question, in turn; return what each kind took, and how answers agree."""
    seen: defaultdict[str, defaultdict[str, list[Asked]]] = defaultdict(lambda: defaultdict(list))
    agreed = []
    for question in questions:
        for kind in KINDS if len(question.words) > 1 else KINDS[:1]:
            found = {}
            for name, arm in arms.items():
                found[name], took = arm.asked(question, kind)
                seen[kind][name].append(took)
            assert len({one.total for one in found.values()}) == 1, question
            if kind == "all":
                agreed.append(agreement(found["documents exact"], found["terms"]))
                if len(question.words) > 1 and found["terms"].total:
                    for name in ("documents", "terms"):
                        seen["near"][name].append(arms[name].near(question, found[name]))
    table = {kind: {name: summary(all_) for name, all_ in of.items()} for kind, of in seen.items()}
    uniform = {name: load(seen["all"][name]) for name in ("documents", "terms")}
    return {"wire": table, "uniform": uniform, "agreement": round(_mean(agreed), 4)}


def drifted(arms: dict[str, Arm], days: Sequence[Sequence[Question]]) -> dict[str, object]:
    """Return how work spreads day by day, as topics change."""
    loads: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for questions in days:
        taken: defaultdict[str, list[Asked]] = defaultdict(list)
        for question in questions:
            for name, arm in arms.items():
                taken[name].append(arm.asked(question, "all")[1])
        for name, asked in taken.items():
            loads[name].append(load(asked))
    return {
        name: {
            "first_day": days[0],
            "later_busiest_over_mean": round(_mean([d["busiest_over_mean"] for d in days[1:]]), 3),
            "later_cv": round(_mean([day["cv"] for day in days[1:]]), 3),
            "worst_busiest_over_mean": max(day["busiest_over_mean"] for day in days),
            "least_per_s": min(day["most_per_s"] for day in days),
            "days_busiest_over_mean": [day["busiest_over_mean"] for day in days],
        }
        for name, days in loads.items()
    }


def work_of_terms(arm: Arm, questions: Sequence[Question]) -> Counter[str]:
    """Return what each term cost on the day by which terms are placed."""
    work: Counter[str] = Counter()
    assert isinstance(arm.reader, TermIndexReader)
    for question in questions:
        _, asked = arm.asked(question, "all")
        places = [arm.reader.shard_of(word) for word in question.words]
        for word, place in zip(question.words, places, strict=True):
            work[word] += asked.work_ns[place] // places.count(place)
    return work


def compared(
    workshop: Workshop,
    questions: Sequence[Question],
    days: Sequence[Sequence[Question]],
    shards: int,
) -> dict[str, object]:
    """Return the comparison for a number of shards."""
    documents, terms = workshop.built("documents", shards), workshop.built("terms", shards)
    plain = opened(terms)
    placed = packed(work_of_terms(plain, days[0]).items(), shards)
    balanced = workshop.built("terms packed", shards, placed)
    arms = {
        "documents": opened(documents),
        "documents exact": opened(documents, is_exact=True),
        "terms": plain,
    }
    found = on_the_wire(arms, questions)
    drifting = {"documents": arms["documents"], "terms": plain, "terms packed": opened(balanced)}
    _, pages = workshop.pages()
    return {
        **found,
        "drift": drifted(drifting, days),
        "index_bytes": {one.name: size_bytes(one.path) for one in (documents, terms)},
        "build_ms_per_page": {
            one.name: round(one.cpu_s / pages * 1000, 3) for one in (documents, terms)
        },
    }


def grown(workshop: Workshop, asked: Sequence[Question]) -> dict[str, Any]:
    """Return what the same questions move when there are fewer pages."""
    shards = SHARDS[-1]
    questions = [one for one in asked[: QUERIES // 2] if len(one.words) > 1]
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    fewer = Workshop(workshop.folder / "thinned", workshop)
    for shop in (fewer, workshop):
        for name in ("documents", "terms"):
            arm = opened(shop.built(name, shards))
            for kind in KINDS:
                moved = _mean([arm.asked(one, kind)[1].bytes for one in questions])
                sizes[f"{name}, {kind}"].append(round(moved))
    return {
        "pages": [fewer.pages()[1], workshop.pages()[1]],
        "bytes_mean": dict(sizes),
    }


def show(shards: int, found: dict[str, Any]) -> None:
    """Print a comparison for people."""
    print(f"\n{shards} shards; the ten best agree: {found['agreement']:.4f}")
    for kind, arms in found["wire"].items():
        print(
            f"  {kind:8} {'':16} bytes p50    mean     p99  messages rounds shards   CPU ms  p50 ms"
        )
        for name, row in arms.items():
            print(
                f"  {'':8} {name:16} {row['bytes_p50']:9,} {row['bytes_mean']:7,} "
                f"{row['bytes_p99']:7,} {row['messages']:9} {row['rounds']:6} {row['shards']:6} "
                f"{row['cpu_ms']:8} {row['path_p50_ms']:7}"
            )
    print("  busiest shard over the mean: uniform; first day, later days, worst; most per s then")
    for name, row in found["drift"].items():
        even = found["uniform"].get(name, {}).get("busiest_over_mean", "-")
        print(
            f"  {name:25} {even:>8} {row['first_day']['busiest_over_mean']:8} "
            f"{row['later_busiest_over_mean']:8} {row['worst_busiest_over_mean']:8} "
            f"{row['least_per_s']:8}"
        )
    for name in ("documents", "terms"):
        size, cost = found["index_bytes"][name], found["build_ms_per_page"][name]
        print(f"  {name:25} {size / 1e6:,.0f} MB on disk, {cost} ms CPU per page to build")


@contextmanager
def place() -> Iterator[Path]:
    """Give a folder for the indexes: one that stays, or one that goes."""
    if INTO:
        Path(INTO).mkdir(parents=True, exist_ok=True)
        yield Path(INTO)
    else:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)


def main() -> None:
    """Compare the organisations."""
    with place() as folder:
        workshop = Workshop(folder)
        path, pages = workshop.pages()
        asker = Asker(path, SEED_OF_CHANCE)
        days, questions = asker.drifting(EPOCHS, PER_EPOCH), asker.uniform(QUERIES)
        found = {str(shards): compared(workshop, questions, days, shards) for shards in SHARDS}
        growth = grown(workshop, questions)
    result: dict[str, Any] = {"pages": pages, "queries": QUERIES, "days": EPOCHS}
    result |= {"per_day": PER_EPOCH, **found, "growth": growth}
    for shards in SHARDS:
        show(shards, found[str(shards)])
    print(f"\nbytes per question, {SHARDS[-1]} shards, {growth['pages']} pages")
    for name, sizes in growth["bytes_mean"].items():
        print(f"  {name:25} {sizes[0]:9,} {sizes[1]:9,}")
    for shards in SHARDS:
        wire: Any = found[str(shards)]["wire"]
        bytes_of = {name: wire["all"][name]["bytes_mean"] for name in ("documents", "terms")}
        result[f"wire_ratio_{shards}"] = round(bytes_of["terms"] / bytes_of["documents"], 2)
        result[f"agreement_{shards}"] = found[str(shards)]["agreement"]
    save("organisations", result)


if __name__ == "__main__":
    main()
