"""A re-ranker of the user's: a function that scores the best candidates anew.

    def shorter_first(query: str, pages: Sequence[RerankPage]) -> Sequence[float]:
        return [-len(page.text) for page in pages]

It is called once for each query, with up to MOST_RERANKED pages, the best first, and returns a
number for each: the highest comes first. Pages behind them stay behind. One that raises, or returns
anything else, changes nothing, and the answer says so.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from math import isfinite
from typing import TypeAlias

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.log import describe_error, tell
from gossamer.search.index_reader import IndexReader
from gossamer.search.messages import Stored
from gossamer.search.ranking.ranker import Ranked

MOST_RERANKED = 100


class RerankPage(Struct, frozen=True, kw_only=True):
    """A page as a re-ranker sees it."""

    url: str
    title: str
    text: str
    """As much of it as is kept for snippets; main content first."""
    language: str
    media_type: str
    at: int
    """When it was fetched, in seconds; 0 if that is not known."""
    score: float
    """By which it would be ranked otherwise. It has no fixed scale."""


Reranker: TypeAlias = Callable[[str, Sequence[RerankPage]], Sequence[float]]


class Reranking:
    """Scores the candidates of one query anew, by the user's function."""

    def __init__(self, reader: IndexReader, function: Reranker, text: str) -> None:
        self._reader = reader
        self._function = function
        self._text = text
        self.hints: list[str] = []
        """What the reader of the answer should know."""

    def reranked(self, ranked: list[Ranked]) -> list[Ranked]:
        """Return candidates in the order of their new scores; as they were if there are none."""
        best, others = ranked[:MOST_RERANKED], ranked[MOST_RERANKED:]
        pages = {page.key: page for page in self._reader.stored([one.candidate for one in best])}
        there = [one for one in best if one.candidate.key in pages]
        try:
            scores = _checked(
                self._function(self._text, [_page(one, pages) for one in there]), there
            )
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a stranger's code: it must not end the search
            words = describe_error(error)
            tell("rerank.failed", error=words)
            self.hints.append(f"the re-ranker failed ({words}); this is the order without it")
            return ranked
        order = sorted(range(len(there)), key=lambda number: -scores[number])
        # Their old scores stay, in the new order: what is laid out goes by how far they are apart.
        return [
            *(Ranked(old.score, there[n].candidate) for old, n in zip(there, order, strict=True)),
            *others,
        ]


def _page(one: Ranked, pages: dict[int, Stored]) -> RerankPage:
    page = pages[one.candidate.key]
    return RerankPage(
        url=page.url,
        title=page.title,
        text=page.text,
        language=page.language,
        media_type=page.media_type,
        at=page.at,
        score=one.score,
    )


def _checked(scores: Sequence[float], ranked: Sequence[Ranked]) -> list[float]:
    found = [float(score) for score in scores]
    if len(found) != len(ranked) or not all(map(isfinite, found)):
        raise ValueError(f"expected {len(ranked)} finite numbers, found {found[:3]}...")
    return found


def named_reranker(name: str) -> Reranker:
    """Return the re-ranker that "module:function" names."""
    module_name, _, function_name = name.partition(":")
    try:
        found: Reranker = getattr(import_module(module_name), function_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a stranger's module may fail in any way
        advice = "; is its folder on PYTHONPATH?" if isinstance(error, ImportError) else ""
        raise ConfigError(
            f'rerank: expected "module:function", found {name!r} ({describe_error(error)}){advice}'
        ) from None
    if not callable(found):
        raise ConfigError(f"rerank: {name!r} is not a function")
    return found
