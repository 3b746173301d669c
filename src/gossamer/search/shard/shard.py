"""Shard: some of the pages of an index, in a folder on this machine."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol

import msgspec
import tantivy

from gossamer.durable import is_writable, linked_files
from gossamer.search.fields import MAIN, TEXT_FIELDS, TITLE
from gossamer.search.messages import Ask, Candidate, Counts, Evidence, Facts, Stored, Term, Top
from gossamer.search.page import Prepared
from gossamer.search.shard.damage import guarded
from gossamer.search.shard.evidence import Gathering
from gossamer.search.shard.querying import MUST, SHOULD, Query, Wording
from gossamer.search.shard.schema import length_column, open_index
from gossamer.search.shard.snapshot import Snapshot, languages_of, read_meta

_Shown = tuple[str, str, str, str, int]
_decode_shown = msgspec.msgpack.Decoder(_Shown).decode
_SAID_IN = (TITLE, MAIN)
"""Fields that a vocabulary is made of, and in which terms may stand near each other."""


class Shard(Protocol):
    """What a broker asks: a folder on this machine, or another machine."""

    @property
    def is_far(self) -> bool:
        """Return True if it is waited for: it is asked in a thread."""

    def facts(self) -> Facts:
        """Return how much there is, and of which commit."""

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""

    def top(self, ask: Ask) -> Top:
        """Return the best candidates."""

    def evidence(self, keys: Sequence[int], ask: Ask) -> list[list[Evidence]]:
        """Return of each page what its score is made of; nothing of those that are gone."""

    def near(self, keys: Sequence[int], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has, in its main text or its title."""

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them, the most frequent first."""

    def renew(self) -> bool:
        """Take up what was committed since; tell whether there was anything."""

    def close(self) -> None:
        """Let go what it holds."""


class LocalShard:
    """A shard in a folder. A question is answered from one snapshot, in whichever thread."""

    is_far: Final = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self._links = ExitStack()
        with guarded(path):
            self._index = open_index(self._opened(path))
            self._now = Snapshot(self._index, path)

    def _opened(self, path: Path) -> Path:
        """Return the folder for the engine, which makes a lock file in it even to read it."""
        if is_writable(path) or not path.exists():
            return path
        files = [file.name for file in path.iterdir() if file.suffix != ".lock"]
        return self._links.enter_context(linked_files(path, files))

    def renew(self) -> bool:
        """Take up what was committed since; tell whether there was anything."""
        with guarded(self.path):
            before = self._now
            if read_meta(self.path) == before.meta:
                return False
            self._now = Snapshot(self._index, self.path)
            return self._now.generation != before.generation  # else a merge: the same pages

    def facts(self) -> Facts:
        """Return how much there is, and of which commit."""
        now = self._now
        with guarded(self.path):
            languages = languages_of(now.searcher)
        return Facts(pages=now.pages, generation=now.generation, languages=languages)

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms."""
        with guarded(self.path):
            return self._now.counts(terms)

    def top(self, ask: Ask) -> Top:
        """Return the best candidates."""
        now = self._now
        most = min(ask.top, now.pages)  # the engine sets memory aside for as many as are asked for
        with guarded(self.path):
            query = _wording(now, ask).query(ask)
            found = now.searcher.search(query, max(most, 1))
            hits = found.hits[: max(most, 0)]
            places = [place for _, place in hits]
            columns = [
                now.searcher.fast_field_values(name, places)
                for name in ("key", "host", "sketch", "at")
            ]
        scores = [score for score, _ in hits]
        rows = zip(scores, *columns, strict=True)
        return Top(
            total=found.count,  # type: ignore[attr-defined]  # its stub forgot it
            candidates=[Candidate(*row) for row in rows],
        )

    def evidence(self, keys: Sequence[int], ask: Ask) -> list[list[Evidence]]:
        """Return of each page what its score is made of; nothing of those that are gone."""
        if not keys:
            return []
        with guarded(self.path):
            found = Gathering(self._now, keys, ask).gathered()
        return [found.get(key, []) for key in keys]

    def near(self, keys: Sequence[int], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has, in its main text or its title."""
        rows = [row for row in rows if row]
        if not keys or not rows:
            return [0.0] * len(keys)
        now = self._now
        with guarded(self.path):
            words = _wording(now, Ask())
            clauses = [
                (SHOULD, Query.const_score_query(words.phrase((tuple(row),), _SAID_IN), 1.0))
                for row in rows
            ]
            query = Query.boolean_query([(MUST, words.one_of(keys)), *clauses])
            hits = now.searcher.search(query, len(keys), count=False).hits
            found = now.searcher.fast_field_values("key", [place for _, place in hits])
        of_key = dict(zip(found, [score for score, _ in hits], strict=True))
        return [of_key.get(key, 0.0) for key in keys]

    def stored(self, keys: Sequence[int]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        if not keys:
            return []
        now = self._now
        with guarded(self.path):
            query = _wording(now, Ask()).one_of(keys)
            hits = now.searcher.search(query, len(keys), count=False).hits
            places = [place for _, place in hits]
            of_key = dict(zip(now.searcher.fast_field_values("key", places), places, strict=True))
            return [_stored(now, key, of_key[key]) for key in keys if key in of_key]

    def unchanged(self, pages: Sequence[Prepared]) -> set[int]:
        """Return the keys of those pages that are in it just as they are.

        Compared is what is kept: what a reader is shown, the sketch of the whole text, and how many
        words it has in each field.
        """
        now = self._now
        wanted = {page.key: page for page in pages}
        columns = ("key", "sketch", *map(length_column, TEXT_FIELDS))
        with guarded(self.path):
            query = _wording(now, Ask()).one_of(list(wanted))
            hits = now.searcher.search(query, len(wanted), count=False).hits if wanted else []
            places = [place for _, place in hits]
            rows = zip(
                *(now.searcher.fast_field_values(name, places) for name in columns), strict=True
            )
            same = set()
            for place, (key, sketch, *lengths) in zip(places, rows, strict=True):
                page = wanted[key]
                counts = [words.count(" ") + 1 if words else None for words in page.words]
                shown = (page.title, page.text, page.language, page.media_type, page.at)
                if (sketch, lengths) == (page.sketch, counts) and shown == _decode_shown(
                    now.searcher.doc(place)["shown"][0]
                ):
                    same.add(key)
        return same

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them, the most frequent first."""
        if most <= 0:
            return []
        found: dict[Term, int] = {}
        with guarded(self.path):
            for field in _SAID_IN:
                terms = self._now.searcher.terms_with_prefix(field, prefix, limit=most)
                for term, having in terms:
                    found[term] = max(having, found.get(term, 0))
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:most]

    def close(self) -> None:
        """Let go what it holds: the engine does so by itself."""

    def urls(self) -> Iterator[str]:
        """Return the URLs of all pages: to compare an index with what it was made of."""
        now = self._now
        with guarded(self.path):
            alive = Query.all_query() if now.slots > now.pages else None
            return iter([url for url, _ in now.searcher.terms_with_prefix("url", "", alive)])


def _stored(now: Snapshot, key: int, place: tantivy.DocAddress) -> Stored:
    document = now.searcher.doc(place)
    title, text, language, media_type, at = _decode_shown(document["shown"][0])
    return Stored(
        key=key,
        url=document["url"][0],
        title=title,
        text=text,
        language=language,
        media_type=media_type,
        at=at,
    )


def _wording(now: Snapshot, ask: Ask) -> Wording:
    terms = [term for group in ask.groups for term in group]
    return Wording(now.schema, now.counts(terms))
