"""From a question in words to one in terms."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from gossamer.search.analysis import Analyser
from gossamer.search.ask.answer import Switches
from gossamer.search.ask.reading import MOST_WORDS, Question
from gossamer.search.ask.tongues import Tongues, likely_languages
from gossamer.search.fields import Weights
from gossamer.search.finder import Finder
from gossamer.search.messages import Ask, Filters, Group, Phrase, Term

_FLAT = Weights(title=1.0, heads=1.0, main=1.0, rest=1.0, anchors=1.0, path=1.0)

STOP_LANGUAGES = 4
"""Of the likeliest languages: a word that says nothing in one of them is left out."""
Choice: TypeAlias = tuple[str, ...]


class Intent(Struct, frozen=True, kw_only=True):
    """A question in terms."""

    names: tuple[str, ...]
    """The words of the groups, as they were said."""
    groups: tuple[Group, ...]
    phrases: tuple[Phrase, ...]
    without: tuple[Phrase, ...]
    filters: Filters
    rows: tuple[tuple[Term, ...], ...]
    """Words that were said side by side."""

    def ask(self, switches: Switches, weights: Weights) -> Ask:
        """Return the question that an index is asked."""
        weights = weights if switches.fields else _FLAT
        if not switches.anchors:
            weights = Weights(**{**_as_dict(weights), "anchors": 0.0})
        return Ask(
            groups=self.groups,
            needed=len(self.groups),
            phrases=self.phrases,
            without=self.without,
            filters=self.filters,
            weights=weights,
        )


def intent_of(question: Question, analyser: Analyser, finder: Finder) -> Intent:
    """Return what a question means in an index."""
    languages = question.languages or likely_languages(question.text(), finder.languages())
    said = _telling(question, analyser, languages)
    words = {word: None for choice in said for word in choice}
    tongues = Tongues(words, analyser, languages, finder.counts)
    groups = _groups(said, tongues)
    spoken = tongues.languages
    filters = Filters(
        sites=question.sites,
        not_sites=question.not_sites,
        languages=question.languages,
        not_languages=question.not_languages,
        types=question.types,
        not_types=question.not_types,
        labels=question.labels,
        not_labels=question.not_labels,
        in_url=_terms(question.in_url, analyser, languages),
        not_in_url=_terms(question.not_in_url, analyser, languages),
        after=question.after,
        before=question.before,
    )
    return Intent(
        names=tuple(groups.values()),
        groups=tuple(groups),
        phrases=_phrases(question.rows, analyser, spoken),
        without=_phrases((*question.without, *question.without_rows), analyser, languages),
        filters=filters,
        rows=_rows(question, said, analyser, tongues),
    )


def _telling(question: Question, analyser: Analyser, languages: Sequence[str]) -> list[Choice]:
    """Return the words that say something, those of phrases among them; if none does, all."""
    choices = [*question.words, *((word,) for row in question.rows for word in row.split())]
    some = languages[:STOP_LANGUAGES]
    telling = [
        choice for choice in choices if not all(analyser.is_stop(word, some) for word in choice)
    ]
    return list(dict.fromkeys(telling or choices))


def _groups(said: Iterable[Choice], tongues: Tongues) -> dict[Group, str]:
    """Return the terms of words, any of which will do, with how they were said."""
    groups: dict[Group, str] = {}
    for choice in said:
        found = [group for word in choice for group in tongues.groups[word]]
        if len(choice) > 1:
            found = [tuple(dict.fromkeys(term for group in found for term in group))]
        for group in found:
            if group and len(groups) < MOST_WORDS:
                groups.setdefault(group, " or ".join(choice))
    return groups


def _rows(
    question: Question, said: Sequence[Choice], analyser: Analyser, tongues: Tongues
) -> tuple[tuple[Term, ...], ...]:
    """Return the terms from each telling word to the next one, with stop words between them."""
    words = [choice[0] for choice in question.words]
    places = [n for n, choice in enumerate(question.words) if choice in said and len(choice) == 1]
    spans = [" ".join(words[start : end + 1]) for start, end in pairwise(places)]
    spans += [words[place] for place in places if len(tongues.groups[words[place]]) > 1]
    rows = (row for span in spans for row in analyser.versions(span, tongues.languages))
    return tuple(dict.fromkeys(row for row in rows if len(row) > 1))


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


def _as_dict(weights: Weights) -> dict[str, float]:
    return {name: weights.of(name) for name in weights.__struct_fields__}
