"""WHAT IS ASKED? A text as words, phrases and filters, and those in the terms of an index.

`parser` is pure and never fails; `analysed` knows languages, stop words and word forms; `spelling`
offers other words. Neighbours: `analysis` makes terms, `ranking` takes an analysed query. Not for:
finding pages.
"""

from gossamer.search.query.analysed import AnalysedQuery, analyse_query
from gossamer.search.query.languages import pages_of
from gossamer.search.query.parser import (
    MOST_CHARS,
    MOST_WORDS,
    ParsedQuery,
    Query,
    parse_query,
)
from gossamer.search.query.spelling import Speller
