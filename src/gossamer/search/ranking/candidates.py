"""Which pages may be an answer? Those with all the words, and the best with any of them."""

from msgspec import Struct
from msgspec.structs import replace

from gossamer.search.answer import SearchOptions
from gossamer.search.index_reader import CandidateList, IndexReader
from gossamer.search.messages import Candidate, ShardQuery
from gossamer.search.query.analysed import AnalysedQuery
from gossamer.search.ranking.ranker import RankingParameters

BLOCK = 100
"""Candidates that are ranked against each other, of each sort."""
MOST = 1_000
"""Candidates of a query. Whoever wants more should ask for less."""
MOST_UNASKED = 5_000
"""Candidates of a query without words."""


class CandidateBlocks(Struct, frozen=True, kw_only=True):
    """Candidates in blocks, the better blocks first."""

    total: int = 0
    firm: int = 0
    """Pages with all the words that were said."""
    blocks: tuple[list[Candidate], ...] = ()
    complete: frozenset[int] = frozenset()
    """Keys of those in the first block that have all the words."""
    is_all: bool = True
    """Whoever looks deeper finds no more."""
    is_partial: bool = False
    counted: ShardQuery | None = None
    """Whose matches facets count: pages with all the words; where they are few, those with any.

    None: nothing was asked."""
    is_low_asked: bool = False
    """The low tier was asked for it, too."""
    hints: tuple[str, ...] = ()


class CandidateFinder:
    """Asks an index for candidates."""

    def __init__(self, reader: IndexReader, parameters: RankingParameters) -> None:
        self._reader = reader
        self._parameters = parameters

    def find(
        self, analysed: AnalysedQuery, options: SearchOptions, *, is_deep: bool
    ) -> CandidateBlocks:
        """Return the pages with all the words and those with any, as one list."""
        ask = self._ask(analysed, options)
        if not analysed.groups:
            return self._unasked(ask, options)
        hints = [f"no page has {', '.join(analysed.unknown)}"] if analysed.worths[0] else []
        hints = hints if analysed.unknown else []
        found = self._blocks(ask, analysed, options, is_deep=is_deep)
        if not found.total and ask.phrases:
            hints.append("no page has all that is in quotes; its words may stand anywhere")
            found = self._blocks(replace(ask, phrases=()), analysed, options, is_deep=is_deep)
        if is_deep and found.total > MOST:
            hints.append(f"only the best {MOST:,} results can be turned to")
        if found.firm < self._parameters.few and found.total > found.firm:
            few = "few pages have all the words; those with some of them follow"
            none = "no page has all the words; these have some of them"
            hints.append(few if found.firm else none)
        firm = 0 if analysed.unknown else found.firm
        return replace(found, firm=firm, hints=tuple(hints))

    def _ask(self, analysed: AnalysedQuery, options: SearchOptions) -> ShardQuery:
        return ShardQuery(
            groups=analysed.groups,
            boosts=analysed.boosts,
            needed=len(analysed.groups),
            phrases=analysed.phrases,
            without=analysed.without,
            filters=analysed.filters,
            weights=self._parameters.weights_of(len(analysed.groups), options.switches),
        )

    def _blocks(
        self, ask: ShardQuery, analysed: AnalysedQuery, options: SearchOptions, *, is_deep: bool
    ) -> CandidateBlocks:
        """Return candidates in blocks. The first is the same, however deep somebody looks.

        Of pages with the same score an index may choose others when it is asked for more.
        """
        every = self._reader.find(replace(ask, top=BLOCK), is_exact=options.is_exact)
        some, any_word = every, ask
        if len(ask.groups) > 1:
            essential = self._parameters.essential_of(analysed.worths)
            any_word = replace(ask, needed=1, essential=essential)
            some = self._reader.find(replace(any_word, top=BLOCK), is_exact=options.is_exact)
            if some.total < BLOCK and essential < len(ask.groups):
                any_word = replace(any_word, essential=0)
                some = self._reader.find(replace(any_word, top=BLOCK), is_exact=options.is_exact)
        first = _together(every, some)
        blocks = [first]
        if is_deep and some.total > len(first):
            keys = {one.key for one in first}
            more = self._reader.find(replace(any_word, top=MOST), is_exact=options.is_exact)
            rest = [one for one in more.candidates if one.key not in keys]
            blocks += [rest[n : n + BLOCK] for n in range(0, len(rest), BLOCK)]
        is_of_all = every.total >= self._parameters.few
        return CandidateBlocks(
            total=some.total,
            firm=every.total,
            blocks=tuple(blocks),
            complete=frozenset(one.key for one in every.candidates),
            is_all=is_deep or some.total <= len(first),
            is_partial=every.missing + some.missing > 0,
            counted=ask if is_of_all else any_word,
            is_low_asked=(every if is_of_all else some).is_low_asked,
        )

    def _unasked(self, ask: ShardQuery, options: SearchOptions) -> CandidateBlocks:
        """Return pages by filters alone, or by words that must stand in a row."""
        if ask == ShardQuery(weights=ask.weights, without=ask.without):
            return CandidateBlocks(hints=("there is nothing to look for",))
        found = self._reader.find(replace(ask, top=MOST_UNASKED), is_exact=options.is_exact)
        hint = f"{found.total:,} pages fit; these are the best of some of them"
        return CandidateBlocks(
            total=found.total,
            firm=found.total,
            blocks=(found.candidates,),
            is_partial=found.missing > 0,
            counted=ask,
            is_low_asked=found.is_low_asked,
            hints=(hint,) if found.total > len(found.candidates) else (),
        )


def _together(every: CandidateList, some: CandidateList) -> list[Candidate]:
    """Return the candidates of two queries, each once."""
    found = {one.key: one for one in (*every.candidates, *some.candidates)}
    return sorted(found.values(), key=lambda one: (-one.score, one.key))
