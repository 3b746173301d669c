"""From a query in words to one in terms."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from gossamer.process import language_of
from gossamer.search.analysis import Analyser
from gossamer.search.index_reader import IndexReader
from gossamer.search.messages import Group, Phrase, QueryFilters, Term
from gossamer.search.query.languages import QueryLanguages, likely_languages, pages_of
from gossamer.search.query.parser import Query
from gossamer.search.shard import group_idf

USUAL_LANGUAGE = "en"
"""Of a query, when no page says in which language it is."""
STOP_LANGUAGES = 4
"""Of the likeliest languages: whose stop words are looked for."""
SURE_STOPS = 2
"""Stop words of another language than the likeliest: fewer may be words that mean something."""
MOST_GROUPS = 128
"""Words of a query that are looked for: those that tell most."""
LEAST_TELLING = 4
"""From so many other words on, small words such as "how" and "about" do not count."""
PROSE = 8
"""From so many words beside it on, a phrase in quotes is part of a sentence: it need not occur."""
Choice: TypeAlias = tuple[str, ...]


class AnalysedQuery(Struct, frozen=True, kw_only=True):
    """A query in terms."""

    groups: tuple[Group, ...] = ()
    """Words that pages have, those first that tell most."""
    boosts: tuple[float, ...] = ()
    """How often each was said."""
    worths: tuple[float, ...] = ()
    """What each tells: by how rare it is, and how often it was said."""
    unknown: tuple[str, ...] = ()
    """Words that no page has, as they were said."""
    phrases: tuple[Phrase, ...] = ()
    """Each must occur."""
    quoted: tuple[Phrase, ...] = ()
    """Each should occur."""
    literals: tuple[str, ...] = ()
    """The same as they were written, in small letters."""
    without: tuple[Phrase, ...] = ()
    filters: QueryFilters = QueryFilters()
    rows: tuple[Phrase, ...] = ()
    """Words that were said side by side."""
    languages: tuple[str, ...] = ()
    """Those that it was probably asked in, the likeliest first."""
    asked_in: str = ""
    """The one that it says it is in, or that its text is in, if that is clear."""


class _Said(Struct, frozen=True, gc=False):
    """A word of the query: its terms, how it was said, and what it tells."""

    group: Group
    name: str
    times: int
    worth: float


def analyse_query(query: Query, analyser: Analyser, reader: IndexReader) -> AnalysedQuery:
    """Return what a query means in an index."""
    languages = query.languages or likely_languages(query.text(), reader.languages())
    choices = [*query.words, *((word,) for row in query.rows for word in row.split())]
    stops = _stop_words(choices, analyser, languages)
    content = [choice for choice in choices if choice not in stops]
    usual = languages[:1] or [USUAL_LANGUAGE]
    telling = [one for one in content if not all(analyser.is_small(word, usual) for word in one)]
    if len(telling) >= LEAST_TELLING:
        stops = stops | (frozenset(content) - frozenset(telling))
        content = telling
    query_languages = QueryLanguages(
        {word: None for one in choices for word in one}, analyser, languages, reader.counts
    )
    said = _said(content, query_languages, reader) or _said(choices, query_languages, reader)
    if not any(one.worth for one in said):
        said = _said(choices, query_languages, reader)
    known = sorted((one for one in said if one.worth), key=lambda one: (-one.worth, one.group))
    known = (known or said)[:MOST_GROUPS]
    phrases = _phrases(query.rows, analyser, query_languages.languages)
    is_prose = len(query.words) >= PROSE
    return AnalysedQuery(
        groups=tuple(one.group for one in known),
        boosts=tuple(float(one.times) for one in known),
        worths=tuple(one.worth for one in known),
        unknown=tuple(dict.fromkeys(one.name for one in said if not one.worth)),
        phrases=() if is_prose else phrases,
        quoted=phrases,
        literals=tuple(plain_text(row) for row in query.rows),
        without=_phrases((*query.without, *query.without_rows), analyser, languages),
        filters=_filters(query, analyser, languages),
        rows=_rows(query, stops, analyser, query_languages),
        languages=tuple(query_languages.languages),
        asked_in=query.languages[0] if query.languages else language_of(query.text()),
    )


def plain_text(text: str) -> str:
    """Return a text in small letters, with one blank between words: to compare it literally."""
    return " ".join(text.casefold().split())


def _filters(query: Query, analyser: Analyser, languages: Sequence[str]) -> QueryFilters:
    return QueryFilters(
        sites=query.sites,
        not_sites=query.not_sites,
        languages=query.languages,
        not_languages=query.not_languages,
        types=query.types,
        not_types=query.not_types,
        labels=query.labels,
        not_labels=query.not_labels,
        in_url=_terms(query.in_url, analyser, languages),
        not_in_url=_terms(query.not_in_url, analyser, languages),
        after=query.after,
        before=query.before,
    )


def _stop_words(
    choices: Sequence[Choice], analyser: Analyser, languages: Sequence[str]
) -> frozenset[Choice]:
    """Return the words that say nothing by themselves, in the language of the query.

    That is the one in which most of its words say nothing; `bin` and `man` are stop words of German
    alone, and no German has asked if there is no other one.
    """
    best: frozenset[Choice] = frozenset()
    most = 0
    for number, language in enumerate(languages[:STOP_LANGUAGES] or [USUAL_LANGUAGE]):
        found = [one for one in choices if all(analyser.is_stop(word, [language]) for word in one)]
        if len(found) > most and (number == 0 or len(found) >= SURE_STOPS):
            best, most = frozenset(found), len(found)
    return best


def _said(
    choices: Iterable[Choice], query_languages: QueryLanguages, reader: IndexReader
) -> list[_Said]:
    """Return words with their terms, any of which will do; one that was said twice counts twice."""
    times: Counter[Group] = Counter()
    names: dict[Group, str] = {}
    for choice in choices:
        found = [group for word in choice for group in query_languages.groups[word]]
        if len(choice) > 1:
            found = [tuple(dict.fromkeys(term for group in found for term in group))]
        for group in filter(None, found):
            times[group] += 1
            names.setdefault(group, " or ".join(choice))
    counts = reader.counts([term for group in times for term in group])
    return [
        _Said(group, names[group], often, often * group_idf(group, counts))
        if pages_of(group, counts)
        else _Said(group, names[group], often, 0.0)
        for group, often in times.items()
    ]


def _rows(
    query: Query, stops: frozenset[Choice], analyser: Analyser, query_languages: QueryLanguages
) -> tuple[Phrase, ...]:
    """Return the terms from each content word to the next one, with stop words between them."""
    words = [choice[0] for choice in query.words]
    places = [n for n, one in enumerate(query.words) if len(one) == 1 and one not in stops]
    if not places:
        places = [n for n, one in enumerate(query.words) if len(one) == 1]
    spans = [" ".join(words[start : end + 1]) for start, end in pairwise(places)]
    spans += [words[place] for place in places if len(query_languages.groups[words[place]]) > 1]
    rows = (analyser.versions(span, query_languages.languages) for span in dict.fromkeys(spans))
    return tuple(row for row in rows if row and len(row[0]) > 1)


def _phrases(
    texts: Iterable[str], analyser: Analyser, languages: Sequence[str]
) -> tuple[Phrase, ...]:
    found = (analyser.versions(text, languages) for text in texts)
    full = (tuple(row for row in phrase if row) for phrase in found)
    return tuple(dict.fromkeys(phrase for phrase in full if phrase))


def _terms(words: Iterable[str], analyser: Analyser, languages: Sequence[str]) -> tuple[Term, ...]:
    """Return words of URLs in the likeliest language: all of them must be there."""
    language = languages[0] if languages else ""
    return tuple(dict.fromkeys(term for word in words for term in analyser.terms(word, language)))
