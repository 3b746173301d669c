"""A small index in one folder, as those see it who ask."""

from collections.abc import Sequence
from pathlib import Path

from gossamer.search.analysis import Analyser
from gossamer.search.finder import Found
from gossamer.search.messages import Ask, Candidate, Counts, Stored, Term
from gossamer.search.page import IndexPage
from gossamer.search.shard import LocalShard, ShardWriter


class OneShard:
    """A finder of one shard."""

    def __init__(self, path: Path, languages: Sequence[str] = ("en",)) -> None:
        self._shard = LocalShard(path)
        self._languages = languages

    def counts(self, terms: Sequence[Term]) -> Counts:
        return self._shard.counts(terms)

    def find(self, ask: Ask, *, is_exact: bool = False) -> Found:
        del is_exact
        top = self._shard.top(ask)
        return Found(total=top.total, candidates=top.candidates)

    def near(self, candidates: Sequence[Candidate], rows: Sequence[Sequence[Term]]) -> list[float]:
        return self._shard.near([one.key for one in candidates], rows)

    def stored(self, candidates: Sequence[Candidate]) -> list[Stored]:
        return self._shard.stored([one.key for one in candidates])

    def languages(self) -> Sequence[str]:
        return self._languages

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        return self._shard._searcher.terms_with_prefix("main", prefix, limit=most)

    def renew(self) -> bool:
        return False


def index_of(path: Path, pages: Sequence[IndexPage]) -> OneShard:
    """Write pages and return their index."""
    analyser, writer = Analyser(), ShardWriter(path)
    for page in pages:
        writer.add(analyser.prepare(page))
    writer.close()
    return OneShard(path)
