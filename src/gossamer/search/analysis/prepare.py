"""Analyser: the one who turns text into terms, for pages, questions and snippets alike."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from itertools import islice
from operator import xor
from typing import NamedTuple, TypeVar

from xxhash import xxh3_64_intdigest

from gossamer.dedupe import Sketcher
from gossamer.search.analysis.address import host_of, sites_of, types_of, words_of_url
from gossamer.search.analysis.content import Arranged, Arranger
from gossamer.search.analysis.spam import spam_score
from gossamer.search.analysis.stems import codes_of, is_small, is_stop, language_code, stem, stems
from gossamer.search.analysis.vocabulary import Vocabulary
from gossamer.search.analysis.word_kernels import Bytes
from gossamer.search.analysis.words import MOST, Word, words_of
from gossamer.search.fields import (
    ANCHORS,
    CODE,
    HEADS,
    MAIN,
    MOST_LISTING,
    PATH,
    REST,
    TEXT_FIELDS,
    TITLE,
)
from gossamer.search.messages import Group, Phrase, Term
from gossamer.search.page import IndexPage, Prepared, label_term
from gossamer.urls import fingerprint_of

MOST_SHOWN = 16_000
"""Characters of a page that are kept for snippets."""
REST_MARK = "\n\n"
"""In what is kept for snippets: what follows is not main content."""
MOST_TEXT = 1 << 21
"""Characters of a text that are looked at."""
MOST_TITLE, MOST_HEADINGS, MOST_ANCHORS = 500, 200, 50
LANGUAGES = 4
"""So many languages give a word of a question its forms."""
SKETCH_SEED = 0x60554D45
"""Public: sketches of an index decide what is shown together, not what is kept."""
COPY_BITS = 8
"""Copies' sketches differ in so many bits at most. Of texts of 40 words and more of which every
fiftieth word was replaced, 91 % do; of a million pairs of unlike ones, none."""
LEAST_SKETCHED = 40
"""Words of main content below which a page has no sketch."""
LEAST_LISTED = 15
"""Lines of main content that link, below which a page is no table of contents."""
BARE_CHARS = 100
"""Of main content, below which a page is what else stands on it."""
_AFTER_LINK = re.compile(r"\s*:|\s+[-–—(]")
"""What stands between a link and what is said of it, in a list."""
_START, _MOST_SPACES = 4, 8
TITLE_TIMES = 3
"""How often the title counts as part of the main text."""
_TITLE, _MAIN = TEXT_FIELDS.index(TITLE), TEXT_FIELDS.index(MAIN)
_NAMES = re.compile(r"\s+[-–—|·:»]+\s+|\s*[|»]\s*|:\s+")
"""What stands between the title of a page and the name of its site or book."""
_T = TypeVar("_T")
_BLANK_LINES = re.compile(r"\n{2,}")
_stem = lru_cache(maxsize=1 << 16)(stem)


class Analyser:
    """Turns text into terms. Any thread may ask about words; one at a time prepares pages."""

    def __init__(self) -> None:
        self._reader: _Reader | None = None

    def terms(self, text: str, language: str) -> list[Term]:
        """Return the terms of a text, in order."""
        return list(islice(_terms(text, language_code(language)), MOST))

    def groups(self, text: str, languages: Sequence[str]) -> list[Group]:
        """Return the words of a question, each with its forms in some languages.

        A name such as foo_bar is one word; its parts are not asked for.
        """
        codes = (*codes_of(languages, LANGUAGES), "")
        found: list[Group] = []
        for word in islice(words_of(text), MOST):
            if word.parts:
                del found[-word.parts :]
            forms = (_term(word, code) for code in codes)
            found.append(tuple(dict.fromkeys(form for form in forms if form)))
        return [group for group in found if group]

    def groups_of_words(self, words: Sequence[str], languages: Sequence[str]) -> list[list[Group]]:
        """Return the `groups` of each of many words; those of plain letters are stemmed at once."""
        codes = (*codes_of(languages, LANGUAGES), "")
        plain = [word for word in words if word.isascii() and word.isalpha() and word.islower()]
        forms = zip(*(stems(plain, code) for code in codes), strict=True)
        known = dict(zip(plain, forms, strict=True))
        return [
            [tuple(dict.fromkeys(filter(None, known[word])))]
            if word in known
            else self.groups(word, languages)
            for word in words
        ]

    def versions(self, text: str, languages: Sequence[str]) -> Phrase:
        """Return words in a row as terms, once for each language where that makes a difference."""
        codes = (*codes_of(languages, LANGUAGES), "")
        rows = (tuple(islice(_terms(text, code), MOST)) for code in codes)
        return tuple(dict.fromkeys(row for row in rows if row))

    def is_stop(self, word: str, languages: Sequence[str]) -> bool:
        """Return True if a word says nothing by itself in any of some languages."""
        plain = [one.text for one in words_of(word)]
        return len(plain) == 1 and is_stop(plain[0], languages)

    def is_small(self, word: str, languages: Sequence[str]) -> bool:
        """Return True if a word says little beside others, in any of some languages."""
        plain = [one.text for one in words_of(word)]
        return len(plain) == 1 and is_small(plain[0], languages)

    def title_key(self, title: str, language: str) -> int:
        """Return a hash of the set of terms of a title, stop words and the site's name left out."""
        groups = self.groups(_NAMES.split(title, maxsplit=1)[0], [language])
        terms = {group[0]: group[-1] for group in groups}
        telling = [term for term, word in terms.items() if not is_stop(word, [language])]
        return set_key(telling or terms)

    def prepare(self, page: IndexPage) -> Prepared:
        """Return what is written of a page."""
        if self._reader is None:
            self._reader = _Reader()
        arranged, words, starts = self._reader.read(page)
        host = host_of(page.url)
        text = _shown(arranged, starts)
        return Prepared(
            url=page.url,
            key=fingerprint_of(page.url),
            host=xxh3_64_intdigest(host.encode()),
            sketch=self._reader.sketch(arranged.text[starts.code : arranged.middle], page.title),
            at=max(int(page.at), 0),
            listing=listing_of(text, page.link_texts),
            spam=spam_score(text, page.language),
            title_key=self.title_key(page.title[:MOST_TITLE], page.language),
            language=page.language,
            media_type=page.media_type,
            sites=sites_of(host),
            types=types_of(page.media_type),
            labels=tuple(map(label_term, filter(None, page.labels.split(",")))),
            title=page.title[:MOST_TITLE].encode("utf-8", "replace").decode(),
            text=text,
            words=words,
        )


class _Starts(NamedTuple):
    """Where parts of an arranged text begin."""

    code: int
    main: int


class _Reader:
    """Reads whole pages, with kernels."""

    def __init__(self) -> None:
        self._arranger = _if_usable(Arranger) or Arranger(is_plain=True)
        self._vocabulary = _if_usable(Vocabulary)
        self._sketcher = _if_usable(lambda: Sketcher(SKETCH_SEED))

    def read(self, page: IndexPage) -> tuple[Arranged, tuple[str, ...], _Starts]:
        """Return a page's text, its fields' terms, and where code and main content begin.

        Main content stands first in the text, behind the code.
        """
        heads = _encoded("\n".join(page.headings[:MOST_HEADINGS]))
        fields = {
            TITLE: _encoded(page.title[:MOST_TITLE]),
            HEADS: heads,
            ANCHORS: _encoded("\n".join(page.anchors[:MOST_ANCHORS])),
            PATH: _encoded(words_of_url(page.url)),
            CODE: _encoded(page.code[:MOST_TEXT]),
        }
        prefix = b"\n".join((*fields.values(), b""))
        arranged = self._arranger.arranged(
            prefix, page.link_texts, heads, _encoded(page.text[:MOST_TEXT])
        )
        places, at = {}, 0
        for name, said in fields.items():
            places[name] = (at, at + len(said))
            at += len(said) + 1
        places[MAIN] = (at, arranged.middle)
        places[REST] = (arranged.middle, arranged.end)
        spans = [bound for name in TEXT_FIELDS for bound in places[name]]
        words = self._terms(arranged.text, spans, language_code(page.language))
        return arranged, with_title(words), _Starts(places[CODE][0], at)

    def _terms(self, text: Bytes, spans: Sequence[int], code: str) -> list[str]:
        """Return the terms of parts of a text, each with a space between two."""
        found = self._vocabulary.terms(text, spans, code) if self._vocabulary else None
        if found is not None:
            return found
        parts = [text[start:end] for start, end in zip(spans[::2], spans[1::2], strict=True)]
        return [" ".join(islice(_terms(_decoded(part), code), MOST)) for part in parts]

    def sketch(self, main: Bytes, title: str) -> int:
        """Return 64 bits that pages share with nearly the same main content and the same title.

        Copies differ in COPY_BITS at most. Where pages are made by one template (a class, a
        keyword, a function each), the title is all that tells them apart; so another title turns
        some twenty bits of the SimHash, up to four in each byte. 0: hardly any text.
        Titles are compared by their letters: stems depend on the language that a page claims.
        """
        if self._sketcher is None:
            return 0
        words, simhash = self._sketcher.simhash(main)
        if words < LEAST_SKETCHED:
            return 0
        return simhash ^ _title_bits(title)


def untitled(sketch: int, title: str) -> int:
    """Return a page's sketch as it would be if the page had no title."""
    return sketch ^ _title_bits(title)


def _title_bits(title: str) -> int:
    plain = "".join(filter(str.isalnum, title[:MOST_TITLE].casefold()))
    named = xxh3_64_intdigest(_encoded(plain)) if plain else 0
    if not named:
        return 0
    places = (8 * byte + (named >> 6 * byte + part & 7) for byte in range(8) for part in (0, 3))
    return reduce(xor, (1 << place for place in places))


def set_key(terms: Iterable[Term]) -> int:
    """Return a hash of a set of terms: the XOR of those of two parts that have none in common."""
    return reduce(xor, map(term_key, terms), 0)


@lru_cache(1 << 12)
def term_key(term: Term) -> int:
    """Return the hash of a set of one term."""
    return xxh3_64_intdigest(term.encode())


def listing_of(text: str, link_texts: frozenset[str]) -> int:
    """Return how much of main content are lines that link, as those of tables of contents do.

    A few of them are no list, however short the page is. Where there is hardly any main content,
    links were taken for a menu: then the menu is what the page is there for.
    """
    if len(link_texts) < LEAST_LISTED:
        return 0
    main, _, rest = text.partition(REST_MARK)
    is_bare = len(main[:BARE_CHARS].strip()) < BARE_CHARS
    lines = [line for part in main.split("\n") if (line := part.strip(" *\t"))]
    lines += [line for part in rest.split("\n") if (line := part.strip(" *\t"))] if is_bare else []
    linking = sum(map(link_texts.__contains__, lines)) + _begun_by_links(lines, link_texts)
    if linking < LEAST_LISTED:
        return 0
    return min(MOST_LISTING, round(2 * MOST_LISTING * linking / len(lines)))


def _begun_by_links(lines: Sequence[str], link_texts: frozenset[str]) -> int:
    """Return how many lines are a link and what is said of it behind a mark.

    A regular expression for each line of a text takes as long as all the rest of its analysis, so
    it is asked only where a line begins as some link does, and not beyond the longest of them.
    """
    starts = {text[:_START] for text in link_texts}
    short = tuple(text for text in link_texts if len(text) < _START)
    room = max(map(len, link_texts)) + _MOST_SPACES
    found = 0
    for line in lines:
        if line[:_START] in starts or (short and line.startswith(short)):
            mark = _AFTER_LINK.search(line, 0, room)
            if mark is not None and line[: mark.start()] in link_texts:
                found += line not in link_texts
    return found


def with_title(words: Sequence[str]) -> tuple[str, ...]:
    """Return the terms of each field, with those of the title in the main text as well, repeated.

    A word that is said in the title and in the text then saturates once, over both (BM25F): the sum
    of two fields would count it twice. Of text collections without headings this is most of the
    gain (ADR 65).
    """
    title, main = words[_TITLE], words[_MAIN]
    if not title:
        return tuple(words)
    found = list(words)
    found[_MAIN] = " ".join((*[title] * TITLE_TIMES, *filter(None, [main])))
    return tuple(found)


def _if_usable(make: Callable[[], _T]) -> _T | None:
    """Return what needs kernels; None where there is no compiler, nor what one has made."""
    try:
        return make()
    except (ImportError, OSError, RuntimeError):
        return None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _terms(text: str, code: str) -> Iterator[Term]:
    found = (_term(word, code) for word in words_of(text))
    return (term for term in found if term)


def _term(word: Word, code: str) -> Term:
    return word.text if word.is_solid else _stem(word.text, code)


def _shown(arranged: Arranged, starts: _Starts) -> str:
    """Return as much of a text as is kept, in whole characters: main content, code, the rest."""
    main = _decoded(arranged.text[starts.main : min(arranged.middle, starts.main + 4 * MOST_SHOWN)])
    code = arranged.text[starts.code : min(starts.main, starts.code + 4 * MOST_SHOWN)]
    main += _BLANK_LINES.sub("\n", _decoded(code)).lstrip("\n")
    if len(main) >= MOST_SHOWN or arranged.middle == arranged.end:
        return main[:MOST_SHOWN]
    room = MOST_SHOWN - len(main) - 1
    rest = arranged.text[arranged.middle : min(arranged.end, arranged.middle + 4 * room)]
    return f"{main}\n{_decoded(rest)[:room]}"


def _decoded(text: Bytes) -> str:
    return str(text.data, "utf-8", "ignore")
