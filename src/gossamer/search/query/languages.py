"""In which language is this asked? Few people say so; the index knows where it has the words.

A word has another form (its stem) in each language. All of them together would find pages that
mean something else: English `files` is French `fil`, a thread. So only forms count that a fair
share of pages have, beside the most frequent form of the word. A language that writes ö as oe, too,
adds the other spelling.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from gossamer.process import latin_shares
from gossamer.search.analysis import Analyser, language_code
from gossamer.search.messages import Counts, Group, Term
from gossamer.search.query import digraphs

MOST_LANGUAGES = 8
"""Of an index: those that are tried."""
MOST_ROWS = 2
"""Languages in which words in a row are looked for."""
FAIR_SHARE = 0.02
_LETTERS: Final = {
    "de": "äöüß",
    "sv": "åäö",
    "fi": "äö",
    "da": "æøå",
    "no": "æøå",
    "fr": "àâæçéèêëîïôùûœ",
    "es": "áéíñóúü¿¡",
    "pt": "ãõçáâéêíóôú",
    "it": "àèéìòù",
    "nl": "ëï",
    "ro": "ăâîșțşţ",
    "hu": "áéíóöőúüű",
    "tr": "çğıöşüİ",
    "ru": "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    "el": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώ",
    "ar": "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىأإآ",
    "ta": "அஆஇஈஉஊஎஏஐஒஓகஙசஞடணதநனபமயரறலளழவ",
}
"""Letters that tell languages apart."""

Count = Callable[[Sequence[Term]], Counts]


def likely_languages(text: str, languages: Sequence[str]) -> list[str]:
    """Return languages of an index, those first whose letters a query has."""
    letters = [letter for letter in text.lower() if not letter.isascii()]

    def unlike(language: str) -> int:
        own = _LETTERS.get(language, "")
        return -sum(letter in own for letter in letters)

    return sorted(languages, key=unlike)


class QueryLanguages:
    """The forms of the words of a query, as far as the index has them."""

    def __init__(
        self, words: Iterable[str], analyser: Analyser, languages: Sequence[str], count: Count
    ) -> None:
        """Look all words up in all languages, at once."""
        tried = languages[:MOST_LANGUAGES] or [""]
        forms = {word: [analyser.groups(word, [one]) for one in tried] for word in words}
        terms = {t for some in forms.values() for found in some for group in found for t in group}
        spellings = {word: other_spellings(word, analyser, tried) for word in forms}
        terms.update(term for some in spellings.values() for one in some for term in one.group)
        counts = count(sorted(terms))
        self.groups: dict[str, list[Group]] = {}
        kept = dict.fromkeys(tried, 0)
        for word, found in forms.items():
            self.groups[word] = [_common(list(same), counts) for same in zip(*found, strict=False)]
            for language, groups in zip(tried, found, strict=True):
                pairs = zip(groups, self.groups[word], strict=False)
                kept[language] += all(group[0] in common for group, common in pairs)
            self.groups[word] = _with_spellings(self.groups[word], spellings[word], counts)
        fit = [one for one in tried if kept[one] == len(forms)]
        self.languages = (fit or tried)[:MOST_ROWS]
        """Those in which it was asked, as far as that can be told."""


class OtherSpelling(NamedTuple):
    """The terms of a word with oe for ö, or with ö for oe."""

    group: Group
    is_sure: bool
    """The word is of a language that has it; else it counts where no page has the word."""


def other_spellings(
    word: str, analyser: Analyser, languages: Sequence[str]
) -> tuple[OtherSpelling, ...]:
    """Return the other spellings of a word in the languages of an index that have one."""
    found = []
    for language in languages:
        code = language_code(language)
        if code not in digraphs.LANGUAGES:
            continue
        if (longer := digraphs.spelled_out(word, code)) != word.lower():
            spelled, is_sure = longer, True
        elif (shorter := digraphs.contracted(word, code)) != word.lower():
            spelled = shorter
            is_sure = language == languages[0] or digraphs.is_asked_in(
                code, latin_shares(word), {languages[0], "en"} - {code}
            )
        else:
            continue
        groups = analyser.groups(spelled, [language])
        if len(groups) == 1:
            found.append(OtherSpelling(groups[0], is_sure))
    return tuple(found)


def _with_spellings(
    groups: list[Group], spellings: Sequence[OtherSpelling], counts: Counts
) -> list[Group]:
    """Return a word's terms with those of its other spellings that pages have."""
    if len(groups) != 1 or not spellings:
        return groups
    is_known = pages_of(groups[0], counts) > 0
    more = [
        term
        for one in spellings
        if one.is_sure or not is_known
        for term in one.group
        if pages_of((term,), counts)
    ]
    return [tuple(dict.fromkeys((*groups[0], *more)))]


def pages_of(group: Group, counts: Counts) -> int:
    """Return how many pages have a word, by the field in which most have it."""
    rows = [counts.having[term] for term in group if term in counts.having]
    return max(map(sum, zip(*rows, strict=True)), default=0)


def _common(groups: list[Group], counts: Counts) -> Group:
    """Return the forms of a word that a fair share of pages have."""
    pages = {term: pages_of((term,), counts) for group in groups for term in group}
    most = max(pages.values(), default=0)
    if not most:
        return groups[0]
    return tuple(term for term, having in pages.items() if having >= FAIR_SHARE * most)
