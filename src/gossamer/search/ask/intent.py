"""From a question in words to one in terms."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from gossamer.search.analysis import Analyser
from gossamer.search.ask.answer import Switches
from gossamer.search.ask.query import MOST_WORDS, Question
from gossamer.search.fields import Weights
from gossamer.search.messages import Ask, Filters, Group, Phrase, Term

_FLAT = Weights(title=1.0, heads=1.0, main=1.0, rest=1.0, anchors=1.0, path=1.0)
_LANGUAGES = 4
"""So many of the index's languages give a word its forms."""


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


def intent_of(question: Question, analyser: Analyser, languages: Sequence[str]) -> Intent:
    """Return what a question means in an index of some languages."""
    spoken = languages[:_LANGUAGES]
    said = _Said(analyser, spoken)
    said.add_all(question)
    filters = Filters(
        sites=question.sites,
        not_sites=question.not_sites,
        languages=question.languages,
        not_languages=question.not_languages,
        types=question.types,
        not_types=question.not_types,
        in_url=_terms(question.in_url, analyser),
        not_in_url=_terms(question.not_in_url, analyser),
        after=question.after,
        before=question.before,
    )
    return Intent(
        names=tuple(said.groups.values()),
        groups=tuple(said.groups),
        phrases=_phrases(question.rows, analyser, spoken),
        without=_phrases((*question.without, *question.without_rows), analyser, spoken),
        filters=filters,
        rows=said.rows(question),
    )


class _Said:
    """The words of a question, while they are turned into terms."""

    def __init__(self, analyser: Analyser, languages: Sequence[str]) -> None:
        self._analyser = analyser
        self._languages = languages
        self.groups: dict[Group, str] = {}

    def add_all(self, question: Question) -> None:
        """Add the words that say something; if there are none, then all words."""
        choices = [*question.words, *((word,) for row in question.rows for word in row.split())]
        telling = [choice for choice in choices if not self._is_stop(choice)]
        for choice in telling or choices:
            self._add(choice)

    def rows(self, question: Question) -> tuple[tuple[Term, ...], ...]:
        """Return the terms from each telling word to the next one, stop words between them."""
        words = [choice[0] for choice in question.words]
        places = [n for n, word in enumerate(words) if not self._is_stop((word,))]
        spans = [
            " ".join(words[start : end + 1])
            for start, end in pairwise(places)
            if len(question.words[start]) == len(question.words[end]) == 1
        ]
        spans += [word for word in words if len(self._analyser.groups(word, ())) > 1]
        rows = (row for span in spans for row in self._analyser.versions(span, self._languages))
        return tuple(dict.fromkeys(row for row in rows if len(row) > 1))

    def _is_stop(self, choice: tuple[str, ...]) -> bool:
        return all(self._analyser.is_stop(word, self._languages) for word in choice)

    def _add(self, choice: tuple[str, ...]) -> None:
        found = [self._analyser.groups(word, self._languages) for word in choice]
        if len(choice) > 1:
            flat = (term for groups in found for group in groups for term in group)
            found = [[tuple(dict.fromkeys(flat))]]
        for groups in found:
            for group in groups:
                if group and len(self.groups) < MOST_WORDS:
                    self.groups.setdefault(group, " or ".join(choice))


def _phrases(
    texts: Iterable[str], analyser: Analyser, languages: Sequence[str]
) -> tuple[Phrase, ...]:
    found = (analyser.versions(text, languages) for text in texts)
    full = (tuple(row for row in phrase if row) for phrase in found)
    return tuple(dict.fromkeys(phrase for phrase in full if phrase))


def _terms(words: Iterable[str], analyser: Analyser) -> tuple[Term, ...]:
    return tuple(dict.fromkeys(term for word in words for term in analyser.terms(word, "")))


def _as_dict(weights: Weights) -> dict[str, float]:
    return {name: weights.of(name) for name in weights.__struct_fields__}
